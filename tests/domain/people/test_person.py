"""People who log in at a provider."""

from datetime import UTC, datetime, timedelta

import pytest

from atoll.domain.ids import PrincipalId
from atoll.domain.people.capability import Capability
from atoll.domain.people.person import (
    Person,
    PersonSession,
    SessionId,
    newcomer,
    own_route,
    printable_agent,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "route"),
    [
        ("join", "join"),
        ("#/cli/ABCD-EFGH", "cli/ABCD-EFGH"),
        ("/sandboxes/sb_x/t_1", "sandboxes/sb_x/t_1"),
        ("//evil.example", ""),
        ("https://evil.example", ""),
        ("login=x", ""),
        ("join\n", ""),
        ("", ""),
    ],
)
def test_route_is_one_of_our_page(text: str, route: str) -> None:
    assert own_route(text) == route


def test_agent_is_shown_without_what_cannot_be_seen() -> None:
    assert printable_agent(" Mozilla\x1b[2J/5.0\u202e ") == "Mozilla[2J/5.0"
    assert len(printable_agent("x" * 500)) == 120


def test_newcomer_may_do_nothing_but_manage_themselves() -> None:
    found = newcomer(Person(PrincipalId("usr_a"), "https://id.example", "a", "Ada", ""))
    assert (found.org_id, found.interactive, found.roles) == ("nobody", True, ())
    assert found.capabilities == {Capability.ME}


def test_session_ends_at_its_end_or_when_it_is_not_used() -> None:
    session = PersonSession(
        id=SessionId("ses_a"),
        person=PrincipalId("usr_a"),
        realm="corp",
        issuer="https://id.example",
        mark="m",
        created_at=NOW,
        seen_at=NOW,
        expires_at=NOW + timedelta(days=1),
        checked_at=NOW,
    )
    assert session.ends_at(timedelta(hours=1)) == NOW + timedelta(hours=1)
    assert session.ends_at(timedelta(days=2)) == NOW + timedelta(days=1)
