"""Frames in the link's stream: init's packets, and what happens on channels.

A frame is `{u8 kind, u24 length, u32 channel}` (little-endian) and a payload. A channel stands for
one descriptor of the far side. The near end numbers the ones it makes from 1, the far end its own
from 2**31; no number is used twice. Each direction of a channel may carry `WINDOW_BYTES` before
CREDIT gives more back. A frame for a channel that is closed is ignored.
"""

import struct
from dataclasses import dataclass
from enum import IntEnum

MAX_FRAME_BYTES = 72 * 1024
MAX_DATA_BYTES = 32 * 1024
WINDOW_BYTES = 64 * 1024
FAR_CHANNELS = 2**31
"""The first channel that the far end numbers."""

MAX_FILE_BYTES = 32 * 1024
"""The most bytes of one READ or WRITE."""

HEAD_BYTES = 8
IPV6 = 1 << 16
"""The bit of a LISTENER's channel, and of ACCEPT, that says ::1; the low 16 bits are the port."""


class Kind(IntEnum):
    """The kinds of frames; who sends them, and their payload."""

    PACKET = 1
    """Both: a packet of init's with its descriptors (`encode_packet`). Channel 0."""
    DATA = 2
    """Both: bytes."""
    CREDIT = 3
    """Both: u32, how many more bytes the peer may send on this channel."""
    EOF = 4
    """Both: the sender sends no more bytes on this channel."""
    CLOSE = 5
    """Both: the channel is closed, at both sides."""
    SIZE = 6
    """Near: u16 columns, u16 rows of a terminal."""
    SIGNAL = 7
    """Near: u32, a signal for a terminal's foreground process group."""
    MODES = 8
    """Far: u8, bit 0 when the terminal reads lines without echo. Sent when it changed."""
    MEMORY = 9
    """Near: bytes appended to a memory file, which a later PACKET passes to init."""
    HANGUP = 10
    """Far: no process holds the terminal's other side for now."""
    READ = 11
    """Near: u64 offset, u32 length of a file; answered by ANSWER."""
    WRITE = 12
    """Near: bytes for the end of what was written to a file; answered by ANSWER."""
    STAT = 13
    """Near: no payload; answered by ANSWER with u32 mode, u64 size."""
    ANSWER = 14
    """Far: i32 errno, then the result; in the order of the requests of that channel."""
    ACCEPT = 15
    """Far: u32 door; a program inside connected to it, and this channel is its connection."""
    ADOPT = 16
    """Far, after a takeover: one running terminal (`encode_adopted`)."""
    END = 17
    """Near: end every process inside. Channel 0."""
    ENDED = 18
    """Far: init is gone; a reason as UTF-8 text. Channel 0. The far end exits."""


class Passed(IntEnum):
    """The kinds of descriptors beside a packet."""

    NULL = 0
    """/dev/null; channel 0."""
    INPUT = 1
    """A pipe that the program reads and the near end writes."""
    OUTPUT = 2
    """A pipe that the program writes and the near end reads."""
    SOCKET = 3
    """A stream socket, both ways."""
    MEMORY = 4
    """A memory file that MEMORY frames filled; its channel ends with the packet."""
    SLAVE = 5
    """The other side of a terminal's channel."""
    MASTER = 6
    """A terminal."""
    FILE = 7
    """An open file."""
    LISTENER = 8
    """A door; the channel holds its port, and `IPV6`."""


class Garbled(ValueError):
    """A frame outside this protocol."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Frame of the stream; `kind` is a number of `Kind`, or unknown."""

    kind: int
    channel: int
    payload: bytes = b""


@dataclass(frozen=True, slots=True)
class PassedDescriptor:
    """A descriptor beside a packet, by the channel that stands for it."""

    kind: Passed
    channel: int = 0


@dataclass(frozen=True, slots=True)
class Adopted:
    """A terminal that runs on after a takeover: the tag of its program's EXEC, its pid inside."""

    tag: int
    pid: int
    cols: int
    rows: int


_HEAD = struct.Struct("<I I")
_PASSED = struct.Struct("<BI")
_ADOPTED = struct.Struct("<IiHH")
_SIZE = struct.Struct("<HH")
_READ = struct.Struct("<QI")
_STAT = struct.Struct("<IQ")
_ANSWER = struct.Struct("<i")


def encode_frame(kind: Kind, channel: int, payload: bytes = b"") -> bytes:
    """Return the bytes of one frame."""
    return _HEAD.pack(kind | len(payload) << 8, channel) + payload


