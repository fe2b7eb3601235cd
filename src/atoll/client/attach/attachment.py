"""Client's side of the attach contract, as a pure state machine.

Frames go in, instructions come out (`docs/program/runtime-contract.md`, Attach). It knows which
byte comes next, so that a new connection goes on exactly where the last one broke.
"""

import base64
from dataclasses import dataclass
from typing import TypeAlias

from atoll.client.attach.turns import TurnView, read_turn
from atoll.domain.errors import Failed
from atoll.wire import attach as wire

ACK_EVERY_BYTES = 65536
_HARD_RESET = b"\x1bc"
MAX_TITLE = 200


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes for the screen. Those with `counted` have offsets and are acknowledged."""

    data: bytes
    counted: bool


@dataclass(frozen=True, slots=True)
class Clear:
    """The screen is about to be drawn anew: undo modes, start at the top."""


@dataclass(frozen=True, slots=True)
class Send:
    """A text frame for the server."""

    text: str


@dataclass(frozen=True, slots=True)
class Retitle:
    """The window's title, still as the sandbox wrote it."""

    title: str


@dataclass(frozen=True, slots=True)
class TurnChange:
    """A change of control: a client attached, left, requests control or drives; `turn` is the
    present state."""

    turn: TurnView


@dataclass(frozen=True, slots=True)
class TalkLine:
    """A line that a person at the terminal said just now, still as the server sent it."""

    line: str


@dataclass(frozen=True, slots=True)
class InputWindow:
    """The start of a connection: the number of bytes that may be in transit to the program; 0 sets
    no bound."""

    bytes: int


@dataclass(frozen=True, slots=True)
class ProgramExit:
    """The terminal's program ended, with a code or by a signal (`"TERM"` or a number)."""

    code: int | None
    signal: str | None


Input: TypeAlias = wire.InputRefused | InputWindow | wire.InputTaken
Instruction: TypeAlias = (
    Write | Clear | Send | Retitle | TurnChange | TalkLine | ProgramExit | Input
)


class AttachState:
    """The conversation with one terminal, over however many connections it takes."""

    def __init__(
        self, client: str, *, fresh: bool, read_only: bool = False, take: bool = False
    ) -> None:
        """Start a state for `client`, which stays the same over reconnects. `fresh` means nothing
        was ever on this terminal, so that there is nothing to draw anew. `take` wants control at
        once, on the first connection only: a reconnect must not take it from anybody."""
        self.client = client
        self._read_only = read_only
        self._take = take
        self._fresh = fresh
        self._next: int | None = None
        self._shown = 0
        self._acked = 0
        self._ack_every = ACK_EVERY_BYTES

    def query(self, cols: int, rows: int) -> tuple[tuple[str, str], ...]:
        """Return the query of the next connection."""
        since = () if self._next is None else (("since", str(self._next)),)
        size = (("cols", str(cols)), ("rows", str(rows)))
        only = (("read_only", "true"),) if self._read_only else ()
        take = (("take", "true"),) if self._take else ()
        return (("client", self.client), ("heartbeat", "true"), *size, *since, *only, *take)

    def on_bytes(self, data: bytes) -> list[Instruction]:
        """Handle a binary frame: output, counted from the current offset."""
        if self._next is None:
            raise Failed(
                "the server sent output before its start frame; "
                "the command line and the server may be of different versions"
            )
        self._next += len(data)
        return [Write(data, counted=True)]

    def on_text(self, text: str) -> list[Instruction]:
        """Handle a text frame. Kinds of a later version are skipped. Raises `Failed`."""
        try:
            return self._handle(wire.decode_server(text))
        except wire.UnknownKind:
            return []
        except ValueError as problem:
            message = f"the server sent a control frame that cannot be read: {problem}"
            raise Failed(message) from problem

    def _handle(self, frame: wire.ServerMessage) -> list[Instruction]:
        match frame:
            case wire.Start():
                return self._start(frame)
            case wire.Resync(to=to, preamble=preamble):
                return self._jump(preamble, to)
            case wire.Titled() | wire.ControlState() | wire.Talked():
                return self._news(frame)
            case wire.InputTaken() | wire.InputRefused():
                return [frame]
            case wire.Exited(code=code, signal=signal):
                return [ProgramExit(None if signal is not None else code or 0, signal)]
            case (
                wire.Sized()
                | wire.DriverChanged()
                | wire.Refused()
                | wire.ControlExpired()
                | wire.AgentStateChanged()
                | wire.Heartbeat()
                | wire.Recorded()
                | wire.Pointed()
            ):
                return []

    def _news(self, news: wire.Titled | wire.ControlState | wire.Talked) -> list[Instruction]:
        match news:
            case wire.Titled(title=title):
                return [Retitle(title[:MAX_TITLE])]
            case wire.ControlState():
                return [TurnChange(read_turn(news, self.client))]
            case wire.Talked():
                return _new_lines(news)

    def _start(self, frame: wire.Start) -> list[Instruction]:
        self._take = False
        self.client = frame.client or self.client
        self._ack_every = max(1024, min(ACK_EVERY_BYTES, frame.ack_every))
        out = [InputWindow(frame.input_window), *self._jump(frame.preamble, frame.offset)]
        return [*out, Retitle(frame.title[:MAX_TITLE])] if frame.title else out

    def _jump(self, packed: str, offset: int) -> list[Instruction]:
        preamble = base64.b64decode(packed, validate=True)
        resumed = self._next == offset and not preamble
        blank = self._fresh and self._next is None and offset == 0
        self._next = self._shown = self._acked = offset
        if resumed:
            return []
        # A hard reset would empty the scrollback of the person's own terminal: we clear
        # more gently and write the rest of the preamble.
        rest = preamble.removeprefix(_HARD_RESET)
        out: list[Instruction] = [] if blank else [Clear()]
        return [*out, Write(rest, counted=False)] if rest else out

    def record_shown(self, count: int) -> list[Instruction]:
        """Record that `count` bytes have reached the screen; acknowledges every half window."""
        self._shown += count
        return self.settle() if self._shown - self._acked >= self._ack_every // 2 else []

    def settle(self) -> list[Instruction]:
        """Acknowledge what is on the screen: nothing has come for a moment."""
        if self._shown == self._acked:
            return []
        self._acked = self._shown
        return [Send(wire.encode(wire.Ack(self._shown)))]

    @staticmethod
    def resize(cols: int, rows: int) -> Send:
        """Send our window's size; honoured while we drive."""
        return Send(wire.encode(wire.Resize(cols, rows)))


def _new_lines(talked: wire.Talked) -> list[Instruction]:
    """Return the line that was said just now; none of those from before this client came."""
    lines = talked.lines[-1:] if talked.by else ()
    return [TalkLine(f"{line.name}: {line.text}") for line in lines]
