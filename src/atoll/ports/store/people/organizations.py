"""Organizations, their members, invitations, and bounds on their sandboxes' networks.

Single-person mode has no row of any of them.
"""

from datetime import datetime
from typing import Protocol

from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.network.bounds import NetworkBounds
from atoll.domain.people.organization import Invitation, InvitationId, Member, Organization
from atoll.ports.store.records import Records


class OrganizationRows(Protocol):
    """Organizations. Raises nothing of its own but `Conflict`: absent is None."""

    async def put(self, organization: Organization) -> None:
        """Add an organization, or replace the one of its id. Raises `Conflict` when another has its
        slug."""
        ...

    async def get(self, ref: str) -> Organization | None:
        """Return an organization by its id or its slug; an id takes precedence."""
        ...

    async def all(self) -> list[Organization]:
        """Return all organizations, by slug."""
        ...


class MemberRows(Records[Member, OrgId, PrincipalId], Protocol):
    """Members, by organization and principal."""

    async def of(self, org_id: OrgId) -> list[Member]:
        """Return an organization's members, those who joined first first."""
        ...

    async def memberships(self, member_id: PrincipalId) -> list[Member]:
        """Return what somebody is in each organization, by its id."""
        ...


class InvitationRows(Protocol):
    """Invitations. Only fingerprints of their secrets are stored."""

    async def add(self, invitation: Invitation) -> None:
        """Add an invitation."""
        ...

    async def of(self, org_id: OrgId) -> list[Invitation]:
        """Return an organization's invitations, oldest first."""
        ...

    async def marked(self, mark: str) -> Invitation | None:
        """Return the invitation whose secret has this fingerprint."""
        ...

    async def remove(self, invitation_id: InvitationId) -> None:
        """Remove an invitation; a missing one is not an error."""
        ...

    async def forget(self, before: datetime) -> None:
        """Remove invitations that ended at `before` or earlier."""
        ...


class NetworkBoundRows(Protocol):
    """Bounds that organizations set on the networks of their sandboxes."""

    async def get(self, org_id: OrgId) -> NetworkBounds | None:
        """Return the bounds of an organization, None when it sets none."""
        ...

    async def put(self, org_id: OrgId, bounds: NetworkBounds | None) -> None:
        """Replace the bounds of an organization; None removes them."""
        ...
