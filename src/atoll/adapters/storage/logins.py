"""The table of the logins of agents, and its rows."""

from datetime import datetime

from sqlalchemy import BigInteger, Column, Index, Table, Text, select

from atoll.adapters.storage.columns import metadata, to_us
from atoll.adapters.storage.records import RecordTable, SqlOwnedRecords
from atoll.domain.logins.agent_login import AgentLoginId, AgentLoginRecord
from atoll.domain.logins.lifecycle import due_at
from atoll.ports.store.logins import AgentLoginRows

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


def _columns(record: AgentLoginRecord) -> dict[str, object]:
    due = due_at(record.login)
    return {
        "id": record.id,
        "org_id": record.org_id,
        "owner": record.owner,
        "created_us": to_us(record.created_at),
        "due_us": None if due is None else to_us(due),
    }


class SqlAgentLoginRows(SqlOwnedRecords[AgentLoginRecord, AgentLoginId], AgentLoginRows):
    """The `ports.store.logins.agent_logins.AgentLoginRows` on one connection."""

    records = RecordTable(
        agent_logins,
        AgentLoginRecord,
        _columns,
        order=(agent_logins.c.created_us, agent_logins.c.id),
    )

    async def due(self, now: datetime, limit: int) -> list[AgentLoginId]:
        """See the port."""
        table = agent_logins.c
        cursor = await self._connection.execute(
            select(table.id)
            .where(table.due_us <= to_us(now))
            .order_by(table.due_us, table.id)
            .limit(limit)
        )
        return [AgentLoginId(login_id) for login_id in cursor.scalars()]
