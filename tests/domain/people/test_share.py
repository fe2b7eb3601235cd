"""Share links: what one may give, how guests are called, and what a access covers."""

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from atoll.domain.errors import Invalid
from atoll.domain.ids import (
    GUESTS_ORG,
    PERSONAL_ORG,
    DashboardId,
    GuestId,
    PrincipalId,
    RecordingId,
    SandboxId,
    ShareId,
    TerminalId,
)
from atoll.domain.people.capability import Capability
from atoll.domain.people.name import own_name, printable_name, unlike_names
from atoll.domain.people.principal import GuestAccess
from atoll.domain.people.share import (
    Guest,
    Share,
    ShareRequest,
    expiry,
    guest_name,
    principal_of,
)
from atoll.wire.words.events import ActorKind
from atoll.wire.words.people import MAX_NAME
from atoll.wire.words.terminals import Role

NOW = datetime(2026, 1, 1, tzinfo=UTC)
OWNER = PrincipalId("p")


def access(terminal: TerminalId | None, recording: RecordingId | None = None) -> GuestAccess:
    guest = Guest(GuestId("gu_abcdef"), ShareId("sh_a"), PERSONAL_ORG, OWNER, "Ann", "m", NOW)
    share = Share(
        ShareId("sh_a"), PERSONAL_ORG, OWNER, SandboxId("sb_a"), terminal, Role.CONTROLLER,
        "pair", "mark", NOW, expiry(NOW, 60), recording,
    )  # fmt: skip
    principal = principal_of(guest, share)
    assert (principal.org_id, principal.id) == (GUESTS_ORG, "gu_abcdef")
    assert (principal.kind, principal.name) == (ActorKind.PERSON, "Ann")
    assert not principal.interactive
    assert principal.guest_access is not None
    return principal.guest_access


def test_guest_owns_nothing_and_sits_where_its_link_leads() -> None:
    one = access(TerminalId("t1"))
    assert (one.role, one.expires_at) == (Role.CONTROLLER, NOW + timedelta(minutes=1))
    assert one.covers("sb_a") and one.covers("sb_a", "t1")
    assert not one.covers("sb_a", "t2") and not one.covers("sb_b") and not one.covers("sb_b", "t1")


def test_link_to_a_whole_sandbox_covers_every_terminal_of_it_only() -> None:
    whole = access(None)
    assert whole.covers("sb_a", "t1") and whole.covers("sb_a", "t2")
    assert not whole.covers("sb_b", "t1")


def test_link_to_a_dashboard_covers_no_sandbox_and_gives_nothing_but_looks() -> None:
    guest = Guest(GuestId("gu_abcdef"), ShareId("sh_a"), PERSONAL_ORG, OWNER, "Ann", "m", NOW)
    share = Share(
        ShareId("sh_a"), PERSONAL_ORG, OWNER, None, None, Role.VIEWER, "", "mark", NOW,
        expiry(NOW, 60), dashboard_id=DashboardId("dsh_a"), terminals=True,
    )  # fmt: skip
    visitor = principal_of(guest, share)
    access = visitor.guest_access
    assert share.opens == "dsh_a" and access is not None
    assert (access.dashboard_id, access.terminals) == ("dsh_a", True)
    assert not access.covers("sb_a") and not access.covers("dsh_a") and not access.plays("x", "y")
    assert visitor.may(Capability.DASHBOARD_READ) and visitor.may(Capability.TERMINAL_WATCH)
    for one in (Capability.DASHBOARD_USE, Capability.TERMINAL_USE, Capability.SANDBOX_READ):
        assert not visitor.may(one)
    assert not share.edits and replace(share, role=Role.CONTROLLER).edits


def test_link_to_a_recording_plays_it_and_covers_no_terminal() -> None:
    watcher = access(None, RecordingId("rec_a"))
    assert watcher.plays("sb_a", "rec_a")
    assert not watcher.plays("sb_a", "rec_b") and not watcher.plays("sb_b", "rec_a")
    assert not watcher.covers("sb_a") and not watcher.covers("sb_a", "t1")
    assert not access(None).plays("sb_a", "rec_a")


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        ({"role": Role.OWNER}, "role"),
        ({"role": Role.CONTROLLER, "recording_id": "rec_a"}, "role"),
        ({"terminal_id": "t1", "recording_id": "rec_a"}, "recording_id"),
        ({"seconds": 0}, "ttl"),
        ({"seconds": -1}, "ttl"),
        ({"seconds": 30 * 86400 + 1}, "ttl"),
        ({"name": "x" * (MAX_NAME + 1)}, "name"),
        ({"name": "a\x1b[31m"}, "name"),
        ({"name": "a\u202eb"}, "name"),
        ({"name": "   "}, "name"),
    ],
)
def test_link_that_gives_too_much_or_cannot_be_shown_is_refused(
    wanted: dict[str, Any], field: str
) -> None:
    with pytest.raises(Invalid) as refused:
        ShareRequest(**wanted)
    assert refused.value.field == field


def test_link_within_bounds_is_taken() -> None:
    assert ShareRequest().role is Role.VIEWER
    assert ShareRequest(recording_id=RecordingId("rec_a")).role is Role.VIEWER
    assert ShareRequest(name="Ann's", seconds=30 * 86400, role=Role.CONTROLLER).name == "Ann's"


def test_names_of_guests_are_trimmed_or_made_of_their_id() -> None:
    assert printable_name("  Zoë ") == "Zoë"
    assert guest_name(GuestId("gu_abcdef")) == "guest abcd"


@pytest.mark.parametrize(
    "name", ["Ada", " ada ", "A.D.A", "\uff21da", "\u0410d\u0430", "\u0391d\u03b1", "\u00c0d\u00e1"]
)
def test_guest_may_not_take_the_name_of_who_invites(name: str) -> None:
    with pytest.raises(Invalid, match="Ada is the name of the person who invites you"):
        own_name(name, "Ada")


def test_guest_among_members_may_take_the_name_of_none() -> None:
    assert unlike_names("Carl", ["Ada", "Bob", ""]) == "Carl"
    assert unlike_names("-", ["-"]) == "-"
    with pytest.raises(Invalid, match="a person here"):
        unlike_names("B0b", ["Ada", "Bob"])


def test_guest_may_take_any_other_name_that_can_be_shown() -> None:
    assert own_name(" Bob ", "Ada") == "Bob"
    assert own_name("-", "-") == "-"
    with pytest.raises(Invalid, match="printable"):
        own_name("\x1b[2J", "Ada")


@pytest.mark.parametrize(
    "name",
    ["\u3164", "\u2800", "A\u115fda", "B\u034fob", "\u202ebob", "B" + "\u0301" * 3, "\u0301Bob"],
)
def test_name_of_blank_letters_or_stacked_marks_is_refused(name: str) -> None:
    with pytest.raises(Invalid, match="printable"):
        printable_name(name)


@pytest.mark.parametrize("name", ["Зоя", "Ελένη", "Nguyễn Văn", "अदिति", "王小明", "Al-Amin"])
def test_name_in_any_alphabet_is_a_name(name: str) -> None:
    assert own_name(name, "Ada") == name


def test_name_of_marks_in_disorder_is_refused_in_a_moment() -> None:
    began = time.process_time()
    with pytest.raises(Invalid):
        own_name("a" + "\u0300\u0327" * 100_000, "you")
    assert time.process_time() - began < 0.1
