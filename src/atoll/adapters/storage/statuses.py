"""Table and rows of what agents were reported to do."""

import msgspec
from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    PrimaryKeyConstraint,
    Table,
    Text,
    delete,
    insert,
    select,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import metadata
from atoll.domain.ids import OrgId, PrincipalId, SandboxId
from atoll.domain.sandbox.reported import MAX_REPORTED_AGENTS, ReportedAgent
from atoll.domain.sandbox.sandbox import Sandbox
from atoll.ports.store.statuses import StatusRows

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
