"""A person at a terminal: keys go in, output comes out, over as many connections as it takes.

The asynchronous shell around `attachment`: it performs its instructions on the tty and
the connection. When the line breaks it keeps the screen as it is, says so in a corner,
and goes on at the same byte once the server is back.
"""

import asyncio
import random
import signal
from collections.abc import Awaitable, Callable

from atoll.client.attach.attachment import (
    AttachState,
    Clear,
    Input,
    InputWindow,
    Instruction,
    ProgramExit,
    Retitle,
    Send,
    TalkLine,
    TurnChange,
    Write,
)
from atoll.client.attach.keys import ControlKey, DetachKeys
from atoll.client.attach.outgoing import FRAME_BYTES, Outgoing
from atoll.client.attach.turns import TurnView
from atoll.client.server import Server
from atoll.domain.errors import AtollError, Unavailable
from atoll.surfaces.cli.attach.connection import (
    ConnectionEnd,
    TerminalConnection,
    TerminalTarget,
    connect,
)
from atoll.surfaces.cli.attach.ending import (
    ConnectionLoss,
    Detachment,
    Ending,
    ProgramEnd,
    SignalEnd,
    loss_of,
)
from atoll.surfaces.cli.attach.painter import Painter
from atoll.surfaces.cli.attach.rawtty import RawTty
from atoll.surfaces.cli.attach.talk import TalkEntry
from atoll.surfaces.cli.console.exits import CONFLICT, NOT_FOUND, exit_code
from atoll.surfaces.cli.console.output import clean
from atoll.wire.attach import InputRefused, InputTaken

FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 4.0
QUIET_SECONDS = 0.15
MAX_REMARK = 80
AHEAD_BYTES = 64 * 1024
_LOST = "connection lost, reconnecting"
_STUCK = "the program reads no input: what you type is dropped"
_ENDING_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)

FindEndReason = Callable[[], Awaitable[str]]
"""Returns why the sandbox no longer runs; an empty string while it runs."""


