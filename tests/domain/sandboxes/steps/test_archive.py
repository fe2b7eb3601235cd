"""Sandboxes that are put away, and taken up again."""

from dataclasses import replace
from datetime import timedelta

import pytest

from atoll.domain.errors import Conflict
from atoll.domain.sandboxes.instruction import Append, Provision, Teardown
from atoll.domain.sandboxes.lifecycle import step
from atoll.domain.sandboxes.lifetime import deadline
from atoll.domain.sandboxes.stimulus import Archive, Due, Recreate, Revive, Start
from atoll.testing.samples import NOW, sandbox
from atoll.wire.words.sandboxes import State

HERE = sandbox("one")
LATER = NOW + timedelta(days=400)
AWAY = replace(HERE, state=State.STOPPED, archived_at=NOW)


def test_running_sandbox_stops_when_it_is_archived() -> None:
    archived, instructions = step(HERE, Archive(), LATER)
    assert (archived.state, archived.archived_at) == (State.STOPPED, LATER)
    assert [type(one) for one in instructions] == [Append, Append, Teardown]
    assert instructions[-1] == Teardown(1, keep_state=True)


@pytest.mark.parametrize("state", [State.STOPPED, State.EXPIRED, State.FAILED])
def test_sandbox_at_rest_keeps_its_state(state: State) -> None:
    archived, instructions = step(replace(HERE, state=state), Archive(), LATER)
    assert (archived.state, archived.archived_at) == (state, LATER)
    assert [one.event_type for one in instructions if isinstance(one, Append)] == [
        "sandbox.archived"
    ]


@pytest.mark.parametrize("state", [State.REQUESTED, State.PROVISIONING, State.DESTROYING])
def test_sandbox_that_moves_is_not_archived(state: State) -> None:
    with pytest.raises(Conflict, match="cannot be archived"):
        step(replace(HERE, state=state), Archive(), LATER)


@pytest.mark.parametrize("state", [State.STOPPED, State.EXPIRED])
def test_time_of_an_archived_sandbox_stands_still(state: State) -> None:
    here = replace(AWAY, state=state, retained_until=NOW)
    assert deadline(here) is None
    assert step(here, Due(), LATER) == (here, ())


@pytest.mark.parametrize("state", [State.STOPPED, State.EXPIRED])
def test_revived_sandbox_starts_with_a_whole_time_to_live(state: State) -> None:
    here = replace(AWAY, state=state, retained_until=NOW)
    revived, instructions = step(here, Revive(), LATER)
    assert (revived.state, revived.archived_at) == (State.PROVISIONING, None)
    assert revived.expires_at == LATER + timedelta(seconds=HERE.ttl_seconds)
    assert instructions[-1] == Provision(1)
    told = [one for one in instructions if isinstance(one, Append)]
    assert [one.event_type for one in told] == ["sandbox.revived", "sandbox.provisioning"]


def test_sandbox_that_never_was_ready_is_kept_again() -> None:
    here = replace(AWAY, state=State.FAILED, ready_at=None)
    revived, instructions = step(here, Revive(), LATER)
    retention = timedelta(seconds=HERE.profile.ttl.retention_seconds)
    assert (revived.state, revived.retained_until) == (State.FAILED, LATER + retention)
    assert len(instructions) == 1


def test_archive_and_revival_that_were_made_change_nothing() -> None:
    assert step(AWAY, Archive(), LATER) == (AWAY, ())
    assert step(HERE, Revive(), LATER) == (HERE, ())


def test_archived_sandbox_is_revived_and_not_started() -> None:
    with pytest.raises(Conflict, match="atoll revive one") as refused:
        step(AWAY, Start(None), LATER)
    assert refused.value.code == "archived"


def test_recreated_sandbox_is_not_archived_any_more() -> None:
    recreated, _ = step(AWAY, Recreate(), LATER)
    assert recreated.archived_at is None
