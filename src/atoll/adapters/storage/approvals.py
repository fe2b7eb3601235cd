"""Tables and rows of approvals."""

import msgspec
from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Index,
    Table,
    Text,
    delete,
    insert,
    or_,
    select,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import metadata, read_page, to_us
from atoll.adapters.storage.sandboxes import sandboxes
from atoll.domain.approvals.approval import Approval, SecretAsk
from atoll.domain.ids import ApprovalId, OrgId, PrincipalId, SandboxId
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


_decoder = msgspec.json.Decoder(Approval)


class SqlApprovalRows(ApprovalRows):
    """The `ports.store.approvals.ApprovalRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def put(self, approval: Approval) -> None:
        """See the port."""
        ask = approval.ask
        await self._connection.execute(delete(approvals).where(approvals.c.id == approval.id))
        await self._connection.execute(
            insert(approvals),
            {
                "id": approval.id,
                "org_id": approval.org_id,
                "owner": approval.owner,
                "sandbox_id": approval.requester.sandbox_id,
                "secret_id": ask.secret_id if isinstance(ask, SecretAsk) else "",
                "verdict": approval.verdict.value,
                "asked_us": to_us(approval.asked_at),
                "body": msgspec.json.encode(approval).decode(),
            },
        )

    async def get(self, org_id: OrgId, approval_id: ApprovalId) -> Approval | None:
        """See the port."""
        found = await self._connection.execute(
            select(approvals.c.body).where(
                approvals.c.org_id == org_id, approvals.c.id == approval_id
            )
        )
        body = found.scalar_one_or_none()
        return None if body is None else _decoder.decode(body)

    async def page(self, query: ApprovalQuery, page: PageQuery) -> RowPage[Approval]:
        """See the port."""
        table = approvals.c
        wanted = [table.org_id == query.org_id]
        if query.owner is not None:
            own = table.owner == query.owner
            wanted.append(or_(own, *_administered(query)) if query.administers else own)
        if query.verdicts:
            wanted.append(table.verdict.in_([one.value for one in query.verdicts]))
        rows = select(table.body, table.asked_us, table.id).where(*wanted)
        return await read_page(self._connection, rows, page, decode=_decoder.decode)

    async def open(
        self, org_id: OrgId, *, sandbox_id: SandboxId, owner: PrincipalId
    ) -> list[Approval]:
        """See the port."""
        table = approvals.c
        found = await self._connection.execute(
            select(table.body).where(
                table.org_id == org_id,
                table.verdict.in_(_OPEN),
                or_(table.sandbox_id == sandbox_id, table.owner == owner),
            )
        )
        return [_decoder.decode(body) for body in found.scalars()]

    async def waiting(self) -> list[Approval]:
        """See the port."""
        pending = approvals.c.verdict == ApprovalState.PENDING.value
        found = await self._connection.execute(select(approvals.c.body).where(pending))
        return [_decoder.decode(body) for body in found.scalars()]

    async def about(self, org_id: OrgId, secret_id: str) -> list[Approval]:
        """See the port."""
        table = approvals.c
        found = await self._connection.execute(
            select(table.body).where(
                table.org_id == org_id, table.secret_id == secret_id, table.verdict.in_(_OPEN)
            )
        )
        return [_decoder.decode(body) for body in found.scalars()]


def _administered(query: ApprovalQuery) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions for what an administrator decides beside the owner."""
    shared = select(sandboxes.c.id).where(
        sandboxes.c.org_id == query.org_id, sandboxes.c.scope == Scope.SHARED.value
    )
    return (approvals.c.secret_id != "", approvals.c.sandbox_id.in_(shared))
