"""Owners of dashboards: given to another member, by their owner, or when that one is gone.

A dashboard whose owner left goes to who edits it. One that nobody else edits waits for an
administrator, and is removed when nobody takes it.
"""

from collections.abc import Sequence
from dataclasses import replace

from atoll.domain.dashboards.dashboard import MAX_DASHBOARDS, Dashboard, role_of, unknown
from atoll.domain.dashboards.owner import WAITS, given_to, heir_of, may_own
from atoll.domain.errors import Conflict, Forbidden, LimitReached
from atoll.domain.event import EventDraft, dashboard_stream
from atoll.domain.ids import DashboardId, PrincipalId
from atoll.domain.paging import PageQuery, RowPage
from atoll.domain.people.capability import Capability
from atoll.domain.people.organization import Member, check_may_set
from atoll.domain.people.principal import SYSTEM, Principal
from atoll.ports import Transaction
from atoll.services.ground import Ground
from atoll.services.people.memberships import organization_for
from atoll.services.people.rosters import check_team, one_member
from atoll.wire.words.dashboards import DashboardRole
from atoll.wire.words.people import OrgRole

PAGE = 100


class DashboardOwners:
    """Use cases on the owners of dashboards."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    async def give(self, caller: Principal, ref: str, member: str) -> Dashboard:
        """Give a dashboard to another member (id, name or email). Its owner may, and an
        administrator once the owner is gone. Raises `NotFound`, `Forbidden`, `Conflict` for a
        viewer, `LimitReached`."""
        async with self._ground.store.begin() as rows:
            organization, _ = await organization_for(rows, caller, caller.org_id)
            check_team(organization)
            dashboard = await self._given_away(rows, caller, ref)
            to = one_member(await rows.members.of(organization.id), member)
            if not may_own(to):
                raise Conflict(
                    f"{to.name} cannot own a dashboard: give them another role, or share it.",
                    code="viewer",
                )
            if await rows.dashboards.count(to.org_id, to.id) >= MAX_DASHBOARDS:
                raise LimitReached(f"{to.name} has {MAX_DASHBOARDS} dashboards already")
            given = dashboard
            if to.id != dashboard.owner:
                given = await hand_over(rows, self._ground, dashboard, to.id, actor=caller)
        self._ground.bus.announce((dashboard_stream(given.id),))
        return given

    async def waiting(self, caller: Principal, ref: str, page: PageQuery) -> RowPage[Dashboard]:
        """Return a page of the dashboards of an organization whose owner is gone, oldest first, to
        its administrators."""
        async with self._ground.store.read() as rows:
            organization, own = await organization_for(rows, caller, ref)
            check_may_set(own, OrgRole.MEMBER)
            check_team(organization)
            return await rows.dashboards.ownerless(organization.id, page)

    async def sweep(self) -> None:
        """Hand over what has no owner, and remove what waited too long."""
        page: PageQuery | None = PageQuery(PAGE)
        while page is not None:
            async with self._ground.store.read() as rows:
                batch = await rows.dashboards.ownerless(None, page)
            for dashboard in batch.rows:
                async with self._ground.store.begin() as rows:
                    await settle(rows, self._ground, dashboard, actor=SYSTEM)
            page = None if batch.following is None else PageQuery(PAGE, batch.following)

    async def _given_away(self, rows: Transaction, caller: Principal, ref: str) -> Dashboard:
        dashboard = await rows.dashboards.get(DashboardId(ref))
        if dashboard is None or dashboard.deleted_at is not None:
            raise unknown(ref)
        if dashboard.org_id != caller.org_id:
            raise unknown(ref)
        role = role_of(caller, dashboard)
        if role is DashboardRole.OWNER:
            return dashboard
        left = await rows.members.get(dashboard.org_id, dashboard.owner) is None
        if left and caller.may(Capability.ORG_MANAGE):
            return dashboard
        if role is None:
            raise unknown(ref)
        raise Forbidden(f"only the owner of the dashboard {dashboard.name} may give it away")


async def leave(rows: Transaction, ground: Ground, member: Member, *, actor: Principal) -> int:
    """Settle the dashboards of a member who goes, in the caller's transaction, and remove what
    mentions it. Returns how many there are."""
    await rows.dashboard_mentions.cut(member.org_id, member.id, 0)
    owned = await rows.dashboards.owned(member.org_id, member.id)
    others = [other for other in await rows.members.of(member.org_id) if other.id != member.id]
    for dashboard in owned:
        await _settle(rows, ground, dashboard, others, actor=actor)
    return len(owned)


async def settle(
    rows: Transaction, ground: Ground, dashboard: Dashboard, *, actor: Principal
) -> None:
    """Hand over a dashboard whose owner is gone, have it wait, or remove it when it waited too
    long."""
    members = await rows.members.of(dashboard.org_id)
    if any(member.id == dashboard.owner for member in members):
        return
    left_at = dashboard.left_at
    if left_at is not None and left_at + WAITS <= ground.clock.now():
        await rows.dashboards.erase(dashboard.id)
        await _report(rows, ground, dashboard, "dashboard.deleted", actor=actor)
        return
    await _settle(rows, ground, dashboard, members, actor=actor)


async def hand_over(
    rows: Transaction, ground: Ground, dashboard: Dashboard, to: PrincipalId, *, actor: Principal
) -> Dashboard:
    """Give a dashboard to a person, with its events, in the caller's transaction."""
    given = given_to(dashboard, to)
    await rows.dashboards.put(given)
    await rows.events.give(dashboard_stream(given.id), dashboard.owner, to)
    payload = {"from": dashboard.owner, "to": to}
    await _report(rows, ground, given, "dashboard.given", actor=actor, **payload)
    return given


async def _settle(
    rows: Transaction,
    ground: Ground,
    dashboard: Dashboard,
    members: Sequence[Member],
    *,
    actor: Principal,
) -> None:
    heir = heir_of(dashboard, members)
    if heir is not None and await rows.dashboards.count(heir.org_id, heir.id) < MAX_DASHBOARDS:
        await hand_over(rows, ground, dashboard, heir.id, actor=actor)
        return
    if dashboard.left_at is None:
        await rows.dashboards.put(replace(dashboard, left_at=ground.clock.now()))


async def _report(
    rows: Transaction,
    ground: Ground,
    dashboard: Dashboard,
    kind: str,
    *,
    actor: Principal,
    **payload: str,
) -> None:
    draft = EventDraft(
        id=ground.ids.event(),
        stream=dashboard_stream(dashboard.id),
        event_type=kind,
        at=ground.clock.now(),
        org_id=dashboard.org_id,
        owner=dashboard.owner,
        actor=actor,
        reason=None,
        payload={"dashboard_id": dashboard.id, "name": dashboard.name, **payload},
    )
    await rows.events.append((draft,))
