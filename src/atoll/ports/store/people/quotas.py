"""Rows of quotas, and of the sessions that they count."""

from datetime import datetime
from typing import Protocol

from atoll.domain.ids import OrgId, PrincipalId, SandboxId
from atoll.domain.quota import Quota
from atoll.domain.sandboxes.sandbox import Sandbox

OPENING = "opening_"
"""Prefix of the id of a place whose session is being opened."""

COMMAND = "command_"
"""Prefix of the id of a running command from outside, which no quota counts."""


class QuotaRows(Protocol):
    """Quotas of organizations and of members."""

    async def get(self, org_id: OrgId, owner: PrincipalId | None) -> Quota | None:
        """Return the quota of a member, or with None that of the whole organization."""
        ...

    async def put(self, org_id: OrgId, owner: PrincipalId | None, quota: Quota) -> None:
        """Replace a quota; an empty one is removed."""
        ...

    async def members(self, org_id: OrgId) -> dict[PrincipalId, Quota]:
        """Return the quotas of an organization's members."""
        ...


class SessionRows(Protocol):
    """Live terminals and machine agents, as they were opened and as runtimes reported them, and
    beside them running commands."""

    async def put(self, sandbox: Sandbox, session_id: str, at: datetime) -> None:
        """Add a session; one that is there stays as it is."""
        ...

    async def remove(self, sandbox_id: SandboxId, session_id: str) -> None:
        """Remove a session; a missing one is not an error."""
        ...

    async def forget(self, prefix: str, before: datetime) -> None:
        """Remove the sessions whose id begins so and that were added before a moment."""
        ...

    async def clear(self, sandbox_id: SandboxId) -> None:
        """Remove all of a sandbox: its runtime began anew, or it runs no more."""
        ...

    async def of(self, sandbox_id: SandboxId) -> frozenset[str]:
        """Return the ids of a sandbox's sessions and commands, with their prefixes."""
        ...

    async def count(self, org_id: OrgId, owner: PrincipalId | None) -> int:
        """Return how many sessions a member has, or with None the organization."""
        ...
