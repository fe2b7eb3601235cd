"""Questions of an agent that only its keyboard answers: read from its screen, answered by typing.

Looks only after the agent's hooks have said that it asks, and no more often than a share of the
processor allows. Before a key is typed, the same menu must be on the screen; afterwards it must
go. Whoever answers first wins: an answer to what is not there is typed nowhere.
"""

import asyncio
import contextlib
from dataclasses import dataclass

from atoll.domain.agents.card import CardState, Draft
from atoll.domain.agents.hooks import MEANINGS, HookMeaning, HookReport
from atoll.domain.agents.screen_question import ScreenQuestion, read_answer, read_screen
from atoll.domain.agents.terminal_question import TerminalQuestion
from atoll.domain.errors import Conflict, Invalid
from atoll.domain.terminals.size import Size
from atoll.runtime.agents.questions.waiting import TerminalQuestions, late_answer
from atoll.runtime.agents.session import AgentSession
from atoll.runtime.clock import Alarm
from atoll.runtime.terminals.observer import Author
from atoll.runtime.terminals.pty_process import PtyProcess
from atoll.wire.attach import Exited
from atoll.wire.terminal.query import is_reply
from atoll.wire.terminal.screen_rows import ScreenRows

LOOK_SECONDS = 0.25
"""The least time between two looks."""
LOOK_SHARE = 20
"""A look is followed by a rest that is so many times longer."""
STEADY_SECONDS = 0.15
"""A menu is read twice, so long apart: it may be half drawn."""
REST_SECONDS = 5.0
"""The time after other work of the agent in which a menu may still appear."""
HANDS_OFF_SECONDS = 2.0
"""After a person's key nothing is typed for so long."""
DRAW_SECONDS = 1.5
SETTLE_SECONDS = 5.0
"""The time in which a question that was answered goes from the screen."""
MAX_DRAWN_BYTES = 256 * 1024
ENTER = b"\r"

_OVER = frozenset({
    HookMeaning.OPENS, HookMeaning.BEGINS, HookMeaning.ENDS, HookMeaning.FAILS, HookMeaning.STOPS,
})  # fmt: skip


@dataclass(slots=True)
class _Menu:
    id: str
    question: ScreenQuestion
    gone: asyncio.Event
    delivering: bool = False


