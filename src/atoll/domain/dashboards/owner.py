"""The owner of a dashboard: who gets it when its owner is no member any more. Pure.

One that others edit goes to who has edited it longest. A private one waits for an administrator,
as long as the files of a stopped sandbox are kept, and is removed then.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

from atoll.domain.dashboards.dashboard import GROUP, MAX_LINKED, Dashboard, without_person
from atoll.domain.ids import PrincipalId
from atoll.domain.people.capability import Capability
from atoll.domain.people.organization import ADMINISTRATORS, Member, member_principal
from atoll.wire.words.dashboards import DashboardScope
from atoll.wire.words.events import ActorKind

WAITS = timedelta(days=14)
"""The time for which a dashboard without an owner waits: the seven days of a sandbox and the seven
for which its files are kept."""


def heir_of(dashboard: Dashboard, members: Iterable[Member]) -> Member | None:
    """Return the member who gets a dashboard whose owner is gone; None for a private one that
    nobody else edits. The longest-standing of the first of these: people whom it names as editors,
    members of such groups, administrators where it is shared, and then all members."""
    able = [one for one in members if may_own(one) and one.id != dashboard.owner]
    since = {one.subject: one.since for one in dashboard.people if one.role.edits}
    named = [one for one in able if one.id in since]
    if named:
        return min(named, key=lambda one: (since[one.id], one.id))
    grouped = [one for one in able if any(GROUP + group in since for group in one.groups)]
    shared = able if dashboard.scope is DashboardScope.SHARED else []
    admins = [one for one in shared if one.role in ADMINISTRATORS]
    for candidates in (grouped, admins, shared):
        if candidates:
            return min(candidates, key=lambda one: (one.since, one.id))
    return None


def may_own(member: Member) -> bool:
    """Report whether a member can own a dashboard: a person who may make one."""
    able = member_principal(member).may(Capability.DASHBOARD_MANAGE)
    return member.kind is ActorKind.PERSON and able


def given_to(dashboard: Dashboard, owner: PrincipalId) -> Dashboard:
    """Return the dashboard with another owner. Its home sandbox stays the former owner's: it is
    linked, and the next terminal starts another one."""
    named = without_person(dashboard, owner)
    home, linked = dashboard.sandbox_id, dashboard.linked
    if home is not None and len(linked) < MAX_LINKED:
        linked = (*linked, home)
    return replace(named, owner=owner, sandbox_id=None, linked=linked, left_at=None)
