"""The owner of a dashboard: who gets it when its owner is gone."""

from dataclasses import replace
from datetime import timedelta

import pytest

from atoll.domain.dashboards.dashboard import MAX_LINKED, Dashboard, DashboardPerson
from atoll.domain.dashboards.owner import given_to, heir_of
from atoll.domain.ids import PERSONAL_ORG, DashboardId, PrincipalId, SandboxId
from atoll.domain.people.organization import Member
from atoll.wire.words.dashboards import DashboardRole, DashboardScope
from atoll.wire.words.events import ActorKind
from atoll.wire.words.people import OrgRole
from tests.domain.dashboards.test_comment import AT

BOARD = Dashboard(
    DashboardId("dsh_1"), PERSONAL_ORG, PrincipalId("gone"), "Plan", DashboardScope.PRIVATE, AT, AT
)  # fmt: skip
SHARED = replace(BOARD, scope=DashboardScope.SHARED)
HOME = SandboxId("sb_home")


def _member(
    name: str,
    role: OrgRole = OrgRole.MEMBER,
    *groups: str,
    day: int = 0,
    kind: ActorKind = ActorKind.PERSON,
) -> Member:
    since = AT + timedelta(days=day)
    return Member(PERSONAL_ORG, PrincipalId(name), kind, name, "", role, groups, since)


def _named(subject: str, day: int, role: DashboardRole = DashboardRole.EDITOR) -> DashboardPerson:
    return DashboardPerson(subject, role, AT + timedelta(days=day))


ADMIN = _member("adam", OrgRole.ADMIN, day=9)
TEAM = (_member("ann", day=1), _member("bob", OrgRole.MEMBER, "web", day=2), ADMIN)
VIEWER, BOT = _member("vic", OrgRole.VIEWER), _member("bot", kind=ActorKind.AUTOMATION)


@pytest.mark.parametrize(
    ("board", "people", "heir"),
    [
        (BOARD, (_named("ann", 5), _named("bob", 4)), "bob"),
        (SHARED, (_named("ann", 5),), "ann"),
        (BOARD, (_named("vic", 1), _named("bot", 1), _named("gone", 0), _named("adam", 8)), "adam"),
        (BOARD, (_named("group:web", 1), _named("ann", 0, DashboardRole.VIEWER)), "bob"),
        (BOARD, (_named("ann", 0, DashboardRole.VIEWER),), None),
        (BOARD, (), None),
        (SHARED, (), "adam"),
    ],
)
def test_heir_is_the_longest_standing_editor_who_may_own_it(
    board: Dashboard, people: tuple[DashboardPerson, ...], heir: str | None
) -> None:
    members = (*TEAM, VIEWER, BOT, _member("gone", OrgRole.OWNER))
    found = heir_of(replace(board, people=people), members)
    assert (None if found is None else found.id) == heir


def test_shared_one_without_administrators_goes_to_the_longest_standing_member() -> None:
    found = heir_of(SHARED, TEAM[:2])
    assert found is not None and found.id == "ann"
    assert heir_of(SHARED, (VIEWER, BOT)) is None


def test_given_dashboard_links_the_former_owners_home() -> None:
    before = replace(BOARD, sandbox_id=HOME, people=(_named("bob", 0),), left_at=AT)
    given = given_to(before, PrincipalId("bob"))
    assert (given.owner, given.people, given.left_at) == ("bob", (), None)
    assert (given.sandbox_id, given.linked) == (None, (HOME,))
    full = tuple(SandboxId(f"sb_{number}") for number in range(MAX_LINKED))
    assert given_to(replace(before, linked=full), PrincipalId("bob")).linked == full
    assert given_to(replace(before, sandbox_id=None), PrincipalId("bob")).linked == ()
