"""The table of the logins of agents, and its rows."""

from datetime import datetime

import msgspec
from sqlalchemy import BigInteger, Column, Index, Table, Text, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import metadata, to_us
from atoll.domain.ids import AgentLoginId, OrgId, PrincipalId
from atoll.domain.login.agent_login import AgentLoginRecord
from atoll.domain.login.lifecycle import due_at
from atoll.ports.store.login.agent_logins import AgentLoginRows

agent_logins = Table(
    "agent_logins",
    metadata,
    Column("id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("created_us", BigInteger, nullable=False),
    Column("due_us", BigInteger, nullable=True),
    Column("body", Text, nullable=False),
    Index("agent_logins_owner", "org_id", "owner"),
    Index("agent_logins_due", "due_us"),
)

_decoder = msgspec.json.Decoder(AgentLoginRecord)


class SqlAgentLoginRows(AgentLoginRows):
    """The `ports.store.login.agent_logins.AgentLoginRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def put(self, record: AgentLoginRecord) -> None:
        """See the port."""
        await self.remove(record.id)
        due = due_at(record.login)
        row = {
            "id": record.id,
            "org_id": record.org_id,
            "owner": record.owner,
            "created_us": to_us(record.created_at),
            "due_us": None if due is None else to_us(due),
            "body": msgspec.json.encode(record).decode(),
        }
        await self._connection.execute(insert(agent_logins), row)

    async def get(self, login_id: AgentLoginId) -> AgentLoginRecord | None:
        """See the port."""
        found = await self._connection.execute(
            select(agent_logins.c.body).where(agent_logins.c.id == login_id)
        )
        body = found.scalar_one_or_none()
        return None if body is None else _decoder.decode(body)

    async def of(self, org_id: OrgId, owner: PrincipalId) -> list[AgentLoginRecord]:
        """See the port."""
        table = agent_logins.c
        found = await self._connection.execute(
            select(table.body)
            .where(table.org_id == org_id, table.owner == owner)
            .order_by(table.created_us, table.id)
        )
        return [_decoder.decode(body) for body in found.scalars()]

    async def due(self, now: datetime, limit: int) -> list[AgentLoginId]:
        """See the port."""
        table = agent_logins.c
        found = await self._connection.execute(
            select(table.id)
            .where(table.due_us <= to_us(now))
            .order_by(table.due_us, table.id)
            .limit(limit)
        )
        return [AgentLoginId(one) for one in found.scalars()]

    async def remove(self, login_id: AgentLoginId) -> None:
        """See the port."""
        await self._connection.execute(delete(agent_logins).where(agent_logins.c.id == login_id))
