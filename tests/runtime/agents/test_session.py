"""Turns of an agent as two sources tell of them: its hooks, and what it writes down."""

import asyncio
from typing import cast

import pytest
from msgspec.structs import replace

from atoll.domain.agent.card import Began, Draft, Ended, Kind, State
from atoll.ports.spawner import Process
from atoll.runtime.agents import session as subject
from atoll.runtime.agents.session import Driven, Identity

BEFORE, START, LATER = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2999-01-01T00:00:00Z"
TURN = Draft("turn:1", Kind.TURN, State.RUNNING, title="Mend it")
TEXT = Draft("text:1", Kind.TEXT, State.DONE, text="mended")


@pytest.fixture
async def driven(monkeypatch: pytest.MonkeyPatch) -> Driven:
    monkeypatch.setattr(subject, "WRITING_SECONDS", 0.05)
    identity = Identity("t_1", "claude-code", "tui", START)
    nobody = cast(Process, None)
    return Driven(identity, nobody, record=lambda kind, payload: None, clean=lambda text: text)


def states(driven: Driven) -> list[str]:
    return [card.state for card in driven.cards.all() if card.kind is Kind.TURN]


async def closed(driven: Driven) -> None:
    """Wait until it tells of the next change."""
    told = asyncio.Event()
    driven.listeners.add(told.set)
    async with asyncio.timeout(10):
        await told.wait()
    driven.listeners.clear()


async def test_end_of_the_turn_ends_its_card_after_what_is_still_written(driven: Driven) -> None:
    driven.heard([Began()])
    driven.heard([TURN], turns=False)
    driven.heard([Ended(State.FAILED)])
    driven.heard([TEXT], turns=False)
    assert (states(driven), driven.lock.work) == (["running"], "waiting")
    await closed(driven)
    assert (states(driven), driven._closing) == (["failed"], None)


async def test_turn_written_down_after_its_end_ends_as_well(driven: Driven) -> None:
    # Claude Code puts a conversation's first lines down in any order, and they are read late.
    driven.heard([TURN], turns=False, at=BEFORE)
    driven.heard([Began()])
    driven.heard([replace(TURN, id="turn:2")], turns=False, at=BEFORE)
    await closed(driven)
    assert states(driven) == ["done", "done"]


async def test_end_that_is_written_down_stands(driven: Driven) -> None:
    driven.heard([TURN], turns=False)
    driven.heard([Ended()])
    driven.heard([replace(TURN, state=State.DECLINED)], turns=False)
    assert (states(driven), driven._closing) == (["declined"], None)


async def test_prompt_read_before_its_hook_runs(driven: Driven) -> None:
    driven.heard([TURN], turns=False, at=LATER)
    assert (states(driven), driven._closing) == (["running"], None)
    driven.ended()
    assert states(driven) == ["declined"]


async def test_tool_is_written_down_once_and_not_again_from_an_older_conversation() -> None:
    entries: list[tuple[str, object]] = []
    identity = Identity("t_1", "claude-code", "tui", START)
    driven = Driven(
        identity,
        cast(Process, None),
        record=lambda kind, payload: entries.append((kind, payload)),
        clean=lambda text: text,
    )
    tool = Draft("call:1", Kind.BASH, State.RUNNING, title="ls")
    driven.heard([replace(tool, id="call:0")], turns=False, at=BEFORE)
    driven.heard([tool, TEXT], turns=False, at=LATER)
    driven.heard([replace(tool, state=State.DONE)], turns=False, at=LATER)
    expected = {"id": "t_1", "agent": "claude-code", "card": "call:1"}
    expected |= {"card_kind": Kind.BASH}
    assert [one for one in entries if one[0] == "agent.tool"] == [("agent.tool", expected)]
    driven.ended()
