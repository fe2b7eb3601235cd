"""Turns of an agent as two sources tell of them: its hooks, and what it writes down."""

import asyncio
from collections.abc import Callable
from typing import cast

import pytest
from msgspec.structs import replace

from atoll.domain.agents.card import Began, CardKind, CardState, Draft, Ended, Worked, Yielded
from atoll.ports.spawner import Process
from atoll.runtime.agents import turn_closing
from atoll.runtime.agents.file_acts import GATHER_SECONDS, FileActs
from atoll.runtime.agents.neighbours import AgentChannel
from atoll.runtime.agents.session import AgentSession, SessionContext
from atoll.runtime.agents.status import AgentStatus, Identity

BEFORE, START, LATER = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2999-01-01T00:00:00Z"
TURN = Draft("turn:1", CardKind.TURN, CardState.RUNNING, title="Mend it")
TEXT = Draft("text:1", CardKind.TEXT, CardState.DONE, text="mended")


@pytest.fixture
async def session(monkeypatch: pytest.MonkeyPatch) -> AgentSession:
    monkeypatch.setattr(turn_closing, "WRITING_SECONDS", 0.05)
    identity = Identity("t_1", "claude-code", "tui", START)
    nobody = cast(Process, None)
    context = SessionContext(
        lambda kind, payload: None, lambda text: text, lambda *_: None, lambda _: None
    )
    return AgentSession(AgentStatus(identity), nobody, cast(AgentChannel, None), context)


def states(session: AgentSession) -> list[str]:
    return [card.state for card in session.cards.all() if card.kind is CardKind.TURN]


async def closed(session: AgentSession) -> None:
    """Wait until it tells of the next change."""
    told = asyncio.Event()
    session.listeners.add(told.set)
    async with asyncio.timeout(10):
        await told.wait()
    session.listeners.clear()


async def test_end_of_the_turn_ends_its_card_after_what_is_still_written(
    session: AgentSession,
) -> None:
    session.heard([Began()])
    session.heard([TURN], turns=False)
    session.heard([Ended(CardState.FAILED)])
    session.heard([TEXT], turns=False)
    assert (states(session), session.lock.work) == (["running"], "waiting")
    await closed(session)
    assert (states(session), session._turns.waits) == (["failed"], False)


async def test_turn_written_down_after_its_end_ends_as_well(session: AgentSession) -> None:
    # Claude Code puts a conversation's first lines down in any order, and they are read late.
    session.heard([TURN], turns=False, at=BEFORE)
    session.heard([Began()])
    session.heard([replace(TURN, id="turn:2")], turns=False, at=BEFORE)
    await closed(session)
    assert states(session) == ["done", "done"]


async def test_end_that_is_written_down_stands(session: AgentSession) -> None:
    session.heard([TURN], turns=False)
    session.heard([Ended()])
    session.heard([replace(TURN, state=CardState.DECLINED)], turns=False)
    assert (states(session), session._turns.waits) == (["declined"], False)


async def test_prompt_read_before_its_hook_runs(session: AgentSession) -> None:
    session.heard([TURN], turns=False, at=LATER)
    assert (states(session), session._turns.waits) == (["running"], False)
    session.ended()
    assert states(session) == ["declined"]


async def test_tool_is_written_down_once_and_not_again_from_an_older_conversation() -> None:
    entries: list[tuple[str, object]] = []
    identity = Identity("t_1", "claude-code", "tui", START)
    ends: list[AgentSession] = []
    context = SessionContext(
        lambda kind, payload: entries.append((kind, payload)),
        lambda text: text,
        lambda *_: None,
        ends.append,
    )
    session = AgentSession(
        AgentStatus(identity), cast(Process, None), cast(AgentChannel, None), context
    )
    tool = Draft("call:1", CardKind.BASH, CardState.RUNNING, title="ls")
    session.heard([replace(tool, id="call:0")], turns=False, at=BEFORE)
    session.heard([tool, TEXT], turns=False, at=LATER)
    session.heard([replace(tool, state=CardState.DONE)], turns=False, at=LATER)
    expected = {"id": "t_1", "agent": "claude-code", "card": "call:1"}
    expected |= {"card_kind": CardKind.BASH}
    assert [one for one in entries if one[0] == "agent.tool"] == [("agent.tool", expected)]
    session.ended()
    assert ends == [session]


async def test_checkpoint_is_taken_where_a_turn_begins_and_not_where_it_goes_on() -> None:
    turns: list[tuple[str, str]] = []
    context = SessionContext(
        lambda kind, payload: None,
        lambda text: text,
        lambda *_: None,
        lambda _: None,
        lambda *turn: turns.append(turn),
    )
    status = AgentStatus(Identity("t_1", "claude-code", "tui", START))
    nobody = cast(Process, None)
    session = AgentSession(status, nobody, cast(AgentChannel, None), context)
    session.heard([Began(), Yielded(), Worked()])
    assert turns == [("t_1", "claude-code")]
    session.heard([Ended(), Began()])
    assert len(turns) == 2
    session.ended()


async def test_changes_are_counted_when_the_turn_ends_and_are_part_of_the_status() -> None:
    counts: list[Callable[[int, int, int], None]] = []
    context = SessionContext(
        lambda kind, payload: None,
        lambda text: text,
        lambda *_: None,
        lambda _: None,
        count=lambda _, counted: counts.append(counted),
    )
    status = AgentStatus(Identity("t_1", "claude-code", "tui", START))
    nobody = cast(Process, None)
    session = AgentSession(status, nobody, cast(AgentChannel, None), context)
    session.heard([Began()])
    assert not counts
    session.heard([Ended()])
    (counted,) = counts
    counted(2, 12, 3)
    shown = session.shown().status
    assert shown is not None
    assert (shown.commits, shown.plus, shown.minus) == (2, 12, 3)
    # Something else changed the files: a discard, a sync, a commit by hand.
    session.recount()
    counts[1](0, 0, 0)
    shown = session.shown().status
    assert shown is not None
    assert (shown.commits, shown.plus, shown.minus) == (0, 0, 0)
    # What it left is reviewed after its end.
    session.ended()
    session.recount()
    counts[2](1, 5, 0)
    shown = session.shown().status
    assert shown is not None
    assert (shown.status, shown.commits, shown.plus, shown.minus) == ("stopped", 1, 5, 0)


async def test_acts_of_a_moment_are_reported_once_and_none_after_the_end() -> None:
    acts, reports = FileActs(), asyncio.Event()
    acts.subscribe(reports.set)
    for _ in range(3):
        acts.note()
    async with asyncio.timeout(5):
        await reports.wait()
    reports.clear()
    acts.note()
    acts.close()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(2 * GATHER_SECONDS):
            await reports.wait()


async def test_agent_without_a_turn_that_ended_has_nothing_counted_anew() -> None:
    counts: list[object] = []
    context = SessionContext(
        lambda kind, payload: None,
        lambda text: text,
        lambda *_: None,
        lambda _: None,
        count=lambda *told: counts.append(told),
    )
    status = AgentStatus(Identity("t_1", "claude-code", "tui", START))
    session = AgentSession(status, cast(Process, None), cast(AgentChannel, None), context)
    session.recount()
    assert counts == []
    session.ended()
