from dataclasses import replace
from datetime import UTC, datetime

import pytest

from atoll.domain.dashboards import dashboard as rules
from atoll.domain.dashboards.dashboard import (
    Dashboard,
    DashboardPerson,
    check_edits,
    check_manages,
    check_seen,
    may_manage,
    opens_sandbox,
    read_name,
    read_subject,
    role_of,
    watches_panes,
    with_linked,
    with_person,
    without_linked,
    without_person,
)
from atoll.domain.errors import Forbidden, Invalid, LimitReached, NotFound
from atoll.domain.ids import DashboardId, OrgId, PrincipalId, SandboxId, ShareId
from atoll.domain.people.capability import Capability, capabilities_of
from atoll.domain.people.principal import GuestAccess, Principal
from atoll.wire.words.dashboards import DashboardRole, DashboardScope
from atoll.wire.words.events import ActorKind
from atoll.wire.words.people import OrgRole
from atoll.wire.words.terminals import Role

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ORG = OrgId("acme")
BOARD = Dashboard(
    DashboardId("dsh_1"), ORG, PrincipalId("ann"), "Plan", DashboardScope.PRIVATE, NOW, NOW
)


def who(name: str, role: OrgRole = OrgRole.MEMBER, *groups: str, org: str = "acme") -> Principal:
    return Principal(
        OrgId(org),
        PrincipalId(name),
        ActorKind.PERSON,
        capabilities=capabilities_of(role),
        groups=groups,
    )


def named(subject: str, role: DashboardRole) -> Dashboard:
    return with_person(BOARD, DashboardPerson(subject, role, NOW))


def test_owner_of_a_private_dashboard_alone_sees_it() -> None:
    assert role_of(who("ann"), BOARD) is DashboardRole.OWNER
    assert role_of(who("bob"), BOARD) is None
    assert role_of(who("bob", OrgRole.OWNER), BOARD) is None
    assert role_of(who("ann", org="other"), BOARD) is None


def test_shared_dashboard_is_edited_by_members_and_read_by_viewers() -> None:
    shared = replace(BOARD, scope=DashboardScope.SHARED)
    assert role_of(who("bob"), shared) is DashboardRole.EDITOR
    assert role_of(who("bob", OrgRole.VIEWER), shared) is DashboardRole.VIEWER
    assert role_of(who("ann", OrgRole.VIEWER), shared) is DashboardRole.VIEWER


def test_named_person_and_group_have_the_higher_of_their_roles() -> None:
    board = with_person(
        named("bob", DashboardRole.VIEWER),
        DashboardPerson("group:team", DashboardRole.EDITOR, NOW),
    )
    assert role_of(who("bob"), board) is DashboardRole.VIEWER
    assert role_of(who("bob", OrgRole.MEMBER, "team"), board) is DashboardRole.EDITOR
    assert role_of(who("eve", OrgRole.MEMBER, "other"), board) is None


def test_guest_and_who_may_nothing_see_no_dashboard() -> None:
    shared = replace(BOARD, scope=DashboardScope.SHARED)
    access = GuestAccess(
        ORG, PrincipalId("ann"), ShareId("s"), SandboxId("sb"), None, Role.VIEWER, NOW
    )
    assert role_of(replace(who("bob"), guest_access=access), shared) is None
    assert role_of(replace(who("ann"), capabilities=frozenset()), shared) is None


def test_guest_of_a_dashboard_looks_at_that_one_and_at_terminals_where_its_link_says_so() -> None:
    access = GuestAccess(
        ORG, PrincipalId("ann"), ShareId("s"), None, None, Role.VIEWER, NOW,
        dashboard_id=BOARD.id,
    )  # fmt: skip
    guest = replace(who("x", org="guests"), guest_access=access)
    other = replace(BOARD, id=DashboardId("dsh_2"), scope=DashboardScope.SHARED)
    assert role_of(guest, BOARD) is DashboardRole.VIEWER
    assert role_of(guest, other) is None
    assert not watches_panes(guest, BOARD)
    assert not access.edits and replace(access, role=Role.CONTROLLER).edits
    with pytest.raises(Forbidden, match="no terminals"):
        check_edits(guest, BOARD)
    watcher = replace(guest, guest_access=replace(access, terminals=True))
    assert watches_panes(watcher, BOARD) and not watches_panes(watcher, other)
    home = replace(BOARD, sandbox_id=SandboxId("sb"))
    assert not opens_sandbox(watcher, home, SandboxId("sb"))


