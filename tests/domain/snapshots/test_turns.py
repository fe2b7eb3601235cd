"""Turns after which a snapshot is taken."""

from dataclasses import replace
from datetime import timedelta

import pytest

from atoll.domain.errors import Conflict
from atoll.domain.ids import SnapshotId
from atoll.domain.sandboxes.reported import ReportedAgent
from atoll.domain.snapshots.snapshot import check_runs, snapshot_of
from atoll.domain.snapshots.turns import (
    TURN_STILL_MS,
    AgentTurn,
    count_turns,
    find_ended_turn,
    find_last_turn,
)
from atoll.testing import samples
from atoll.testing.samples import NOW
from atoll.wire.contract.agents import StatusRecord
from atoll.wire.words.sandboxes import DiskPromise, State

EARLIER = (NOW - timedelta(minutes=5)).isoformat()


def agent(name: str, turns: int, since: str = EARLIER) -> ReportedAgent:
    return ReportedAgent(name, "codex", "tui", StatusRecord("done", since, turns=turns))


def test_no_turn_ended_while_the_counts_are_the_same() -> None:
    agents = [agent("t_one", 3), agent("t_two", 0)]
    assert find_ended_turn(agents, count_turns(agents)) is None
    assert find_ended_turn([], {"t_one": 3}) is None


def test_ended_turn_is_that_of_the_agent_that_changed_last() -> None:
    before = {"t_one": 3}
    assert find_ended_turn([agent("t_one", 4)], before) == AgentTurn("codex", "t_one", 4)
    both = [agent("t_one", 5), agent("t_two", 1)]
    assert find_ended_turn(both, before) == AgentTurn("codex", "t_two", 1)
    other = [agent("t_two", 1), agent("t_one", 3)]
    assert find_ended_turn(other, before) == AgentTurn("codex", "t_two", 1)


def test_agent_that_began_anew_ends_a_turn_when_it_has_one() -> None:
    assert find_ended_turn([agent("t_one", 0)], {"t_one": 3}) is None
    assert find_ended_turn([agent("t_one", 1)], {"t_one": 3}) == AgentTurn("codex", "t_one", 1)


def test_last_turn_is_the_latest_and_never_one_to_come() -> None:
    assert find_last_turn([agent("t_one", 0)], NOW) is None
    later = (NOW - timedelta(minutes=1)).isoformat()
    agents = [agent("t_one", 2, later), agent("t_two", 1), agent("t_three", 0, NOW.isoformat())]
    at = NOW - timedelta(minutes=1)
    assert find_last_turn(agents, NOW) == (AgentTurn("codex", "t_one", 2), at)


@pytest.mark.parametrize("since", ["2999-01-01T00:00:00Z", "2999-01-01", "no time", ""])
def test_time_that_cannot_be_is_now(since: str) -> None:
    found = find_last_turn([agent("t_one", 1, since)], NOW)
    assert found == (AgentTurn("codex", "t_one", 1), NOW)


@pytest.mark.parametrize("state", [state for state in State if state not in ("ready", "active")])
def test_turn_is_kept_only_while_its_sandbox_runs(state: State) -> None:
    sandbox = samples.sandbox("box")
    check_runs(replace(sandbox, state=State.READY))
    with pytest.raises(Conflict):
        check_runs(replace(sandbox, state=state))


def test_only_for_a_turn_nobody_waits_for_longer_than_its_bound() -> None:
    source = replace(samples.sandbox("box"), state=State.STOPPED, ready_at=NOW)
    plain = snapshot_of(
        source, snapshot_id=SnapshotId("snap_a"), name=None, disk=DiskPromise.QUIESCED, now=NOW
    )
    assert plain.longest_still_ms is None
    turn = AgentTurn("codex", "t_one", 1)
    assert replace(plain, turn=turn).longest_still_ms == TURN_STILL_MS
