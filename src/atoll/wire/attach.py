"""The text frames of a terminal's WebSocket, as messages (docs/program/runtime-contract.md,
Attach).

Binary frames are plain bytes and need no codec. Nothing here knows who drives.
"""

import base64
from typing import ClassVar, Final, get_args

import msgspec

from atoll.wire.http.unreadable import UNREADABLE

MAX_TEXT_BYTES = 4096
"""The longest text frame of a client; a longer one is refused, since no message needs it."""


class BadFrame(ValueError):
    """A frame that is no message. The text says what is wrong."""


class UnknownKind(BadFrame):
    """A frame of a kind that this version does not have."""


class Start(msgspec.Struct, tag_field="type", tag="start", frozen=True):
    """The first frame.

    The next binary byte has offset `offset`; `preamble` (base64) comes before it, uncounted.
    `input_window` is how many bytes a client may have sent beyond what `InputTaken` reported.
    Output before `live` is a replay: programs wrote it before this client came. `fixed` is
    `Sized`'s.
    """

    offset: int
    preamble: str
    cols: int
    rows: int
    client: str
    driver: str | None
    title: str
    ack_every: int
    input_window: int = 0
    live: int = 0
    fixed: bool = False


class Resync(msgspec.Struct, tag_field="type", tag="resync", frozen=True):
    """A gap: bytes `start`…`to` (`from` on the wire) are lost for this client."""

    start: int = msgspec.field(name="from")
    to: int
    preamble: str


class Sized(msgspec.Struct, tag_field="type", tag="size", frozen=True):
    """The present size of the PTY; `fixed`: no driver's window changes it."""

    cols: int
    rows: int
    fixed: bool = False


class DriverChanged(msgspec.Struct, tag_field="type", tag="driver", frozen=True):
    """The client that drives now."""

    client: str | None


class Titled(msgspec.Struct, tag_field="type", tag="title", frozen=True):
    """The window title, free of control characters."""

    title: str


class Exited(msgspec.Struct, tag_field="type", tag="exit", frozen=True, omit_defaults=True):
    """The end of the leader; exactly one of `code` and `signal` (a name, `"KILL"`) is set."""

    offset: int
    code: int | None = None
    signal: str | None = None


class Member(msgspec.Struct, frozen=True):
    """A client at a terminal, and its principal. `role` is `viewer`, `controller` or `owner`."""

    principal: str
    name: str
    client: str
    role: str


class ControlState(msgspec.Struct, tag_field="type", tag="control_state", frozen=True):
    """The driver, the clients that wait for control, and the clients present.

    `away`: the driver's connection is gone and its grace runs. `agent` is the agent that has
    control until it yields.
    """

    driver: Member | None
    epoch: int
    waiting: tuple[Member, ...]
    watchers: tuple[Member, ...]
    away: bool = False
    agent: str | None = None


class ControlExpired(msgspec.Struct, tag_field="type", tag="control_expired", frozen=True):
    """The loss of control by a driver: it typed nothing while others waited (`idle`), or its
    connection stayed away too long (`grace`)."""

    principal: str
    client: str
    reason: str


class AgentStateChanged(msgspec.Struct, tag_field="type", tag="agent_state", frozen=True):
    """The state of an agent here: `running`, `paused` or `stopped`.

    `turn` tells whether it works (`working`) or waits for its person (`waiting`). While it works
    typing is refused: to all but the owner where `softlock` is `owner`, to everybody where it is
    `strict`.
    """

    agent_state: str
    turn: str
    agent: str
    softlock: str = "owner"


class Recorded(msgspec.Struct, tag_field="type", tag="recording", frozen=True, omit_defaults=True):
    """The state of the recording: output here is kept on disk (`on`), or no longer.

    `by` names who requested it; `reason` tells why it ended.
    """

    on: bool
    recording_id: str
    by: str
    principal: str
    reason: str | None = None


class TalkLine(msgspec.Struct, frozen=True):
    """A line that a person at the terminal said; `number` counts them."""

    number: int
    principal: str
    name: str
    text: str


class Talked(msgspec.Struct, tag_field="type", tag="talk", frozen=True):
    """The newest lines of the people at the terminal, oldest first; `by` is the client that said
    the last one. They are free of control characters, and nothing stores them."""

    lines: tuple[TalkLine, ...]
    by: str = ""


class Pointer(msgspec.Struct, frozen=True, omit_defaults=True):
    """A pointer of a client and its selection, in cells: row and column, for a selection of
    its first cell and of the cell after its last. Rows count from the top of the screen; those
    scrolled back are negative."""

    client: str
    at: tuple[int, int] | None = None
    selected: tuple[int, int, int, int] | None = None


class Pointed(msgspec.Struct, tag_field="type", tag="pointers", frozen=True):
    """All pointers there are now, for clients that take part (`Point`)."""

    pointers: tuple[Pointer, ...]


