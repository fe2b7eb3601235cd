"""A command whose three streams are one WebSocket: `WS /execs/pipe`, in frames.

The client's first frame is a `PipeBody`; `ProgramStart` or `PipeFailure` answers it. Binary frames
then carry bytes of a `Stream`, named by their first byte. Text frames are the messages below. At
most a window of stdin may be on its way, and `InputTaken` gives more of it: so a signal, or the end
of a client, is noticed however little the program reads.
"""

from enum import IntEnum
from typing import Final, Literal

import msgspec

from atoll.wire.contract.call import RequestBody
from atoll.wire.contract.terminals import End

PATH: Final = "/execs/pipe"
MAX_FRAME_BYTES: Final = 1024 * 1024
"""The largest frame a runtime reads, the first one included."""

PIECE_BYTES: Final = 256 * 1024
"""The most bytes of a stream that either side sends in one frame."""

SIGNALS: Final = frozenset(
    (
        *("ABRT", "ALRM", "CONT", "FPE", "HUP", "ILL", "INT", "KILL"),
        *("PIPE", "QUIT", "SEGV", "STOP", "TERM", "USR1", "USR2"),
    )
)
"""The signals that a client may send: those of RFC 4254 §6.10, and STOP and CONT."""


class Stream(IntEnum):
    """The streams of a program, by the first byte of a binary frame."""

    STDIN = 0
    STDOUT = 1
    STDERR = 2


class PipeBody(RequestBody):
    """The first frame: one of `argv`, `shell` for a line, and `tool` for a mode of init's own that
    works on files. `cwd`, `env`, `clean_env` are as for `POST /execs`, and none of a tool's; the
    journal names the `actor`. A tool's output is never rewritten. What holds a secret is not sent,
    unless `secrets` allows it."""

    argv: list[str] | None = None
    shell: str | None = None
    tool: list[str] | None = None
    cwd: str | None = None
    env: dict[str, str] = msgspec.field(default_factory=dict)
    clean_env: bool = False
    actor: str | None = None
    secrets: Literal["refuse", "allow"] = "refuse"


class InputEnd(msgspec.Struct, frozen=True, tag="eof"):
    """Client: nothing more comes for stdin."""


class InputSignal(msgspec.Struct, frozen=True, tag="signal"):
    """Client: a signal to the program's process group, one of `SIGNALS`."""

    signal: str


class ProgramStart(msgspec.Struct, frozen=True, tag="started"):
    """Server: the program runs. `window` bytes of stdin may be on their way."""

    exec_id: str
    window: int


class ErrorDetail(msgspec.Struct, frozen=True, omit_defaults=True):
    """An error as a problem document has it."""

    status: int
    code: str
    message: str
    field: str | None = None


class PipeFailure(msgspec.Struct, frozen=True, tag="error"):
    """Server: the last message of a pipe that was refused or broken off."""

    error: ErrorDetail


class OutputEnd(msgspec.Struct, frozen=True, tag="eof"):
    """Server: nothing more comes of this stream."""

    stream: Literal["stdout", "stderr"]


class InputTaken(msgspec.Struct, frozen=True, tag="taken"):
    """Server: so many more bytes of stdin were taken, and as many more may be sent."""

    bytes: int


class ProgramExit(msgspec.Struct, frozen=True, tag="exit"):
    """Server: the program's end, the last message."""

    exit: End


ClientMessage = InputEnd | InputSignal
ServerMessage = ProgramStart | PipeFailure | OutputEnd | InputTaken | ProgramExit

_encoder = msgspec.json.Encoder()
_bodies = msgspec.json.Decoder(PipeBody)
_client_messages: msgspec.json.Decoder[ClientMessage] = msgspec.json.Decoder(ClientMessage)
_server_messages: msgspec.json.Decoder[ServerMessage] = msgspec.json.Decoder(ServerMessage)


def encode(message: PipeBody | ClientMessage | ServerMessage) -> str:
    """Return a message as a text frame."""
    return _encoder.encode(message).decode()


def decode_body(text: str) -> PipeBody:
    """Read the first frame. Raises one of `wire.http.unreadable.UNREADABLE`."""
    return _bodies.decode(text)


def decode_client(text: str) -> ClientMessage:
    """Read a client's text frame. Raises one of `wire.http.unreadable.UNREADABLE`."""
    return _client_messages.decode(text)


def decode_server(text: str) -> ServerMessage:
    """Read a server's text frame. Raises one of `wire.http.unreadable.UNREADABLE`."""
    return _server_messages.decode(text)


def encode_bytes(stream: Stream, data: bytes | memoryview) -> bytes:
    """Return bytes of a stream as a binary frame."""
    return b"".join((_FIRST[stream], data))


_FIRST = [bytes([stream]) for stream in Stream]
