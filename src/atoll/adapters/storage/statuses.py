"""Table and rows of what agents were reported to do, and tallies of what is monitored."""

from collections.abc import Mapping

import msgspec
from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    Index,
    PrimaryKeyConstraint,
    Select,
    Table,
    Text,
    cast,
    delete,
    func,
    insert,
    select,
    type_coerce,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.approvals import approvals
from atoll.adapters.storage.columns import metadata
from atoll.adapters.storage.sandboxes import sandboxes
from atoll.domain.approvals.approval import ApprovalState
from atoll.domain.ids import OrgId, PrincipalId, SandboxId
from atoll.domain.sandbox.reported import MAX_REPORTED_AGENTS, ReportedAgent
from atoll.domain.sandbox.sandbox import RUNNING, Sandbox, State
from atoll.ports.store.statuses import StatusRows, TallyRows

statuses = Table(
    "agent_statuses",
    metadata,
    Column("sandbox_id", Text, nullable=False),
    Column("id", Text, nullable=False),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("change", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    PrimaryKeyConstraint("sandbox_id", "id"),
    Index("agent_statuses_by_owner", "org_id", "owner"),
)
"""`change` counts the changes within a sandbox."""

_agents = msgspec.json.Decoder(ReportedAgent)


class SqlStatusRows(StatusRows):
    """The `ports.store.statuses.StatusRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def put(self, sandbox: Sandbox, agent: ReportedAgent) -> None:
        """See the port."""
        mine = statuses.c.sandbox_id == sandbox.id
        found = await self._connection.execute(
            select(statuses.c.id, statuses.c.change).where(mine).order_by(statuses.c.change)
        )
        others = [row for row in found.all() if row.id != agent.id]
        gone = [agent.id, *(row.id for row in others[: -(MAX_REPORTED_AGENTS - 1)])]
        await self._connection.execute(delete(statuses).where(mine, statuses.c.id.in_(gone)))
        await self._connection.execute(
            insert(statuses),
            {
                "sandbox_id": sandbox.id,
                "id": agent.id,
                "org_id": sandbox.org_id,
                "owner": sandbox.owner,
                "change": others[-1].change + 1 if others else 1,
                "body": msgspec.json.encode(agent).decode(),
            },
        )

    async def of(self, sandbox_id: SandboxId) -> list[ReportedAgent]:
        """See the port."""
        found = await self._connection.execute(
            select(statuses.c.body).where(statuses.c.sandbox_id == sandbox_id)
        )
        return [_agents.decode(body) for body in found.scalars()]

    async def owned(
        self, org_id: OrgId, owner: PrincipalId
    ) -> dict[SandboxId, list[ReportedAgent]]:
        """See the port."""
        found = await self._connection.execute(
            select(statuses.c.sandbox_id, statuses.c.body).where(
                statuses.c.org_id == org_id, statuses.c.owner == owner
            )
        )
        agents: dict[SandboxId, list[ReportedAgent]] = {}
        for sandbox_id, body in found.all():
            agents.setdefault(SandboxId(sandbox_id), []).append(_agents.decode(body))
        return agents

    async def give(self, sandbox_id: SandboxId, owner: PrincipalId) -> None:
        """See the port."""
        await self._connection.execute(
            update(statuses).where(statuses.c.sandbox_id == sandbox_id).values(owner=owner)
        )

    async def clear(self, sandbox_id: SandboxId) -> None:
        """See the port."""
        await self._connection.execute(delete(statuses).where(statuses.c.sandbox_id == sandbox_id))


class SqlTallyRows(TallyRows):
    """The `ports.store.statuses.TallyRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def sandboxes(self) -> Mapping[str, int]:
        """See the port."""
        state = sandboxes.c.state
        live = [one.value for one in State if one is not State.DESTROYED]
        return await self._counts(
            select(state, func.count()).where(state.in_(live)).group_by(state)
        )

    async def agents(self) -> Mapping[str, int]:
        """See the port."""
        # SQLite reads JSON out of a text; a cast there would make a number of it.
        sqlite = self._connection.dialect.name == "sqlite"
        body = type_coerce(statuses.c.body, JSON) if sqlite else cast(statuses.c.body, JSON)
        status = body[("status", "status")].as_string().label("status")
        running = [one.value for one in RUNNING]
        return await self._counts(
            select(status, func.count())
            .join(sandboxes, sandboxes.c.id == statuses.c.sandbox_id)
            .where(sandboxes.c.state.in_(running))
            .group_by(status)
        )

    async def approvals(self) -> int:
        """See the port."""
        waiting = approvals.c.verdict == ApprovalState.PENDING.value
        found = await self._connection.execute(
            select(func.count()).select_from(approvals).where(waiting)
        )
        return found.scalar_one()

    async def _counts(self, query: Select[str, int]) -> Mapping[str, int]:
        found = await self._connection.execute(query)
        return {row[0]: row[1] for row in found}
