"""Sandboxes that sleep when nobody uses them, and wake when somebody does."""

from dataclasses import replace
from datetime import timedelta

import pytest

from atoll.domain.errors import Conflict
from atoll.domain.people.principal import LOCAL_PERSON, SYSTEM, Principal, TokenAccess
from atoll.domain.sandboxes.farewell import farewell
from atoll.domain.sandboxes.instruction import Append, Provision, Teardown
from atoll.domain.sandboxes.lifecycle import step
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.sandboxes.steps.sleep import check_may_wake
from atoll.domain.sandboxes.stimulus import (
    Archive,
    Broke,
    Due,
    Idle,
    Reached,
    Recreate,
    Sleep,
    Start,
    Stimulus,
    Stop,
    WakeUp,
)
from atoll.testing.samples import NOW, sandbox
from atoll.wire.words.sandboxes import IdleAction, State, WakePolicy

HERE = sandbox("one")
LATER = NOW + timedelta(minutes=5)
ASLEEP = replace(HERE, state=State.STOPPED, asleep_since=NOW)
WAKING = replace(ASLEEP, state=State.PROVISIONING)


def idling(action: IdleAction) -> Sandbox:
    """Return a running sandbox of a profile whose idleness brings this."""
    ttl = replace(HERE.profile.ttl, idle_stop_seconds=60)
    return replace(HERE, profile=replace(HERE.profile, ttl=ttl, idle_action=action))


def test_sleeping_sandbox_is_stopped_and_keeps_its_files() -> None:
    asleep, instructions = step(HERE, Sleep(), LATER)
    assert (asleep.state, asleep.asleep_since, asleep.reason) == (State.STOPPED, LATER, None)
    assert asleep.asleep and not asleep.waking
    assert instructions == (
        Append("sandbox.stopped", None, {"asleep": True}),
        Teardown(1, keep_state=True),
    )
    assert step(asleep, Sleep(), LATER) == (asleep, ())


@pytest.mark.parametrize("state", [State.REQUESTED, State.PROVISIONING, State.FAILED])
def test_only_a_running_sandbox_falls_asleep(state: State) -> None:
    with pytest.raises(Conflict, match="cannot be put to sleep"):
        step(replace(HERE, state=state), Sleep(), LATER)
    with pytest.raises(Conflict, match="cannot be put to sleep"):
        step(replace(HERE, state=State.STOPPED), Sleep(), LATER)


@pytest.mark.parametrize(
    ("action", "state", "asleep"),
    [
        (IdleAction.REAP, State.EXPIRED, False),
        (IdleAction.STOP, State.STOPPED, False),
        (IdleAction.SLEEP, State.STOPPED, True),
    ],
)
def test_idleness_ends_as_the_profile_says(action: IdleAction, state: State, asleep: bool) -> None:
    ended, _ = step(idling(action), Idle(60, 60), LATER)
    assert (ended.state, ended.asleep) == (state, asleep)
    assert ended.reason == "Nobody used it for 1m."


def test_access_wakes_it_once() -> None:
    waking, instructions = step(ASLEEP, WakeUp(), LATER)
    assert waking.waking and not waking.asleep
    assert instructions == (Append("sandbox.provisioning", "woken"), Provision(1))
    assert step(waking, WakeUp(), LATER) == (waking, ())
    assert step(HERE, WakeUp(), LATER) == (HERE, ())


@pytest.mark.parametrize("state", [State.STOPPED, State.EXPIRED, State.DESTROYED])
def test_access_starts_nothing_that_does_not_sleep(state: State) -> None:
    here = replace(HERE, state=state)
    assert step(here, WakeUp(), LATER) == (here, ())


def test_woken_sandbox_sleeps_no_more() -> None:
    ready, _ = step(WAKING, Reached(1, HERE.attachment), LATER)
    assert (ready.state, ready.asleep_since) == (State.READY, None)


@pytest.mark.parametrize(
    ("stimulus", "state"),
    [
        (Stop(), State.STOPPED),
        (Archive(), State.STOPPED),
        (Recreate(), State.PROVISIONING),
        (Due(), State.EXPIRED),
    ],
)
def test_other_acts_end_its_sleep(stimulus: Stimulus, state: State) -> None:
    after, _ = step(ASLEEP, stimulus, HERE.expires_at)
    assert (after.state, after.asleep_since) == (state, None)


def test_wake_that_failed_is_tried_again_with_its_screens() -> None:
    failed, _ = step(WAKING, Broke(1, "no room"), LATER)
    assert (failed.state, failed.asleep_since) == (State.FAILED, NOW)
    again, _ = step(replace(failed, ready_at=NOW), Start(), LATER)
    assert again.waking


def test_start_of_a_sleeping_sandbox_wakes_it() -> None:
    waking, instructions = step(ASLEEP, Start(), LATER)
    assert waking.waking
    assert instructions[0] == Append("sandbox.provisioning", "woken")


def test_time_to_live_of_a_sleeping_sandbox_runs_on() -> None:
    waking, _ = step(ASLEEP, WakeUp(), LATER)
    assert waking.expires_at == HERE.expires_at


def test_people_at_a_terminal_are_told_how_it_wakes() -> None:
    told = farewell(ASLEEP)
    assert told.reason == f"the sandbox sleeps: `atoll attach {HERE.name}` wakes it"
    assert told.guest_reason.startswith("This sandbox sleeps.")


BY_TOKEN = replace(LOCAL_PERSON, token=TokenAccess("", LATER))


@pytest.mark.parametrize(
    ("policy", "caller", "may"),
    [
        (WakePolicy.ACCESS, LOCAL_PERSON, True),
        (WakePolicy.ACCESS, SYSTEM, True),
        (WakePolicy.PERSON, LOCAL_PERSON, True),
        (WakePolicy.PERSON, SYSTEM, False),
        (WakePolicy.PERSON, BY_TOKEN, False),
        (WakePolicy.NEVER, LOCAL_PERSON, False),
    ],
)
def test_profile_says_who_wakes_it(policy: WakePolicy, caller: Principal, may: bool) -> None:
    here = replace(ASLEEP, profile=replace(HERE.profile, wake=policy))
    if may:
        check_may_wake(caller, here)
        return
    with pytest.raises(Conflict, match=f"atoll start {HERE.name}") as refused:
        check_may_wake(caller, here)
    assert refused.value.code == "asleep"
