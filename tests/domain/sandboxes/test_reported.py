"""Agents as their runtime reported them, in the light of their sandbox."""

from dataclasses import replace
from datetime import timedelta

import pytest

from atoll.domain.agents.resumable import RunningAgent
from atoll.domain.event import Event, Json, sandbox_stream
from atoll.domain.ids import EventId, OrgId
from atoll.domain.sandboxes.reported import (
    AGENTS,
    MAX_REPORTED_AGENTS,
    MAX_TEXT,
    ReportedAgent,
    agents_in,
    present_agents,
    read_agents,
    read_status,
    urgency,
)
from atoll.testing.samples import NOW, sandbox
from atoll.wire.contract.agents import StatusKind, StatusRecord
from atoll.wire.words.sandboxes import State

AT = "2026-01-01T00:00:00.000Z"
ENTRY: dict[str, Json] = {
    "id": "t_1",
    "agent": "codex",
    "mode": "tui",
    "status": "working",
    "since": AT,
}
HERE = sandbox("one")


def agent(name: str, status: StatusKind = "working", since: str = AT) -> ReportedAgent:
    return ReportedAgent(name, "codex", "tui", StatusRecord(status, since))


def test_entry_is_read_as_the_status_of_its_agent() -> None:
    assert read_status("agent.status", ENTRY, AT) == agent("t_1")
    assert read_status("agent.started", ENTRY, AT) == agent("t_1", "idle")
    assert read_status("agent.tool", ENTRY, AT) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": "../x"},
        {"id": 7},
        {"status": "sings"},
        {"on": "x" * (MAX_TEXT + 1)},
        {"question": None},
        {"options": [{"id": 1}]},
        {"turns": "many"},
        {"mode": "m" * 17},
    ],
)
def test_entry_that_does_not_fit_is_ignored(wrong: dict[str, object]) -> None:
    assert read_status("agent.status", {**ENTRY, **wrong}, AT) is None


def test_agents_that_need_their_person_longest_come_first() -> None:
    reported = [
        agent("t_1"),
        agent("t_2", "needs_you", "2026-01-01T00:00:09.000Z"),
        agent("t_3", "failed"),
        agent("t_4", "needs_you"),
    ]
    assert [one.id for one in present_agents(HERE, reported)] == ["t_4", "t_2", "t_3", "t_1"]
    assert sorted(reported, key=lambda one: urgency(one.status))[0].id == "t_4"


def test_running_agent_without_a_report_is_idle() -> None:
    here = replace(HERE, agents=(RunningAgent("g_1", "codex", "machine"),))
    (found,) = present_agents(here, ())
    assert (found.id, found.status.status) == ("g_1", "idle")


@pytest.mark.parametrize(
    ("state", "reason", "expected"),
    [
        (State.ACTIVE, None, ("working", "")),
        (State.STOPPED, None, ("stopped", "Its sandbox is stopped.")),
        (State.EXPIRED, "idle for 12h", ("stopped", "idle for 12h")),
        (State.FAILED, "runtime lost", ("failed", "runtime lost")),
        (State.DESTROYING, None, ("stopped", "Its sandbox is destroying.")),
    ],
)
def test_agent_of_a_sandbox_that_does_not_run_works_no_more(
    state: State, reason: str | None, expected: tuple[str, str]
) -> None:
    ended = replace(HERE, state=state, reason=reason, updated_at=NOW + timedelta(seconds=1))
    (found,) = present_agents(ended, [agent("t_1")])
    assert (found.status.status, found.status.reason) == expected


@pytest.mark.parametrize("status", ["needs_you", "done", "idle"])
def test_agent_of_a_sandbox_that_sleeps_goes_on_from_where_it_was(status: StatusKind) -> None:
    asleep = replace(HERE, state=State.STOPPED, asleep_since=NOW)
    before = agent("t_1", status)
    assert present_agents(asleep, [before]) == (before,)


def event(position: int, kind: str, payload: dict[str, Json]) -> Event:
    stream = sandbox_stream(HERE.id)
    return Event(
        EventId(f"ev_{position}"), position, stream, position, kind, 1, NOW, OrgId("personal"),
        "atm", "atoll", None, payload,
    )  # fmt: skip


def test_log_makes_the_agents_of_a_sandbox_until_it_ends() -> None:
    told = [
        event(1, "agent.status", {**ENTRY, "id": "t_1"}),
        event(2, "agent.status", {**ENTRY, "id": "t_2"}),
        event(3, "agent.status", {**ENTRY, "id": "../x"}),
        event(4, "agent.status", {**ENTRY, "id": "t_1", "status": "done"}),
    ]
    state = AGENTS.after(None, told)
    assert state is not None
    assert [(one.id, one.status.status) for one in read_agents(state.body)] == [
        ("t_2", "working"),
        ("t_1", "done"),
    ]
    found = agents_in(HERE, {sandbox_stream(HERE.id): state})
    assert [one.id for one in found] == ["t_1", "t_2"]
    assert agents_in(HERE, {}) == ()
    ended = AGENTS.after(state, [event(5, "sandbox.destroyed", {})])
    assert ended is not None and read_agents(ended.body) == []


def test_agents_that_changed_longest_ago_give_way() -> None:
    many = MAX_REPORTED_AGENTS + 1
    told = [event(at, "agent.status", {**ENTRY, "id": f"t_{at}"}) for at in range(1, many + 1)]
    state = AGENTS.after(None, told)
    assert state is not None
    assert [one.id for one in read_agents(state.body)] == [f"t_{at}" for at in range(2, many + 1)]
