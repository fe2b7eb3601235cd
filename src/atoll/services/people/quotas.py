"""Quotas and bounds of networks, as the administrators of an organization set them.

Quotas are kept where room is taken: `services.lifecycle.room`; bounds where a network is changed
and composed: `services.policies.network_boundary`.
"""

from dataclasses import dataclass

from atoll.domain.event import Json
from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.network.bounds import NetworkBounds, spelled_bounds
from atoll.domain.people.principal import LOCAL_PERSON, Principal
from atoll.domain.quota import Quota, QuotaUsage, spelled_quota
from atoll.ports import Transaction
from atoll.services.ground import Ground
from atoll.services.journals.events import Note, draft_of
from atoll.services.lifecycle.room import SandboxRoom
from atoll.services.people.memberships import organization_for
from atoll.services.people.org_events import org_stream
from atoll.services.people.rosters import one_member
from atoll.services.policies.network_boundary import NetworkBoundary
from atoll.services.policies.policy_push import PolicyPush


@dataclass(frozen=True, slots=True)
class Held:
    """A quota beside what is held. `member` None: the organization's."""

    member: PrincipalId | None
    quota: Quota
    usage: QuotaUsage


@dataclass(frozen=True, slots=True)
class BoundsOfNetworks:
    """Bounds on what a member's sandboxes may open: the installation's, and the organization's,
    None where it takes nothing away."""

    installation: NetworkBounds
    organization: NetworkBounds | None


class OrganizationBounds:
    """Use cases on the bounds that an organization sets on the networks of its sandboxes. An
    organization of others is `NotFound`."""

    def __init__(self, ground: Ground, boundary: NetworkBoundary, policy_push: PolicyPush) -> None:
        self._ground = ground
        self._boundary = boundary
        self._policy_push = policy_push

    async def get(self, caller: Principal, ref: str) -> BoundsOfNetworks:
        """Return what a caller's sandboxes may open in an organization."""
        async with self._ground.store.read() as rows:
            organization, _ = await organization_for(rows, caller, ref)
            own = await rows.network_bounds.get(organization.id)
        return BoundsOfNetworks(self._boundary.of_installation(organization.id, caller.id), own)

    async def set(
        self, caller: Principal, ref: str, bounds: NetworkBounds | None
    ) -> BoundsOfNetworks:
        """Replace the bounds of an organization; None removes them. What its sandboxes opened
        beyond them is closed when this returns."""
        async with self._ground.store.begin() as rows:
            organization, _ = await organization_for(rows, caller, ref)
            await rows.network_bounds.put(organization.id, bounds)
            bounds_payload: dict[str, Json] = {} if bounds is None else spelled_bounds(bounds)
            note = Note(
                org_stream(organization.id),
                "network.bounded",
                {"org": organization.id, "bounds": bounds_payload},
            )
            ground = self._ground
            draft = draft_of(note, caller, at=ground.clock.now(), event_id=ground.ids.event())
            await rows.events.append((draft,))
        self._ground.bus.announce((org_stream(organization.id),))
        await self._policy_push.push_changes(organization.id, None)
        return await self.get(caller, organization.id)


class Quotas:
    """Use cases on quotas. An organization of others is `NotFound`."""

    def __init__(self, ground: Ground, room: SandboxRoom) -> None:
        self._ground = ground
        self._room = room

    async def own(self, caller: Principal) -> tuple[Held, Held]:
        """Return the caller's quota and that of its organization."""
        async with self._ground.store.read() as rows:
            return (
                await self._read_quota_usage(rows, caller.org_id, caller.id),
                await self._read_quota_usage(rows, caller.org_id, None),
            )

    async def list(self, caller: Principal, ref: str) -> list[Held]:
        """Return an organization's quota, then those of its members that have one."""
        async with self._ground.store.read() as rows:
            organization, _ = await organization_for(rows, caller, ref)
            members = await rows.quotas.members(organization.id)
            return [
                await self._read_quota_usage(rows, organization.id, who) for who in (None, *members)
            ]

    async def set(self, caller: Principal, ref: str, member: str | None, *, quota: Quota) -> Held:
        """Replace the quota of a member, or with None of the organization; an empty one is none.
        What is held beyond it stays, and nothing new begins. `member` is an id, name or email.
        Raises `NotFound` for a member, and `Conflict` where several are meant."""
        async with self._ground.store.begin() as rows:
            organization, _ = await organization_for(rows, caller, ref)
            who = None if member is None else await _member(rows, organization.id, member)
            await rows.quotas.put(organization.id, who, quota)
            note = Note(
                org_stream(organization.id),
                "quota.set",
                {"org": organization.id, "member": who or "", "quota": dict(spelled_quota(quota))},
            )
            ground = self._ground
            draft = draft_of(note, caller, at=ground.clock.now(), event_id=ground.ids.event())
            await rows.events.append((draft,))
            held = await self._read_quota_usage(rows, organization.id, who)
        self._ground.bus.announce((org_stream(organization.id),))
        return held

    async def _read_quota_usage(
        self, rows: Transaction, org_id: OrgId, member: PrincipalId | None
    ) -> Held:
        """Return a quota with its usage: a member's, or the organization's for None."""
        quota = await rows.quotas.get(org_id, member) or Quota()
        return Held(member, quota, await self._room.used(rows, org_id, member))


async def _member(rows: Transaction, org_id: OrgId, member: str) -> PrincipalId:
    if (org_id, member) == (LOCAL_PERSON.org_id, LOCAL_PERSON.id):
        return LOCAL_PERSON.id
    return one_member(await rows.members.of(org_id), member).id
