"""The lock opens within five seconds of the truth, also where nobody reports it. Time is virtual:
a loop whose clock a test turns."""

import asyncio
from collections.abc import Coroutine
from typing import Any, cast

import pytest
from msgspec.structs import replace

from atoll.domain.agents.card import Began, CardKind, CardState, Draft, Worked
from atoll.domain.errors import Conflict
from atoll.domain.terminals.size import Size
from atoll.domain.terminals.softlock import Work
from atoll.ports.spawner import Process
from atoll.runtime.agents.lock import AgentTerminal
from atoll.runtime.agents.neighbours import AgentChannel
from atoll.runtime.agents.session import AgentSession, SessionContext
from atoll.runtime.agents.status import AgentStatus, Identity
from atoll.runtime.agents.tui import TuiChannel
from atoll.runtime.terminals.observer import Author
from atoll.wire.attach import Exited

PERSON = Author("person", "person", "c1")


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop whose clock jumps to the next timer instead of waiting for it."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 1000.0

    def time(self) -> float:
        return self._now

    def _run_once(self) -> None:
        timers = self._scheduled  # type: ignore[attr-defined]
        due = [one.when() for one in timers if not one.cancelled()]
        if not self._ready and due:  # type: ignore[attr-defined]
            self._now = max(self._now, min(due))
        super()._run_once()  # type: ignore[misc]


def virtually(test: Coroutine[Any, Any, None]) -> None:
    loop = VirtualLoop()
    try:
        loop.run_until_complete(asyncio.wait_for(test, 3600))
    finally:
        loop.close()


class Desk:
    """An agent at a terminal, without either."""

    def __init__(self) -> None:
        status = AgentStatus(Identity("t_1", "codex", "tui", "2026-01-01T00:00:00Z"))
        self.entries: list[tuple[str, Any]] = []
        context = SessionContext(
            lambda kind, payload: self.entries.append((kind, payload)),
            lambda text: text,
            lambda *_: None,
            lambda _: None,
        )
        self.session = AgentSession(status, cast(Process, None), cast(AgentChannel, None), context)
        self.channel = TuiChannel(cast(Any, None), status)
        self.terminal = AgentTerminal(self.session, self.channel, None)

    @property
    def shut(self) -> bool:
        return self.session.lock.work is Work.WORKING

    @property
    def status(self) -> str:
        record = self.session.shown().status
        assert record is not None
        return record.status

    async def draws(self, seconds: float) -> None:
        for _ in range(int(seconds * 10)):
            self.terminal.showed(b".")
            await asyncio.sleep(0.1)


async def test_answer_of_an_emulator_is_no_draft() -> None:
    desk = Desk()
    for answer in (
        b"\x1bP>|xterm.js(6.1.0)\x1b\\",
        b"\x1b]11;rgb:ffff/fefe/fbfb\x1b\\",
        b"\x1b[?0u",
    ):
        desk.channel.typed(answer)
    desk.channel._check_line()
    desk.channel.typed(b"half a line")
    with pytest.raises(Conflict, match="not sent it"):
        desk.channel._check_line()


def test_end_that_is_never_reported_opens_the_lock() -> None:
    async def lost() -> None:
        desk = Desk()
        desk.session.reported([Began()])
        await desk.draws(30)
        assert desk.shut
        await asyncio.sleep(5)
        assert (desk.shut, desk.status) == (False, "done")
        desk.session.reported([Worked()])  # it was not over after all
        assert (desk.shut, desk.status) == (True, "working")

    virtually(lost())


@pytest.mark.parametrize("seconds", [0, 1, 10])
@pytest.mark.parametrize("key", [b"\x1b", b"\x03"])
def test_interrupt_that_no_hook_reports_opens_the_lock(key: bytes, seconds: float) -> None:
    async def interrupted() -> None:
        desk = Desk()
        desk.session.reported([Began()])
        await desk.draws(seconds)
        desk.terminal.typed(PERSON, key)
        await asyncio.sleep(5)
        assert (desk.shut, desk.status) == (False, "idle")

    virtually(interrupted())


