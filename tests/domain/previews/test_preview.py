"""The states of a preview, and requests for one."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from atoll.domain.errors import Forbidden, Invalid
from atoll.domain.ids import PERSONAL_ORG, PrincipalId, SandboxId
from atoll.domain.previews.preview import (
    MAX_REASON,
    Build,
    BuildRefused,
    Preview,
    PreviewId,
    PreviewRemoved,
    PreviewRequest,
    SetupSeen,
    step,
)
from atoll.wire.words.previews import PreviewState
from atoll.wire.words.sandboxes import SetupState

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(seconds=1)
BUILDING = Preview(
    PreviewId("pv_1"),
    PERSONAL_ORG,
    PrincipalId("person"),
    SandboxId("sb_abc"),
    app="shop",
    port=3000,
    pr_number=None,
    sha="abcdef1",
    created_at=NOW,
    updated_at=NOW,
)
READY = replace(BUILDING, state=PreviewState.READY, terminal_id="t_1")


def test_name_is_the_ports_or_the_pull_requests() -> None:
    assert BUILDING.label == "3000-sb-abc"
    assert replace(BUILDING, pr_number=7).label == "pr-7.shop"


@pytest.mark.parametrize("state", [SetupState.NONE, SetupState.DONE])
def test_set_up_that_is_over_makes_it_ready(state: SetupState) -> None:
    after, kind = step(BUILDING, SetupSeen(state, "t_1"), LATER)
    assert (after.state, after.terminal_id, after.updated_at) == ("ready", "t_1", LATER)
    assert kind == "preview.ready"


@pytest.mark.parametrize("state", [SetupState.WAITING, SetupState.RUNNING])
def test_set_up_under_way_is_noted_without_an_event(state: SetupState) -> None:
    after, kind = step(BUILDING, SetupSeen(state, "t_1"), LATER)
    assert (after, kind) == (replace(BUILDING, terminal_id="t_1"), None)


def test_failed_set_up_fails_it_with_the_reason() -> None:
    after, kind = step(BUILDING, SetupSeen(SetupState.FAILED, "t_1", "exit code 1"), LATER)
    assert (after.state, after.reason, kind) == ("failed", "exit code 1", "preview.failed")
    after, _ = step(BUILDING, SetupSeen(SetupState.FAILED), LATER)
    assert after.reason == "The set-up failed."


def test_refused_build_fails_it_with_a_bounded_reason() -> None:
    after, kind = step(BUILDING, BuildRefused("x" * 1000), LATER)
    assert (after.state, len(after.reason or ""), kind) == ("failed", MAX_REASON, "preview.failed")


@pytest.mark.parametrize("stimulus", [BuildRefused("no"), SetupSeen(SetupState.FAILED)])
def test_preview_that_does_not_build_ignores_a_set_up(stimulus: BuildRefused | SetupSeen) -> None:
    assert step(READY, stimulus, LATER) == (READY, None)


def test_rebuild_begins_anew_and_keeps_the_commit_unless_given_one() -> None:
    after, kind = step(replace(READY, reason="x"), Build(), LATER)
    assert (after.state, after.reason, after.terminal_id) == ("building", None, None)
    assert (after.sha, kind) == ("abcdef1", "preview.building")
    assert step(READY, Build("1234567"), LATER)[0].sha == "1234567"


def test_teardown_happens_once_and_a_build_brings_it_back() -> None:
    gone, kind = step(READY, PreviewRemoved(), LATER)
    assert (gone.state, kind) == ("gone", "preview.gone")
    assert step(gone, PreviewRemoved(), LATER) == (gone, None)
    assert step(gone, Build(), LATER)[0].state == "building"


def test_request_is_for_the_same_app_port_and_pull_request() -> None:
    assert READY.shows(PreviewRequest("shop", 3000, sha="1234567"))
    assert not READY.shows(PreviewRequest("shop", 3000, pr_number=1))
    assert not READY.shows(PreviewRequest("shop", 3001))


@pytest.mark.parametrize("port", [8082, 3128, 7681])
def test_request_for_a_door_or_the_runtime_is_refused(port: int) -> None:
    with pytest.raises(Forbidden):
        PreviewRequest("shop", port)


@pytest.mark.parametrize(
    ("number", "sha"), [(0, None), (10**9, None), (None, "xyz"), (None, "abc"), (None, "A" * 7)]
)
def test_request_with_a_wrong_number_or_commit_is_refused(
    number: int | None, sha: str | None
) -> None:
    with pytest.raises(Invalid):
        PreviewRequest("shop", 3000, number, sha)
