"""Logins of agents. Their codes and tokens are secrets, and no part of these rows."""

from datetime import datetime
from typing import Protocol

from atoll.domain.logins.agent_login import AgentLoginId, AgentLoginRecord
from atoll.ports.store.records import OwnedRecords


class AgentLoginRows(OwnedRecords[AgentLoginRecord, AgentLoginId], Protocol):
    """Logins of agents, by id; a person's are listed oldest first."""

    async def due(self, now: datetime, limit: int) -> list[AgentLoginId]:
        """Return the logins that change by time until `now`, the longest due first."""
        ...