class AttachClient:
    """Client of an attach session, from the first connection to the detach, the exit or the end."""

    def __init__(
        self,
        target: TerminalTarget,
        tty: RawTty,
        attachment: AttachState,
        *,
        key: ControlKey | None = None,
    ) -> None:
        self._target = target
        self._tty = tty
        self._attachment = attachment
        self._connection: TerminalConnection | None = None
        self._ending: asyncio.Future[Ending] | None = None
        self._output = asyncio.Event()
        self._notice = ""
        self._key = key or ControlKey()
        self._turn = TurnView()
        self._title = self._remark = ""
        self._talk = TalkEntry()
        self._ahead: bytearray | None = bytearray()
        self._outgoing = Outgoing()
        self._painter = Painter(tty, self._record_painted)

    async def run(
        self, locate: Callable[[], Server], keys: DetachKeys, *, find_end_reason: FindEndReason
    ) -> Ending:
        """Run until it is over. Leaves the raw mode to the caller's `with`."""
        loop = asyncio.get_running_loop()
        self._ending = loop.create_future()
        self._handle_signals(loop)
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(self._type(keys)),
                    group.create_task(self._stay(locate, find_end_reason)),
                    group.create_task(self._acknowledge()),
                    group.create_task(self._painter.run()),
                ]
                ending = await self._ending
                for task in tasks:
                    task.cancel()
        finally:
            loop.remove_reader(self._tty.input)
        return ending

    @property
    def lost_bytes(self) -> int:
        """Number of typed and pasted bytes that reached no program."""
        return self._outgoing.lost

    def _end(self, ending: Ending) -> None:
        if self._ending is not None and not self._ending.done():
            self._ending.set_result(ending)

    def _handle_signals(self, loop: asyncio.AbstractEventLoop) -> None:
        for number in _ENDING_SIGNALS:
            loop.add_signal_handler(number, self._end, SignalEnd(number))
        self._resized = asyncio.Event()
        loop.add_signal_handler(signal.SIGWINCH, self._resized.set)
        loop.add_signal_handler(signal.SIGCONT, self._resume_tty)

    def _resume_tty(self) -> None:
        self._tty.enter_raw()
        self._resized.set()

    async def _type(self, keys: DetachKeys) -> None:
        """Send typed keys on the driver's connection; with no connection refuse them with a
        bell."""
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        while True:
            ready.clear()
            loop.add_reader(self._tty.input, ready.set)
            await ready.wait()
            # Not watched while we send: a full line holds the keys back in the tty.
            loop.remove_reader(self._tty.input)
            data = self._tty.read()
            typed = keys.feed(data)
            if typed.forward and not await self._own_key(typed.forward):
                await self._forward(typed.forward)
            if typed.detach or not data:
                if (frame := self._turn.leaving_frame()) is not None:
                    await self._send(frame)
                self._end(Detachment())
                return

    async def _own_key(self, typed: bytes) -> bool:
        """Handle keys that are not the program's: the control key, and a line for the others."""
        if self._talk.open:
            frame = self._talk.feed(typed)
            if frame is not None:
                await self._send(frame)
            await self._show_talk()
            return True
        if self._turn.others and self._talk.open_on(typed):
            await self._show_talk()
            return True
        return await self._control_key(typed)

    async def _show_talk(self) -> None:
        """Show the line that is typed for the others in the corner, until it is sent."""
        if not self._talk.open:
            await self._hide_notice()
            return
        await self._painter.wait_drained()
        if self._tty.screen.at_rest and not self._is_over:
            self._notice = f" {self._talk.shown} "
            await asyncio.to_thread(self._tty.write, self._corner(self._notice, b"\x1b[7m"))

    async def _control_key(self, typed: bytes) -> bool:
        """Handle the control key, pressed by itself where it means something."""
        frame = self._turn.control_frame() if self._key.matches(typed) else None
        return frame is not None and await self._send(frame)

    async def _forward(self, keys: bytes) -> None:
        """Send keys to the terminal, as far as the program takes them. Keys typed before the first
        connection wait for it."""
        sent = 0
        if self._ahead is not None:
            sent = min(len(keys), AHEAD_BYTES - len(self._ahead))
            self._ahead += keys[:sent]
        else:
            while sent < len(keys):
                piece = keys[sent : sent + FRAME_BYTES]
                if not (await self._outgoing.reserve(len(piece)) and await self._send(piece)):
                    break
                sent += len(piece)
        if sent < len(keys):
            await self._drop(len(keys) - sent)

    async def _drop(self, count: int) -> None:
        """Report dropped bytes: a bell, and why."""
        self._outgoing.record_dropped(count)
        await asyncio.to_thread(self._tty.write, b"\a")
        if self._outgoing.stuck:
            await self._show_notice(_STUCK)

    async def _send(self, frame: bytes | str) -> bool:
        connection = self._connection
        return connection is not None and await connection.send(frame)

    async def _acknowledge(self) -> None:
        """Acknowledge what is shown once the output pauses, and send each new window size."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._acknowledge_pauses())
            group.create_task(self._send_sizes())

    async def _acknowledge_pauses(self) -> None:
        while True:
            await self._output.wait()
            await asyncio.sleep(QUIET_SECONDS)
            self._output.clear()
            await self._perform(self._attachment.settle())

    async def _send_sizes(self) -> None:
        while True:
            await self._resized.wait()
            self._resized.clear()
            await self._send(self._attachment.resize(*self._tty.size).text)

    async def _stay(self, locate: Callable[[], Server], find_end_reason: FindEndReason) -> None:
        """Stay connected; when the line breaks, retry with growing pauses."""
        pause = FIRST_PAUSE_SECONDS
        while True:
            try:
                end, spoke = await self._converse(locate)
            except AtollError as error:
                # Looked up each time: while the server restarts, its address is not known.
                end, spoke = ConnectionEnd(), False
                if not isinstance(error, Unavailable):
                    self._end(ConnectionLoss(error.message, exit_code(error)))
            if (loss := loss_of(end, self._target)) is not None:
                # Trying again cannot help.
                self._end(loss)
            if end.status or end.code:
                await self._ask(find_end_reason)
            if end.status == 404:
                # The sandbox is there, so it is the terminal that is not.
                self._end(ConnectionLoss(f"the terminal of {self._target.name} is gone", NOT_FOUND))
            await self._show_notice(_LOST)
            pause = FIRST_PAUSE_SECONDS if spoke else min(pause * 2, LONGEST_PAUSE_SECONDS)
            await asyncio.sleep(pause * random.uniform(0.7, 1.3))  # noqa: S311 (spreads clients)

    async def _converse(self, locate: Callable[[], Server]) -> tuple[ConnectionEnd, bool]:
        """Serve one connection. Returns how it ended, and whether the server sent anything on
        it."""
        spoke = False
        query = self._attachment.query(*self._tty.size)
        async with connect(locate, self._target, query) as connection:
            if isinstance(connection, ConnectionEnd):
                return connection, False
            try:
                while not isinstance(frame := await connection.receive(), ConnectionEnd):
                    await self._take(frame, connection)
                    spoke = True
                return frame, spoke
            finally:
                self._connection = None
                self._outgoing.end()

    async def _take(self, frame: bytes | str, connection: TerminalConnection) -> None:
        if isinstance(frame, bytes):
            await self._perform(self._attachment.on_bytes(frame))
            return
        # A text frame speaks of the screen as it is after the output before it.
        await self._painter.wait_drained()
        instructions = self._attachment.on_text(frame)
        if self._connection is None:
            # Only now: what is typed before the server's first frame could be lost.
            self._connection = connection
            await self._hide_notice()
        await self._perform(instructions)
        if self._ahead is not None:
            ahead, self._ahead = bytes(self._ahead), None
            await self._forward(ahead)

    async def _perform(self, instructions: list[Instruction]) -> None:
        for instruction in instructions:
            match instruction:
                case Write(data, counted):
                    await self._painter.put(data, counted=counted)
                case Clear():
                    await self._painter.wait_drained()
                    await asyncio.to_thread(self._tty.clear)
                case Send(text):
                    await self._send(text)
                case InputRefused() | InputWindow() | InputTaken():
                    await self._handle_input(instruction)
                case Retitle() | TurnChange() | TalkLine():
                    await self._show(instruction)
                case ProgramExit(code, number):
                    self._end(ProgramEnd(code, number))

    async def _record_painted(self, count: int) -> None:
        self._output.set()
        await self._perform(self._attachment.record_shown(count))

    async def _handle_input(self, outcome: Input) -> None:
        """Handle what became of the input."""
        match outcome:
            case InputWindow(window):
                self._outgoing.begin(window)
            case InputTaken(total):
                stuck = self._outgoing.stuck
                self._outgoing.record_taken(total)
                if stuck:
                    await self._hide_notice()
            case InputRefused(reason, message):
                await self._deny(reason, message)

    async def _show(self, news: Retitle | TurnChange | TalkLine) -> None:
        match news:
            case TalkLine(line):
                self._remark = line[:MAX_REMARK]
                await self._retitle()
            case Retitle(title):
                self._title = title
                await self._retitle()
            case TurnChange(turn):
                await self._take_turn(turn)

    async def _take_turn(self, turn: TurnView) -> None:
        """Show in the title who came and who drives, and clear the corner."""
        self._remark = turn.newcomers(self._turn)
        began = turn.drives and not self._turn.drives
        self._turn = turn
        await self._retitle()
        if began:
            await self._hide_notice()

    async def _deny(self, reason: str, message: str) -> None:
        """Ring the bell and show why: keys that do nothing look like a broken connection."""
        await self._painter.wait_drained()
        await asyncio.to_thread(self._tty.write, b"\a")
        turn = reason in {"not_driver", "viewer", "agent_running"}
        await self._show_notice(self._turn.refusal(self._key.spelled) if turn else message)

    async def _retitle(self) -> None:
        await self._painter.wait_drained()
        if self._tty.screen.at_rest:
            sentence = self._turn.sentence(self._key.spelled)
            parts = (f"[{sentence}]" if sentence else "", self._remark, self._title)
            shown = clean(" ".join(part for part in parts if part)).encode()
            await asyncio.to_thread(self._tty.write, b"\x1b]2;" + shown + b"\a")

    async def _ask(self, find_end_reason: FindEndReason) -> None:
        if self._ending is None or self._ending.done():
            return
        reason = await find_end_reason()
        if reason:
            self._end(ConnectionLoss(reason, CONFLICT))

    async def _show_notice(self, text: str) -> None:
        """Show a text in the upper right corner and the title. It goes only between sequences, so
        that the bytes to come keep their meaning."""
        await self._painter.wait_drained()
        if self._notice or not self._tty.screen.at_rest or self._is_over:
            return
        self._notice = f" atoll: {text} "
        await asyncio.to_thread(self._tty.write, self._corner(self._notice, b"\x1b[7m"))

    async def _hide_notice(self) -> None:
        """Blank the corner, and make programs that own the screen paint it again."""
        if not self._notice:
            return
        await self._painter.wait_drained()
        blank, self._notice = " " * len(clean(self._notice)), ""
        await asyncio.to_thread(self._tty.write, self._corner(blank, b""))
        cols, rows = self._tty.size
        await self._send(self._attachment.resize(cols, max(2, rows - 1)).text)
        await self._send(self._attachment.resize(cols, rows).text)

    @property
    def _is_over(self) -> bool:
        return self._ending is None or self._ending.done()

    def _corner(self, text: str, style: bytes) -> bytes:
        cols, _rows = self._tty.size
        shown = clean(text)[: max(0, cols - 1)].encode()
        return b"\x1b7\x1b[1;%dH\x1b[0m%b%b\x1b[0m\x1b8" % (cols - len(shown) + 1, style, shown)
