"""Turns of an agent as two sources tell of them: its hooks, and what it writes down."""

from typing import cast

import pytest
from msgspec.structs import replace

from atoll.domain.terminal.card import Began, Draft, Ended, Kind, State
from atoll.ports.spawner import Process
from atoll.runtime.agents.driven import Driven, Identity

BEFORE, START, LATER = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2999-01-01T00:00:00Z"
TURN = Draft("turn:1", Kind.TURN, State.RUNNING, title="Mend it")


@pytest.fixture
async def driven() -> Driven:
    identity = Identity("t_1", "claude-code", "tui", START)
    nobody = cast(Process, None)
    return Driven(identity, nobody, record=lambda kind, payload: None, clean=lambda text: text)


def states(driven: Driven) -> list[str]:
    return [card.state for card in driven.cards.all()]


async def test_end_of_the_turn_ends_its_card_and_says_how(driven: Driven) -> None:
    driven.heard([Began()])
    driven.heard([TURN], turns=False, at=LATER)
    assert states(driven) == ["running"]
    driven.heard([Ended(State.FAILED)])
    assert (states(driven), driven.lock.work) == (["failed"], "waiting")


async def test_turn_written_down_after_its_end_never_runs(driven: Driven) -> None:
    # Claude Code puts a conversation's first lines down in any order, and they are read late.
    driven.heard([TURN], turns=False, at=BEFORE)
    driven.heard([Began()])
    driven.heard([replace(TURN, id="turn:2")], turns=False, at=BEFORE)
    assert states(driven) == ["done", "done"]


async def test_prompt_read_before_its_hook_runs(driven: Driven) -> None:
    driven.heard([TURN], turns=False, at=LATER)
    assert states(driven) == ["running"]