class InputRefused(msgspec.Struct, tag_field="type", tag="input_refused", frozen=True):
    """A frame of input that was dropped: none of it reached the program."""

    reason: str
    message: str


class InputTaken(msgspec.Struct, tag_field="type", tag="input_taken", frozen=True):
    """The count of bytes of this connection that went to the program or were refused."""

    bytes: int


HEARTBEAT_SECONDS: Final = 2.0
"""The interval of heartbeats: a page reports silence within five seconds."""


class Heartbeat(msgspec.Struct, tag_field="type", tag="heartbeat", frozen=True, omit_defaults=True):
    """A sign that the connection is alive; sent to a client that requested it.

    The next one follows after `every_ms`; a runtime of an older release does not say it.
    """

    every_ms: int = 5_000


class Refused(msgspec.Struct, tag_field="type", tag="error", frozen=True):
    """The refusal of a frame; the connection stays."""

    code: str
    message: str


class Ack(msgspec.Struct, tag_field="type", tag="ack", frozen=True, forbid_unknown_fields=True):
    """An acknowledgement: everything before `offset` is on the client's screen."""

    offset: int


class Resize(
    msgspec.Struct, tag_field="type", tag="resize", frozen=True, forbid_unknown_fields=True
):
    """A request for this size."""

    cols: int
    rows: int


class RequestControl(
    msgspec.Struct, tag_field="type", tag="request_control", frozen=True, forbid_unknown_fields=True
):
    """A request to drive."""


class GrantControl(
    msgspec.Struct, tag_field="type", tag="grant_control", frozen=True, forbid_unknown_fields=True
):
    """A grant of control to a principal or client id; to who has waited longest when none is
    named."""

    to: str | None = None


class RevokeControl(
    msgspec.Struct, tag_field="type", tag="revoke_control", frozen=True, forbid_unknown_fields=True
):
    """The release of control by a driver, its withdrawal by an owner, or the end of a request."""


class Say(msgspec.Struct, tag_field="type", tag="say", frozen=True, forbid_unknown_fields=True):
    """A line for everybody at the terminal."""

    text: str


class Point(
    msgspec.Struct,
    tag_field="type",
    tag="point",
    frozen=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
):
    """The client's own pointer and selection, as in `Pointer`; whoever sends one takes part, until
    `off`."""

    at: tuple[int, int] | None = None
    selected: tuple[int, int, int, int] | None = None
    off: bool = False


ServerMessage = (
    Start
    | Resync
    | Sized
    | DriverChanged
    | Titled
    | Exited
    | Refused
    | ControlState
    | ControlExpired
    | AgentStateChanged
    | InputRefused
    | InputTaken
    | Heartbeat
    | Recorded
    | Talked
    | Pointed
)
_KINDS = frozenset(kind.__struct_config__.tag for kind in get_args(ServerMessage))
ClientMessage = Ack | Resize | RequestControl | GrantControl | RevokeControl | Say | Point


class _Tagged(msgspec.Struct):
    """The kind of a message."""

    type: str


class _Codec:
    """msgspec's reusable coders."""

    encoder: ClassVar[msgspec.json.Encoder] = msgspec.json.Encoder()
    server: ClassVar[msgspec.json.Decoder[ServerMessage]] = msgspec.json.Decoder(ServerMessage)
    tagged: ClassVar[msgspec.json.Decoder[_Tagged]] = msgspec.json.Decoder(_Tagged)
    client: ClassVar[msgspec.json.Decoder[ClientMessage]] = msgspec.json.Decoder(ClientMessage)


def encode(message: ServerMessage | ClientMessage) -> str:
    """Return a message as the text of one frame."""
    return _Codec.encoder.encode(message).decode("utf-8")


def decode_client(text: str) -> ClientMessage:
    """Return a client's message. Raises `BadFrame`."""
    if len(text) > MAX_TEXT_BYTES:
        raise BadFrame(f"a text frame may have {MAX_TEXT_BYTES} characters, this one {len(text)}")
    try:
        return _Codec.client.decode(text)
    except UNREADABLE as error:
        raise BadFrame(f"a text frame must be a message of this protocol: {error}") from error


def decode_server(text: str) -> ServerMessage:
    """Return the server's message, for clients written in Python. Raises `BadFrame`, which is an
    `UnknownKind` where a later version has sent it."""
    try:
        kind = _Codec.tagged.decode(text).type
        message = _Codec.server.decode(text) if kind in _KINDS else None
    except UNREADABLE as error:
        raise BadFrame(f"not a message of the attach protocol: {error}") from error
    if message is None:
        raise UnknownKind(f"not a message of the attach protocol as of this version: {kind[:80]!r}")
    return message


def pack(preamble: bytes) -> str:
    """Return bytes as the text of a `preamble` field."""
    return base64.b64encode(preamble).decode("ascii")
