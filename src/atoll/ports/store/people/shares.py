"""Share links and their guests."""

from datetime import datetime
from typing import Protocol

from atoll.domain.ids import DashboardId, OrgId, PrincipalId, SandboxId, ShareId
from atoll.domain.people.share import Guest, Share


class ShareRows(Protocol):
    """Share links and their guests. Only fingerprints of their secrets are stored."""

    async def add(self, share: Share) -> None:
        """Add a link."""
        ...

    async def of(self, opens: SandboxId | DashboardId) -> list[tuple[Share, tuple[Guest, ...]]]:
        """Return the links of a sandbox or dashboard, oldest first, each with its guests, oldest
        first."""
        ...

    async def held(self, org_id: OrgId, owner: PrincipalId) -> list[Share]:
        """Return the links of all that an owner has, oldest first."""
        ...

    async def get(self, share_id: ShareId) -> Share | None:
        """Return one link."""
        ...

    async def marked(self, mark: str) -> Share | None:
        """Return the link whose secret has this fingerprint."""
        ...

    async def remove(self, share_id: ShareId) -> None:
        """Remove a link and its guests; a missing link is not an error."""
        ...

    async def forget(self, before: datetime) -> None:
        """Remove links that ended at `before` or earlier, with their guests."""
        ...

    async def add_guest(self, guest: Guest) -> None:
        """Add a guest."""
        ...

    async def remove_guest(self, mark: str) -> None:
        """Remove the guest whose session has this fingerprint."""
        ...

    async def guest(self, mark: str) -> tuple[Guest, Share] | None:
        """Return the guest whose session has this fingerprint, and the link it came by."""
        ...
