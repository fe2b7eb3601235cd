"""A dashboard: its name, its people, and who may do what on it. Pure.

Its items are in a shared document of its own, in which nothing about rights stands. A dashboard
that is foreign to a caller looks like one that does not exist.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from atoll.domain.errors import Forbidden, Invalid, LimitReached, NotFound
from atoll.domain.ids import DashboardId, OrgId, PrincipalId, SandboxId
from atoll.domain.people.capability import Capability
from atoll.domain.people.name import printable_name
from atoll.domain.people.organization import is_group
from atoll.domain.people.principal import Principal
from atoll.wire.words.dashboards import MAX_PEOPLE, DashboardRole, DashboardScope

MAX_DASHBOARDS = 500
"""The number of dashboards of one owner, deleted ones that can be restored among them."""

MAX_LINKED = 100
RESTORABLE = timedelta(days=7)
GROUP = "group:"

_SUBJECT = re.compile(r"[A-Za-z0-9_.:@-]{1,128}")


@dataclass(frozen=True, slots=True)
class DashboardPerson:
    """A person (`subject` is an id) or a group (`group:<name>`) with a role on a dashboard."""

    subject: str
    role: DashboardRole
    since: datetime


@dataclass(frozen=True, slots=True)
class Dashboard:
    """A dashboard. `sandbox_id` is its home sandbox, once a terminal was opened; `linked` are other
    sandboxes shown on it. `deleted_at` is set for the time in which it can be restored; `items`
    counts the items of the document when it last changed. `left_at` is set while its owner is no
    member any more."""

    id: DashboardId
    org_id: OrgId
    owner: PrincipalId
    name: str
    scope: DashboardScope
    created_at: datetime
    updated_at: datetime
    sandbox_id: SandboxId | None = None
    linked: tuple[SandboxId, ...] = ()
    people: tuple[DashboardPerson, ...] = ()
    deleted_at: datetime | None = None
    items: int = 0
    left_at: datetime | None = None


def read_name(text: str) -> str:
    """Return a name that can be shown. Raises `Invalid`."""
    return printable_name(text)


def role_of(caller: Principal, dashboard: Dashboard) -> DashboardRole | None:
    """Return the caller's role; None for who may not see the dashboard. A guest looks at the one
    that its link opens, or edits it within `domain.dashboards.guest`."""
    if not caller.may(Capability.DASHBOARD_READ):
        return None
    if caller.guest_access is not None:
        if caller.guest_access.dashboard_id != dashboard.id:
            return None
        return DashboardRole.EDITOR if caller.guest_access.edits else DashboardRole.VIEWER
    if caller.org_id != dashboard.org_id:
        return None
    given = _find_role(caller, dashboard)
    if given is None or caller.may(Capability.DASHBOARD_USE):
        return given
    return DashboardRole.VIEWER


def _find_role(caller: Principal, dashboard: Dashboard) -> DashboardRole | None:
    """Return the role that ownership or sharing gives the caller, or None."""
    if caller.id == dashboard.owner:
        return DashboardRole.OWNER
    own = set(subjects_of(caller))
    roles = {one.role for one in dashboard.people if one.subject in own}
    if dashboard.scope is DashboardScope.SHARED:
        roles.add(DashboardRole.EDITOR)
    return next((role for role in DashboardRole if role in roles), None)


def subjects_of(caller: Principal) -> tuple[str, ...]:
    """Return the subjects by which a dashboard may name the caller."""
    return (caller.id, *(GROUP + group for group in caller.groups))


def check_seen(caller: Principal, dashboard: Dashboard | None, ref: str) -> Dashboard:
    """Return the dashboard when the caller may see it. Raises `NotFound`, in the same words for one
    that is missing, deleted or foreign."""
    if dashboard is None or dashboard.deleted_at is not None or role_of(caller, dashboard) is None:
        raise unknown(ref)
    return dashboard


def check_edits(caller: Principal, dashboard: Dashboard) -> None:
    """Check that the caller may open terminals and start agents on the dashboard. Raises
    `Forbidden`, also for a guest who edits its items."""
    if caller.guest_access is not None:
        raise Forbidden("a guest opens no terminals and starts no agents")
    role = role_of(caller, dashboard)
    if role is None or not role.edits:
        raise Forbidden(f"you may look at the dashboard {dashboard.name} and not change it")


def opens_sandbox(caller: Principal, dashboard: Dashboard, sandbox_id: SandboxId) -> bool:
    """Report whether the caller may go into a sandbox because the dashboard shows it: who edits
    the dashboard may, and who may use no terminal anywhere may look. A viewer who could use
    terminals may not: nobody else would stop them there."""
    if not shows_sandbox(dashboard, sandbox_id) or caller.guest_access is not None:
        return False
    role = role_of(caller, dashboard)
    return role is not None and (role.edits or not caller.may(Capability.TERMINAL_USE))


def shows_sandbox(dashboard: Dashboard, sandbox_id: SandboxId) -> bool:
    """Report whether a sandbox is the dashboard's home or linked to it."""
    return sandbox_id == dashboard.sandbox_id or sandbox_id in dashboard.linked


