"""People's own profiles."""

from typing import Protocol

from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.profile.profile import Profile


class ProfileRows(Protocol):
    """Profiles of people; bundled ones are not here."""

    async def all(self, org_id: OrgId) -> list[Profile]:
        """Return every version of every profile of the organization."""
        ...

    async def save(self, org_id: OrgId, owner: PrincipalId, profile: Profile) -> None:
        """Add or replace one version."""
        ...

    async def delete(self, org_id: OrgId, profile_id: str, version: str | None) -> int:
        """Remove one version, or all. Returns how many were removed."""
        ...