class ScreenQuestions:
    """The question on one agent's screen. Satisfies `Observer`."""

    def __init__(
        self, questions: TerminalQuestions, session: asyncio.Future[AgentSession], author: Author
    ) -> None:
        self._questions = questions
        self._session = session
        self._author = author
        self._loop = asyncio.get_running_loop()
        self._pty: PtyProcess | None = None
        self._asking = False
        self._rest_at: float | None = None
        self._menu: _Menu | None = None
        self._candidate: ScreenQuestion | None = None
        self._count = 0
        self._next_look = 0.0
        self._typed_at = -HANDS_OFF_SECONDS
        self._drawn = asyncio.Event()
        self._alarm = Alarm(self._look)
        self._waits = False

    def watch(self, pty: PtyProcess) -> None:
        """Observe the agent's terminal from now on."""
        self._pty = pty
        pty.subscribe(self)

    def heard(self, report: HookReport) -> None:
        """Take what a hook says: the agent asks, works, or its turn is over."""
        if any(isinstance(each, Draft) and each.state is CardState.PENDING for each in report.said):
            self._asking, self._rest_at = True, None
        elif MEANINGS.get(report.event) in _OVER:
            self.release()
        elif self._asking:
            self._rest_at = self._loop.time() + REST_SECONDS
        self._look_soon()

    def release(self) -> None:
        """Withdraw the question and look no more."""
        self._asking, self._rest_at, self._candidate = False, None, None
        self._alarm.cancel()
        self._waits = False
        self._withdraw()

    def showed(self, data: bytes) -> None:
        """Look, if the agent asks."""
        del data
        if self._asking:
            self._drawn.set()
            self._look_soon()

    def typed(self, author: Author, data: bytes) -> None:
        """Note when a person types. An emulator's answer is no key."""
        if self._asking and author != self._author and not is_reply(data):
            self._typed_at = self._loop.time()

    def resized(self, size: Size) -> None:
        """Look, if the agent asks: it draws itself anew."""
        del size
        self._look_soon()

    def ended(self, ending: Exited) -> None:
        """Withdraw the question: nobody reads keys any more."""
        del ending
        self.release()

    def _look_soon(self, seconds: float = LOOK_SECONDS) -> None:
        if self._asking and not self._waits:
            self._waits = True
            self._alarm.set(max(self._loop.time() + seconds, self._next_look))

    def _look(self) -> None:
        """Pose the question that is on the screen now, and withdraw one that is not."""
        self._waits = False
        began = self._loop.time()
        present = self._read()
        now = self._loop.time()
        self._next_look = now + LOOK_SHARE * (now - began)
        if self._menu is not None:
            if self._menu.question.is_asked_in(present):
                return
            self._withdraw()
        if present is None and self._rest_at is not None and now > self._rest_at:
            self._asking = False
        elif present is not None and present == self._candidate:
            self._pose(present)
        elif present is not None:
            self._candidate = present
            self._look_soon(STEADY_SECONDS)

    def _read(self) -> ScreenQuestion | None:
        if self._pty is None or self._pty.ending is not None:
            return None
        size = self._pty.size
        screen = ScreenRows(size.cols, size.rows)
        screen.feed(self._pty.scrollback.screen(size.rows)[-MAX_DRAWN_BYTES:])
        return read_screen(screen.lines())

    def _pose(self, present: ScreenQuestion) -> None:
        if not self._session.done() or self._session.cancelled():
            return
        self._count += 1
        menu = self._menu = _Menu(f"screen:{self._count}", present, asyncio.Event())

        async def deliver(question: TerminalQuestion) -> None:
            await self._deliver(menu, question)

        self._session.result().heard(self._questions.pose(present.pose(menu.id), deliver))

    def _withdraw(self) -> None:
        menu, self._menu, self._candidate = self._menu, None, None
        if menu is None:
            return
        menu.gone.set()
        if not menu.delivering:
            self._session.result().heard(self._questions.withdraw(menu.id))

    async def _deliver(self, menu: _Menu, question: TerminalQuestion) -> None:
        """Type an answer; returns once the question has gone from the screen. Raises `Conflict`,
        and `Invalid` for words where the menu takes none."""
        if menu is not self._menu or menu.delivering:
            raise late_answer()
        key, words = menu.question.key_of(question), question.answers[0].words
        if not key or (words is not None and not read_answer(words)):
            raise Invalid("this question takes one of its options", field="option")
        self._check_screen(menu)
        menu.delivering = True
        try:
            self._type(key.encode())
            if words is not None:
                await self._write(menu, read_answer(words))
            async with asyncio.timeout(SETTLE_SECONDS):
                await menu.gone.wait()
        except TimeoutError:
            raise Conflict(
                "The answer was typed, and the question is still on the screen: look at the "
                "agent's terminal."
            ) from None
        finally:
            menu.delivering = False

    def _check_screen(self, menu: _Menu) -> None:
        """Raise `Conflict` unless exactly this question is on the screen now, and nobody types."""
        present = self._read()
        if present != menu.question:
            self._look_soon()
            if menu.question.is_asked_in(present):
                raise Conflict("Somebody answers it at the terminal now: nothing was typed.")
            raise Conflict(
                "The agent's screen shows something else now, so nothing was typed: look at its "
                "terminal.",
                code="not_pending",
            )
        if self._loop.time() < self._typed_at + HANDS_OFF_SECONDS:
            raise Conflict(
                "somebody types at the agent's terminal now, so nothing was typed: wait until "
                "that is done",
                code="draft",
            )

    async def _write(self, menu: _Menu, words: str) -> None:
        """Write words into the line that the menu has opened for them, and press Enter."""
        began = self._loop.time()
        await self._wait_until_drawn()
        for typed in (words.encode(), ENTER):
            if self._typed_at > began or not menu.question.is_asked_in(self._read()):
                raise Conflict(
                    "The menu did not take the words as expected: look at the agent's terminal."
                )
            self._type(typed)
            if typed is not ENTER:
                await self._wait_until_drawn()

    async def _wait_until_drawn(self) -> None:
        """Wait until the agent has drawn something, and is quiet for a moment."""
        self._drawn.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAW_SECONDS):
                await self._drawn.wait()
        await asyncio.sleep(LOOK_SECONDS)

    def _type(self, data: bytes) -> None:
        if self._pty is None or not self._pty.type(self._author, data):
            raise Conflict("the agent's terminal takes no input now", code="input_full")