def test_agent_that_reports_nothing_works_by_its_output_and_keeps_its_terminal_open() -> None:
    async def unreported() -> None:
        desk = Desk()
        await desk.draws(3)
        assert (desk.shut, desk.status) == (False, "working")
        await asyncio.sleep(6)
        assert desk.status == "idle"
        # What a person types is echoed, and a new size is drawn.
        for _ in range(30):
            desk.terminal.typed(PERSON, b"x")
            desk.terminal.showed(b"x")
            await asyncio.sleep(0.2)
        desk.terminal.resized(Size(80, 24))
        desk.terminal.showed(b"x" * 2000)
        assert desk.status == "idle"
        assert [told["status"] for kind, told in desk.entries if kind == "agent.status"] == [
            "working",
            "idle",
        ]

    virtually(unreported())


def test_agent_that_works_silently_keeps_its_lock() -> None:
    async def silent() -> None:
        desk = Desk()
        desk.session.reported([Began()])
        desk.terminal.showed(b"working")
        await asyncio.sleep(600)
        assert (desk.shut, desk.status) == (True, "working")

    virtually(silent())


FAILED = Draft("turn:1", CardKind.TURN, CardState.FAILED)
RUNNING = replace(FAILED, state=CardState.RUNNING)


@pytest.mark.parametrize("late", [True, False])
def test_end_that_only_the_record_of_the_agent_names_opens_the_lock(late: bool) -> None:
    # Codex runs no hook at the end of a turn that its provider refuses.
    async def refused() -> None:
        desk = Desk()
        if not late:
            desk.session.reported([Began()])
        desk.terminal.showed(b"Working")
        desk.session.heard([RUNNING], turns=False)
        desk.session.heard([FAILED], turns=False)
        if late:
            desk.session.reported([Began()])
        await asyncio.sleep(5)
        assert (desk.shut, desk.status) == (False, "failed")

    virtually(refused())


def test_end_of_the_turn_before_is_read_late_and_leaves_the_lock() -> None:
    async def late() -> None:
        desk = Desk()
        desk.session.reported([Began()])
        desk.session.heard([FAILED], turns=False)
        desk.session.heard([replace(RUNNING, id="turn:2")], turns=False)
        await asyncio.sleep(60)
        assert (desk.shut, desk.status) == (True, "working")
        desk.session.heard([replace(FAILED, id="turn:2")], turns=False)
        desk.session.reported([Worked()])  # that was no end
        await asyncio.sleep(60)
        assert (desk.shut, desk.status) == (True, "working")

    virtually(late())


def test_agent_whose_first_prompt_is_never_reported_is_idle_after_a_while() -> None:
    async def lost() -> None:
        desk = Desk()
        desk.session._status.reports_turns = True
        desk.session.prompted("Fix it")
        assert (desk.shut, desk.status) == (False, "working")
        await asyncio.sleep(61)
        assert (desk.shut, desk.status) == (False, "idle")

    virtually(lost())


def test_hook_outside_a_turn_opens_by_itself() -> None:
    async def outside() -> None:
        desk = Desk()
        desk.session.reported([Worked()])
        assert desk.shut
        await asyncio.sleep(5)
        assert not desk.shut

    virtually(outside())


def test_killed_agent_opens_at_once_and_says_so() -> None:
    async def killed() -> None:
        desk = Desk()
        desk.session.reported([Began()])
        await desk.draws(10)
        desk.terminal.ended(Exited(0, signal="KILL"))
        assert desk.session.lock.refusal is None
        assert desk.status == "failed"
        desk.session.reported([Began(), Worked()])  # its last reports come late
        assert desk.session.lock.refusal is None

    virtually(killed())


def test_prompt_whose_control_plane_died_leaves_no_lock_behind() -> None:
    # The runtime was asked to note a turn, and nothing more came of it.
    async def broken_off() -> None:
        desk = Desk()
        desk.session._status.reports_turns = True
        desk.session.take()
        assert desk.shut
        await asyncio.sleep(5)
        assert not desk.shut

    virtually(broken_off())


def test_paused_agent_is_not_taken_for_a_silent_one() -> None:
    async def paused() -> None:
        desk = Desk()
        desk.session.reported([Began()])
        await desk.draws(10)
        desk.session.lock.paused()
        await asyncio.sleep(60)
        desk.session.lock.resumed()
        assert desk.shut

    virtually(paused())
