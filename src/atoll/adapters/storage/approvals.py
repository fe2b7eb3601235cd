"""Tables and rows of approvals."""

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Index,
    Table,
    Text,
    or_,
    select,
)

from atoll.adapters.storage.columns import metadata, read_page, to_us
from atoll.adapters.storage.records import RecordTable, SqlRecords
from atoll.adapters.storage.sandboxes import sandboxes
from atoll.domain.approvals.approval import Approval, ApprovalId, SecretAsk
from atoll.domain.ids import OrgId, PrincipalId, SandboxId
from atoll.domain.paging import PageQuery, RowPage
from atoll.ports.store.approvals import ApprovalQuery, ApprovalRows
from atoll.wire.words.approvals import ApprovalState
from atoll.wire.words.sandboxes import Scope

approvals = Table(
    "approvals",
    metadata,
    Column("id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("sandbox_id", Text, nullable=False),
    Column("secret_id", Text, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("asked_us", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    Index("approvals_by_age", "org_id", "owner", "asked_us", "id"),
    Index("approvals_by_verdict", "org_id", "verdict"),
)

_OPEN = (ApprovalState.PENDING.value, ApprovalState.GRANTED.value, ApprovalState.DENIED.value)


def _columns(approval: Approval) -> dict[str, object]:
    ask = approval.ask
    return {
        "id": approval.id,
        "org_id": approval.org_id,
        "owner": approval.owner,
        "sandbox_id": approval.requester.sandbox_id,
        "secret_id": ask.secret_id if isinstance(ask, SecretAsk) else "",
        "verdict": approval.verdict.value,
        "asked_us": to_us(approval.asked_at),
    }


class SqlApprovalRows(SqlRecords[Approval, OrgId, ApprovalId], ApprovalRows):
    """The `ports.store.approvals.ApprovalRows` on one connection."""

    records = RecordTable(
        approvals,
        Approval,
        _columns,
        key=(approvals.c.org_id, approvals.c.id),
    )

    async def page(self, query: ApprovalQuery, page: PageQuery) -> RowPage[Approval]:
        """See the port."""
        table = approvals.c
        wanted = [table.org_id == query.org_id]
        if query.owner is not None:
            own = table.owner == query.owner
            wanted.append(or_(own, *_admin_conditions(query)) if query.administers else own)
        if query.verdicts:
            wanted.append(table.verdict.in_([verdict.value for verdict in query.verdicts]))
        rows = select(table.body, table.asked_us, table.id).where(*wanted)
        return await read_page(self._connection, rows, page, decode=self.records.decode)

    async def open(
        self, org_id: OrgId, *, sandbox_id: SandboxId, owner: PrincipalId
    ) -> list[Approval]:
        """See the port."""
        table = approvals.c
        return await self._all(
            table.org_id == org_id,
            table.verdict.in_(_OPEN),
            or_(table.sandbox_id == sandbox_id, table.owner == owner),
        )

    async def waiting(self) -> list[Approval]:
        """See the port."""
        return await self._all(approvals.c.verdict == ApprovalState.PENDING.value)

    async def about(self, org_id: OrgId, secret_id: str) -> list[Approval]:
        """See the port."""
        table = approvals.c
        return await self._all(
            table.org_id == org_id, table.secret_id == secret_id, table.verdict.in_(_OPEN)
        )


def _admin_conditions(query: ApprovalQuery) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions for the approvals that an administrator may decide, too."""
    shared = select(sandboxes.c.id).where(
        sandboxes.c.org_id == query.org_id, sandboxes.c.scope == Scope.SHARED.value
    )
    return (approvals.c.secret_id != "", approvals.c.sandbox_id.in_(shared))