def watches_panes(caller: Principal, dashboard: Dashboard) -> bool:
    """Report whether the caller may watch the terminals whose panes are on the dashboard: who sees
    it may, and a guest whose link says so."""
    access = caller.guest_access
    if not caller.may(Capability.TERMINAL_WATCH) or (access is not None and not access.terminals):
        return False
    return role_of(caller, dashboard) is not None


def may_manage(caller: Principal, dashboard: Dashboard) -> bool:
    """Report whether the caller may rename, share and delete a dashboard that they see: its owner
    may, and the organization's administrators."""
    role = role_of(caller, dashboard)
    return role is DashboardRole.OWNER or caller.may(Capability.ORG_MANAGE)


def check_manages(caller: Principal, dashboard: Dashboard) -> None:
    """Check `may_manage`. Raises `Forbidden`."""
    if not may_manage(caller, dashboard):
        raise Forbidden(
            f"only the owner of the dashboard {dashboard.name} or an administrator may do so"
        )


def unknown(ref: str) -> NotFound:
    """Return the error for a dashboard that the caller may not see, or that is not there."""
    return NotFound(f"There is no dashboard {ref[:80]!r}: list them to see which there are.")


def read_subject(text: str) -> str:
    """Return `text` when it can name a person or a group. Raises `Invalid`."""
    group = text.startswith(GROUP)
    if not (is_group(text.removeprefix(GROUP)) if group else _SUBJECT.fullmatch(text)):
        raise Invalid("name a person by their id, or a group as `group:<name>`", field="subject")
    return text


def with_person(dashboard: Dashboard, person: DashboardPerson) -> Dashboard:
    """Return the dashboard with this person's role. Raises `Invalid` for another owner,
    `LimitReached` beyond `MAX_PEOPLE`."""
    if person.role is DashboardRole.OWNER or person.subject == dashboard.owner:
        raise Invalid("a dashboard has one owner, who stays: give `editor` or `viewer`",
                      field="role")  # fmt: skip
    others = without_person(dashboard, person.subject).people
    if len(others) >= MAX_PEOPLE:
        raise LimitReached(f"the dashboard is shared with {MAX_PEOPLE} people and groups already")
    ordered = sorted((*others, person), key=lambda one: one.subject)
    return replace(dashboard, people=tuple(ordered))


def without_person(dashboard: Dashboard, subject: str) -> Dashboard:
    """Return the dashboard without this person's role."""
    left = tuple(one for one in dashboard.people if one.subject != subject)
    return replace(dashboard, people=left)


def with_linked(dashboard: Dashboard, sandbox_id: SandboxId) -> Dashboard:
    """Return the dashboard with a linked sandbox. Raises `LimitReached` beyond `MAX_LINKED`."""
    if sandbox_id in dashboard.linked or sandbox_id == dashboard.sandbox_id:
        return dashboard
    if len(dashboard.linked) >= MAX_LINKED:
        raise LimitReached(f"a dashboard links at most {MAX_LINKED} sandboxes: unlink one first")
    return replace(dashboard, linked=(*dashboard.linked, sandbox_id))


def without_linked(dashboard: Dashboard, sandbox_ids: Iterable[SandboxId]) -> Dashboard:
    """Return the dashboard without these linked sandboxes."""
    gone = set(sandbox_ids)
    left = tuple(one for one in dashboard.linked if one not in gone)
    return replace(dashboard, linked=left)
