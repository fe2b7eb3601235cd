"""A shell over SSH is a terminal of its sandbox: others watch it, one drives it.

The client's own emulator shows it. Keys go to the runtime as from any other client of the terminal,
and where the runtime's connection breaks it goes on at the same byte. What a person has to know,
who drives and why keys do nothing, stands in the window's title.
"""

import asyncio
import secrets
from contextlib import suppress
from typing import Final

import asyncssh

from atoll.client.attach.attachment import (
    AttachState,
    Clear,
    InputWindow,
    Instruction,
    ProgramExit,
    Retitle,
    Send,
    TalkLine,
    TurnChange,
    Write,
)
from atoll.client.attach.keys import ControlKey
from atoll.client.attach.outgoing import FRAME_BYTES, Outgoing
from atoll.client.attach.screen import CLEAR, ScreenModes
from atoll.client.attach.turns import REQUEST, TurnView
from atoll.domain.errors import AtollError, NotFound, Unavailable
from atoll.domain.unseen import replace_unseen
from atoll.ports.runtime import Channel
from atoll.surfaces.ssh.login import Login
from atoll.wire.attach import InputRefused, InputTaken

SETTLE_SECONDS: Final = 0.15
RETRY_SECONDS: Final = 60.0
"""The time for which a terminal whose runtime does not answer is tried again."""

MAX_TITLE: Final = 200
PLAIN_SIZE: Final = (80, 24)
_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 2.0
_FINAL_CODES: Final = frozenset({1000, 4000, 4401, 4404, 4410})
_TURN_REASONS: Final = frozenset({"not_driver", "viewer", "agent_running"})


async def serve_terminal(
    process: "asyncssh.SSHServerProcess[bytes]",
    login: Login,
    terminal_id: str,
    *,
    signals: asyncio.Queue[str],
    fresh: bool,
) -> None:
    """Attach a client to a terminal until its program or the client ends. Its `signals` are typed
    as their keys. Raises `NotFound`."""
    if not terminal_id:
        raise NotFound("name a terminal: attach TERMINAL; `atoll ps` lists them")
    await _Attachment(process, login, terminal_id, fresh=fresh).serve(signals)


def size_of(process: "asyncssh.SSHServerProcess[bytes]") -> tuple[int, int]:
    """Return the columns and rows of a client's window; those of a plain one where it has none."""
    cols, rows, _, _ = process.term_size
    return (cols, rows) if cols and rows else PLAIN_SIZE