class FrameParser:
    """Frames out of a stream's bytes, however they are cut."""

    def __init__(self) -> None:
        self._partial = bytearray()

    def feed(self, data: bytes) -> list[Frame]:
        """Return the frames that are complete now. Raises `Garbled` for one that is too long."""
        self._partial += data
        found = []
        at, have = 0, len(self._partial)
        while have - at >= HEAD_BYTES:
            word, channel = _HEAD.unpack_from(self._partial, at)
            length = word >> 8
            if length > MAX_FRAME_BYTES:
                raise Garbled(f"a frame of {length} bytes is longer than {MAX_FRAME_BYTES}")
            end = at + HEAD_BYTES + length
            if end > have:
                break
            found.append(Frame(word & 0xFF, channel, bytes(self._partial[at + HEAD_BYTES : end])))
            at = end
        del self._partial[:at]
        return found


def encode_packet(packet: bytes, passed: tuple[PassedDescriptor, ...]) -> bytes:
    """Return the frame of a packet of init's and what stands for its descriptors."""
    head = bytes((len(passed),)) + b"".join(_PASSED.pack(one.kind, one.channel) for one in passed)
    return encode_frame(Kind.PACKET, 0, head + packet)


def decode_packet(payload: bytes) -> tuple[bytes, tuple[PassedDescriptor, ...]]:
    """Return the packet of a PACKET frame and its descriptors. Raises `Garbled`."""
    try:
        count = payload[0]
        end = 1 + count * _PASSED.size
        if end > len(payload):
            raise Garbled("a packet's descriptors are cut short")
        passed = tuple(
            PassedDescriptor(Passed(kind), channel)
            for kind, channel in _PASSED.iter_unpack(payload[1:end])
        )
    except (IndexError, ValueError) as error:
        raise Garbled(f"a packet is malformed: {error}") from error
    return payload[end:], passed


def encode_credit(channel: int, count: int) -> bytes:
    """Return the frame that allows `count` more bytes."""
    return encode_frame(Kind.CREDIT, channel, count.to_bytes(4, "little"))


def encode_size(channel: int, cols: int, rows: int) -> bytes:
    """Return the frame that sets a terminal's size."""
    return encode_frame(Kind.SIZE, channel, _SIZE.pack(cols, rows))


def encode_read(channel: int, offset: int, length: int) -> bytes:
    """Return the request for a part of a file."""
    return encode_frame(Kind.READ, channel, _READ.pack(offset, length))


def encode_answer(channel: int, number: int, result: bytes = b"") -> bytes:
    """Return the answer to a request for a file: an errno, and the result where it is 0."""
    return encode_frame(Kind.ANSWER, channel, _ANSWER.pack(number) + result)


def encode_stat(channel: int, mode: int, size: int) -> bytes:
    """Return the answer to STAT."""
    return encode_answer(channel, 0, _STAT.pack(mode, size))


def encode_adopted(channel: int, terminal: Adopted) -> bytes:
    """Return the frame that names a terminal that runs on."""
    body = _ADOPTED.pack(terminal.tag, terminal.pid, terminal.cols, terminal.rows)
    return encode_frame(Kind.ADOPT, channel, body)


def decode_number(payload: bytes) -> int:
    """Return the u32 of CREDIT, SIGNAL or ACCEPT. Raises `Garbled`."""
    if len(payload) != 4:
        raise Garbled("a number of another length")
    return int.from_bytes(payload, "little")


def decode_size(payload: bytes) -> tuple[int, int]:
    """Return columns and rows. Raises `Garbled`."""
    cols, rows = _unpack(_SIZE, payload)
    return cols, rows


def decode_read(payload: bytes) -> tuple[int, int]:
    """Return offset and length. Raises `Garbled` when more is asked for than one answer holds."""
    offset, length = _unpack(_READ, payload)
    if length > MAX_FILE_BYTES:
        raise Garbled(f"a read of {length} bytes is longer than {MAX_FILE_BYTES}")
    return offset, length


def decode_answer(payload: bytes) -> tuple[int, bytes]:
    """Return the errno and the result. Raises `Garbled`."""
    (number,) = _unpack(_ANSWER, payload[: _ANSWER.size])
    return number, payload[_ANSWER.size :]


def decode_stat(result: bytes) -> tuple[int, int]:
    """Return mode and size. Raises `Garbled`."""
    mode, size = _unpack(_STAT, result)
    return mode, size


def decode_adopted(payload: bytes) -> Adopted:
    """Return the terminal of an ADOPT frame. Raises `Garbled`."""
    return Adopted(*_unpack(_ADOPTED, payload))


def _unpack(layout: struct.Struct, payload: bytes) -> tuple[int, ...]:
    try:
        return layout.unpack(payload)
    except struct.error as error:
        raise Garbled(f"a payload of {len(payload)} bytes is not {layout.size} long") from error
