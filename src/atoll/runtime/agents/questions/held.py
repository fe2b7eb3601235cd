"""The hooks of one agent that wait for an answer, each beside its dialog.

A program inside reads a hook's question and passes the answer on (`domain.agents.held_hooks`). It
ends with the watch of its agent, and so does the wait of the hook.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import msgspec

from atoll.domain.agents.held_hooks import MAX_HELD, HeldQuestions, HoldPhase, HoldSign
from atoll.domain.agents.hooks import MEANINGS, HookMeaning
from atoll.domain.agents.lenient_json import Message
from atoll.domain.agents.terminal_question import TerminalQuestion
from atoll.domain.errors import AtollError
from atoll.ports.spawner import Spawner
from atoll.runtime.agents.lines import Lines, Program, run_program
from atoll.runtime.agents.questions.waiting import TerminalQuestions, late_answer
from atoll.runtime.agents.session import AgentSession
from atoll.wire.http.unreadable import UNREADABLE

log = logging.getLogger("atoll.runtime")

READ_SECONDS = 5.0
DELIVER_SECONDS = 5.0
"""The time in which a hook that waits takes its answer."""

_OVER = frozenset({
    HookMeaning.OPENS, HookMeaning.BEGINS, HookMeaning.ENDS, HookMeaning.FAILS, HookMeaning.STOPS,
})  # fmt: skip
"""After these no question of the turn before waits."""


@dataclass(slots=True)
class _Hold:
    """A hook that waits, the message it was given, and the answer to it."""

    task: asyncio.Task[None] | None = None
    message: Message = field(default_factory=dict)
    answer: asyncio.Future[TerminalQuestion] | None = None
    delivered: asyncio.Future[bool] | None = None


class HeldHooks:
    """The hooks that wait, by their names. `relay` names the program beside one."""

    def __init__(
        self,
        spawner: Spawner,
        relay: Callable[[str], Program],
        reader: HeldQuestions,
        *,
        questions: TerminalQuestions,
        session: asyncio.Future[AgentSession],
    ) -> None:
        self._spawner = spawner
        self._relay = relay
        self._reader = reader
        self._questions = questions
        self._session = session
        self._holds: dict[str, _Hold] = {}

    def signed(self, sign: HoldSign, group: asyncio.TaskGroup) -> None:
        """Take the sign of a hook; `group` runs what waits beside it. More hooks than may wait are
        answered at the terminal only."""
        match sign.phase:
            case HoldPhase.GONE:
                self._release(sign.name)
            case HoldPhase.HELD:  # pragma: no branch - the cases are all
                if sign.name not in self._holds and len(self._holds) < MAX_HELD:
                    hold = self._holds[sign.name] = _Hold()
                    hold.task = group.create_task(self._hold(sign.name, hold))
                    hold.task.add_done_callback(partial(self._forget, sign.name))

    def heard(self, event: str, line: str) -> None:
        """Release the hooks whose questions were answered at the terminal, as a line shows."""
        over = MEANINGS.get(event) in _OVER
        for name, hold in list(self._holds.items()):
            if over or (hold.message and self._reader.settles(hold.message, line)):
                self._release(name)

    def release(self) -> None:
        """Release every hook: nobody watches any more."""
        for name in list(self._holds):
            self._release(name)

    def _forget(self, name: str, _: asyncio.Task[None]) -> None:
        del self._holds[name]

    def _release(self, name: str) -> None:
        """End a hold. One that was answered from here ends by itself, once that has arrived."""
        hold = self._holds.get(name)
        if hold is None or hold.task is None or (hold.answer is not None and hold.answer.done()):
            return
        hold.task.cancel()

    async def _hold(self, name: str, hold: _Hold) -> None:
        """Pose the question of a hook until it is answered here or at the terminal."""
        try:
            async with run_program(self._spawner, self._relay(name), with_input=True) as relay:
                hold.message = await _read(relay)
                await self._pose(name, hold, relay)
        except AtollError as error:
            log.warning("a question is answered at the terminal only: %s", error.message)

    async def _pose(self, name: str, hold: _Hold, relay: Lines) -> None:
        question = self._reader.read(f"held:{name}", hold.message)
        if question is None:
            return
        loop, session = asyncio.get_running_loop(), await self._session
        hold.answer, hold.delivered = loop.create_future(), loop.create_future()
        session.heard(self._questions.pose(question, lambda given: _deliver(hold, given)))
        taken = False
        try:
            reply = self._reader.reply(hold.message, await hold.answer)
            taken = relay.write(msgspec.json.encode(reply) + b"\n") and await _took(relay)
        finally:
            hold.delivered.set_result(taken)
            if not taken:
                session.heard(self._questions.withdraw(question.id))


async def _deliver(hold: _Hold, question: TerminalQuestion) -> None:
    """Give a hook its answer. Raises `Conflict` for one that waits no longer."""
    if hold.answer is None or hold.delivered is None or hold.answer.done():
        raise late_answer()
    hold.answer.set_result(question)
    if not await hold.delivered:
        raise late_answer()


async def _read(relay: Lines) -> Message:
    """Return the message of a hook; an empty one where it is none."""
    with contextlib.suppress(TimeoutError, *UNREADABLE):
        async with asyncio.timeout(READ_SECONDS):
            async for line in relay.read_lines():
                message = msgspec.json.decode(line)
                return message if isinstance(message, dict) else {}
    return {}


async def _took(relay: Lines) -> bool:
    """Report whether the hook took the answer: its relay ends well then."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(DELIVER_SECONDS):
            return (await relay.process.wait()).code == 0
    return False