class _Attachment:
    """Client at a terminal, over as many connections to the runtime as it takes."""

    def __init__(
        self,
        process: "asyncssh.SSHServerProcess[bytes]",
        login: Login,
        terminal_id: str,
        *,
        fresh: bool,
    ) -> None:
        self._process = process
        self._login = login
        self._path = f"/sessions/{terminal_id}/attach"
        self._state = AttachState(f"ssh-{secrets.token_hex(8)}", fresh=fresh)
        self._modes = ScreenModes()
        self._outgoing = Outgoing()
        self._key = ControlKey()
        self._turn = TurnView()
        self._channel: Channel | None = None
        self._title = self._remark = self._shown = ""
        self._attached = asyncio.Event()
        self._output = asyncio.Event()
        self._end: ProgramExit | None = None
        self._size = size_of(process)

    async def serve(self, signals: asyncio.Queue[str]) -> None:
        """Serve it to the end, and end the session as the program ended."""
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._settle()),
                group.create_task(self._take_signals(signals)),
            ]
            typing = group.create_task(self._type())
            staying = group.create_task(self._stay())
            typing.add_done_callback(lambda _: staying.cancel())
            await asyncio.wait({staying})
            typing.cancel()
            for task in tasks:
                task.cancel()
        self._finish()

    def _finish(self) -> None:
        with suppress(OSError, asyncssh.Error):
            if self._end is None:
                # The program lives on, and its modes are those of a screen that others see.
                self._process.stdout.write(self._modes.restore())
                self._process.exit(0)
            elif self._end.signal is not None:
                self._process.exit_with_signal(self._end.signal.removeprefix("SIG"))
            else:
                self._process.exit(self._end.code or 0)

    async def _stay(self) -> None:
        """Stay attached; where the connection to the runtime breaks, begin a new one."""
        loop = asyncio.get_running_loop()
        pause, last = _FIRST_PAUSE, loop.time()
        while self._end is None:
            code, why = None, ""
            try:
                code = await self._converse()
                pause, last = _FIRST_PAUSE, loop.time()
            except Unavailable as error:
                why = error.message
            except AtollError as error:
                self._say(error.message)
                return
            if self._end is not None or code in _FINAL_CODES:
                return
            if loop.time() - last > RETRY_SECONDS:
                self._say(why or "the sandbox does not answer")
                return
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    async def _converse(self) -> int | None:
        """Serve one connection; returns the code it was closed with."""
        query = self._state.query(*self._size)
        async with self._login.channel(self._path, query, named=True) as channel:
            try:
                async for frame in channel:
                    if isinstance(frame, bytes):
                        await self._perform(self._state.on_bytes(frame))
                    else:
                        instructions = self._state.on_text(frame)
                        self._channel = channel
                        await self._perform(instructions)
                        self._attached.set()
                return channel.close_code
            finally:
                self._channel = None
                self._attached.clear()
                self._outgoing.end()

    async def _perform(self, instructions: list[Instruction]) -> None:
        for instruction in instructions:
            match instruction:
                case Write(data, counted):
                    await self._show(data, counted=counted)
                case Clear():
                    self._process.stdout.write(self._modes.restore() + CLEAR)
                case Send(text):
                    await self._send(text)
                case InputWindow() | InputTaken() | InputRefused():
                    self._count_input(instruction)
                case Retitle() | TurnChange() | TalkLine():
                    self._take_news(instruction)
                    await self._take_own_turn()
                case ProgramExit():
                    self._end = instruction

    async def _take_own_turn(self) -> None:
        """Ask for control where our own former connection, which broke, still has it."""
        turn = self._turn
        if turn.away and not turn.waits and turn.driver == self._login.admitted.name:
            await self._send(REQUEST)

    def _count_input(self, outcome: InputWindow | InputTaken | InputRefused) -> None:
        match outcome:
            case InputWindow(window):
                self._outgoing.begin(window)
            case InputTaken(total):
                self._outgoing.record_taken(total)
            case InputRefused(reason, message):
                turn = reason in _TURN_REASONS
                self._remark = self._turn.refusal(self._key.spelled) if turn else message
                self._process.stdout.write(b"\a")
                self._retitle()

    def _take_news(self, news: Retitle | TurnChange | TalkLine) -> None:
        match news:
            case Retitle(title):
                self._title = title
            case TurnChange(turn):
                self._remark = turn.newcomers(self._turn)
                self._turn = turn
            case TalkLine(line):
                self._remark = line
        self._retitle()

    async def _show(self, data: bytes, *, counted: bool) -> None:
        self._modes.feed(data)
        self._process.stdout.write(data)
        await self._process.stdout.drain()
        if counted:
            self._output.set()
            await self._perform(self._state.record_shown(len(data)))

    async def _settle(self) -> None:
        """Acknowledge what was shown once the output pauses."""
        while True:
            await self._output.wait()
            await asyncio.sleep(SETTLE_SECONDS)
            self._output.clear()
            await self._perform(self._state.settle())

    async def _type(self) -> None:
        """Send keys, sizes and signals, until the client is gone."""
        stdin = self._process.stdin
        with suppress(OSError, asyncssh.Error):
            while True:
                # What is typed meanwhile waits at the client.
                await self._attached.wait()
                try:
                    data = await stdin.read(FRAME_BYTES)
                except asyncssh.TerminalSizeChanged as change:
                    self._size = (max(2, change.width), max(1, change.height))
                    await self._send(self._state.resize(*self._size).text)
                    continue
                if not data:
                    break
                await self._take(data)
        # A client that sends no more may still read: the program goes on.
        await self._process.channel.wait_closed()

    async def _take_signals(self, signals: asyncio.Queue[str]) -> None:
        while True:
            if key := _KEYS.get(await signals.get()):
                await self._take(key)

    async def _take(self, data: bytes) -> None:
        frame = self._turn.control_frame() if self._key.matches(data) else None
        if frame is not None:
            await self._send(frame)
        elif not (await self._outgoing.reserve(len(data)) and await self._send(data)):
            self._process.stdout.write(b"\a")

    async def _send(self, frame: bytes | str) -> bool:
        channel = self._channel
        if channel is None:
            return False
        try:
            await channel.send(frame)
        except Unavailable:
            return False
        return True

    def _retitle(self) -> None:
        """Show in the title what a person has to know; only between two sequences of output."""
        sentence = self._turn.sentence(self._key.spelled)
        parts = (f"[{sentence}]" if sentence else "", self._remark, self._title)
        shown = replace_unseen(" ".join(part for part in parts if part), MAX_TITLE)
        if self._modes.at_rest and shown != self._shown:
            self._shown = shown
            self._process.stdout.write(b"\x1b]2;" + shown.encode() + b"\a")

    def _say(self, message: str) -> None:
        self._process.stderr.write(f"\r\natoll: {replace_unseen(message, 400)}\r\n".encode())


_KEYS: Final = {"INT": b"\x03", "QUIT": b"\x1c", "TSTP": b"\x1a"}
"""The key that a signal of the client stands for."""
