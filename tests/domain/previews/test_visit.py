"""Tickets and visits: how long they last, and where they lead."""

from datetime import UTC, datetime, timedelta

import pytest

from atoll.domain.errors import Invalid
from atoll.domain.ids import PERSONAL_ORG, PrincipalId, SandboxId
from atoll.domain.previews.visit import VISIT_LIFE, PortAddress, Visit, link_ends, open_visit
from atoll.wire.words.previews import MAX_PATH

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PLACE = PortAddress(3000, "3000-sb-abc")


def _ticket(login_ends_at: datetime | None = None) -> Visit:
    return Visit(
        "mark",
        True,
        PERSONAL_ORG,
        PrincipalId("person"),
        SandboxId("sb_abc"),
        PLACE,
        login="session:x",
        capabilities=("exec.use",),
        created_at=NOW,
        expires_at=NOW,
        login_ends_at=login_ends_at,
    )


def test_visit_lasts_twelve_hours_and_not_longer_than_the_login_it_was_made_by() -> None:
    visit = open_visit(_ticket(), "other", NOW)
    assert (visit.mark, visit.is_ticket) == ("other", False)
    assert (visit.address, visit.expires_at) == (PLACE, NOW + VISIT_LIFE)
    soon = NOW + timedelta(minutes=1)
    assert open_visit(_ticket(soon), "other", NOW).expires_at == soon


def test_link_lasts_as_asked_and_not_longer_than_the_token_it_was_made_by() -> None:
    assert link_ends(NOW, 60, None) == NOW + timedelta(seconds=60)
    assert link_ends(NOW, 60, NOW) == NOW


@pytest.mark.parametrize("seconds", [0, 86_401])
def test_link_that_lasts_too_long_or_not_at_all_is_refused(seconds: int) -> None:
    with pytest.raises(Invalid):
        link_ends(NOW, seconds, None)


@pytest.mark.parametrize("path", ["/", "/a/b?c=d&e#f", "/%2e%2e/x"])
def test_path_of_the_origin_is_taken(path: str) -> None:
    assert PortAddress(3000, "x", path).path == path


@pytest.mark.parametrize(
    "path",
    [
        "",
        "a",
        "//evil.org",
        "/\\evil.org",
        "/a b",
        '/"',
        "/\n",
        "/ä",
        "http://x",
        "/" * MAX_PATH + "//",
    ],
)
def test_path_that_leads_elsewhere_is_refused(path: str) -> None:
    with pytest.raises(Invalid):
        PortAddress(3000, "x", path)