def test_who_sees_a_dashboard_watches_its_panes_unless_they_may_watch_nothing() -> None:
    board = named("bob", DashboardRole.VIEWER)
    assert watches_panes(who("bob"), board)
    assert not watches_panes(who("eve"), board)
    reader = replace(who("bob"), capabilities=frozenset({Capability.DASHBOARD_READ}))
    assert not watches_panes(reader, board)


def test_dashboard_that_is_foreign_deleted_or_missing_is_not_found_alike() -> None:
    deleted = replace(BOARD, deleted_at=NOW)
    said = []
    for caller, found in ((who("bob"), BOARD), (who("ann"), None), (who("ann"), deleted)):
        with pytest.raises(NotFound) as error:
            check_seen(caller, found, "dsh_1")
        said.append(error.value.message)
    assert len(set(said)) == 1
    assert check_seen(who("ann"), BOARD, "dsh_1") is BOARD


def test_editor_edits_and_owner_or_administrator_manages() -> None:
    board = replace(named("eve", DashboardRole.VIEWER), scope=DashboardScope.SHARED)
    check_edits(who("bob"), board)
    with pytest.raises(Forbidden):
        check_edits(who("bob", OrgRole.VIEWER), board)
    with pytest.raises(Forbidden):
        check_edits(who("bob"), BOARD)
    check_manages(who("ann"), board)
    assert may_manage(who("boss", OrgRole.ADMIN), board)
    with pytest.raises(Forbidden):
        check_manages(who("bob"), board)


def test_sandbox_on_a_dashboard_opens_to_editors_and_to_who_may_only_look() -> None:
    home, linked = SandboxId("sb_home"), SandboxId("sb_linked")
    board = replace(named("bob", DashboardRole.EDITOR), sandbox_id=home, linked=(linked,))
    board = with_person(board, DashboardPerson("eve", DashboardRole.VIEWER, NOW))
    for sandbox in (home, linked):
        assert opens_sandbox(who("bob"), board, sandbox)
        assert opens_sandbox(who("eve", OrgRole.VIEWER), board, sandbox)
        assert not opens_sandbox(who("eve"), board, sandbox)
        assert not opens_sandbox(who("mallory"), board, sandbox)
    assert not opens_sandbox(who("bob"), board, SandboxId("sb_other"))


@pytest.mark.parametrize("text", ["usr_1", "ann@example.org", "group:team/a"])
def test_subject_is_a_person_or_a_group(text: str) -> None:
    assert read_subject(text) == text


@pytest.mark.parametrize("text", ["", "a b", "group:", "group:a b", "x" * 129, "\n"])
def test_subject_that_names_nobody_is_invalid(text: str) -> None:
    with pytest.raises(Invalid):
        read_subject(text)


def test_person_is_named_once_and_never_beside_the_owner() -> None:
    board = named("bob", DashboardRole.VIEWER)
    again = with_person(board, DashboardPerson("bob", DashboardRole.EDITOR, NOW))
    assert [one.role for one in again.people] == [DashboardRole.EDITOR]
    assert without_person(again, "bob").people == ()
    for subject, role in (("ann", DashboardRole.VIEWER), ("eve", DashboardRole.OWNER)):
        with pytest.raises(Invalid):
            named(subject, role)


def test_people_and_linked_sandboxes_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "MAX_PEOPLE", 1)
    monkeypatch.setattr(rules, "MAX_LINKED", 1)
    with pytest.raises(LimitReached):
        with_person(
            named("bob", DashboardRole.VIEWER), DashboardPerson("eve", DashboardRole.VIEWER, NOW)
        )
    one, two = SandboxId("sb_1"), SandboxId("sb_2")
    linked = with_linked(BOARD, one)
    assert with_linked(linked, one) is linked and linked.linked == (one,)
    with pytest.raises(LimitReached):
        with_linked(linked, two)
    assert without_linked(linked, (two, one)).linked == ()


def test_name_is_shown_without_blanks_around_it() -> None:
    assert read_name(" Plan ") == "Plan"
    with pytest.raises(Invalid):
        read_name("a\u202eb")
