from datetime import UTC, datetime

import pytest

from atoll.domain.errors import Invalid, LimitReached
from atoll.domain.event import Event, Json
from atoll.domain.event_kind import KINDS
from atoll.domain.ids import EventId, OrgId
from atoll.domain.tools.uri import FAMILIES, covers_path, family_of, is_pattern, path_of, paths_of
from atoll.domain.tools.watch import MAX_WATCHES, check_room


def _event(kind: str, payload: dict[str, Json]) -> Event:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return Event(
        EventId("ev"), 1, "s", 1, kind, 1, at, OrgId("acme"), "atm", "atoll", None, payload
    )


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("atoll://sandbox/sb_1", "sandbox/sb_1"),
        ("atoll://gitea/pr/*", "gitea/pr/*"),
        ("atoll://gha/run/acme/app/*", "gha/run/acme/app/*"),
    ],
)
def test_uri_of_a_family_is_read(uri: str, path: str) -> None:
    assert path_of(uri, "atoll") == path
    assert path_of(uri.replace("atoll", "openova"), "openova") == path


@pytest.mark.parametrize(
    "uri",
    [
        "sandbox/sb_1",
        "other://sandbox/sb_1",
        "atoll://sandbox",
        "atoll://sandbox/",
        "atoll://gitea/7",
        "atoll://sandbox/*/x",
        "atoll://sandbox//x",
        "atoll://sandbox/\x1b",
        "atoll://sandbox/" + "x" * 600,
    ],
)
def test_uri_of_nothing_is_refused(uri: str) -> None:
    with pytest.raises(Invalid) as refused:
        path_of(uri, "atoll")
    assert refused.value.field == "uri"


@pytest.mark.parametrize(
    ("watched", "path", "covered"),
    [
        ("sandbox/a", "sandbox/a", True),
        ("sandbox/a", "sandbox/ab", False),
        ("sandbox/*", "sandbox/a", True),
        ("gitea/pr/*", "gitea/pr/acme/app/7", True),
        ("gitea/pr/acme/app", "gitea/pr/acme/app/7", True),
        ("gitea/pr/*", "gha/run/acme/app/7", False),
        ("gitea/pr/acme/app/7", "gitea/pr/acme/app", False),
    ],
)
def test_watched_path_covers_what_is_below_it(watched: str, path: str, covered: bool) -> None:
    assert covers_path(watched, path) is covered
    assert is_pattern(watched) is watched.endswith("*")


@pytest.mark.parametrize(
    ("kind", "payload", "paths"),
    [
        ("sandbox.ready", {"sandbox_id": "sb_1"}, ("sandbox/sb_1",)),
        ("agent.status", {"sandbox_id": "sb_1", "id": "t_1"}, ("agent/sb_1/t_1",)),
        ("agent.installed", {"agent": "codex"}, ()),
        ("approval.asked", {"approval_id": "ap_1"}, ("approval/ap_1",)),
        ("preview.ready", {"preview_id": "pv_1"}, ("preview/pv_1",)),
        ("preview.linked", {"port": 1}, ()),
        ("gitea.pr.opened", {"path": "gitea/pr/acme/app/7"}, ("gitea/pr/acme/app/7",)),
        ("flux.failed", {"path": 3}, ()),
        ("vault.rotated", {}, ()),
    ],
)
def test_event_changes_what_it_is_about(
    kind: str, payload: dict[str, Json], paths: tuple[str, ...]
) -> None:
    assert paths_of(_event(kind, payload)) == paths


def test_session_watches_so_many_and_no_more() -> None:
    check_room(MAX_WATCHES - 1)
    with pytest.raises(LimitReached, match="watch a pattern"):
        check_room(MAX_WATCHES)


def test_every_family_has_events_that_change_it() -> None:
    """What can be watched and never changes is a promise that nobody keeps."""
    changed = {family_of(f"{family}/x") for family in FAMILIES}
    own = {kind.partition(".")[0] for kind in KINDS}
    outside = {name.replace(".", "/") for kind in KINDS for name in [kind.rpartition(".")[0]]}
    assert changed == set(FAMILIES) <= own | outside
    with pytest.raises(Invalid):
        path_of("atoll://deploy/one", "atoll")
