"""Logins of agents. Their codes and tokens are secrets, and no part of these rows."""

from datetime import datetime
from typing import Protocol

from atoll.domain.ids import AgentLoginId, OrgId, PrincipalId
from atoll.domain.login.agent_login import AgentLoginRecord


class AgentLoginRows(Protocol):
    """Logins of agents."""

    async def put(self, record: AgentLoginRecord) -> None:
        """Add or replace the login of this id."""
        ...

    async def get(self, login_id: AgentLoginId) -> AgentLoginRecord | None:
        """Return a login by id."""
        ...

    async def of(self, org_id: OrgId, owner: PrincipalId) -> list[AgentLoginRecord]:
        """Return the logins of a person, oldest first."""
        ...

    async def due(self, now: datetime, limit: int) -> list[AgentLoginId]:
        """Return the logins that change by time until `now`, the longest due first."""
        ...

    async def remove(self, login_id: AgentLoginId) -> None:
        """Remove a login; a missing one is not an error."""
        ...
