"""The input and output of one program as lines of text, for a stream that is not 8-bit clean.

A terminal at a vendor carries text and may lose some under a flood. So each frame is a line: `~`,
then base64 of `{u8 kind, u24 number}` (little-endian), a payload and the CRC-32 of both. A line
that is changed, lost or repeated is `Broken`, and nothing is sent again: whoever needs that has a
stream inside that survives cuts. The layouts of payloads are those of `ArmourKind`.
"""

import binascii
import struct
from enum import IntEnum

from atoll.wire.link.stream import Broken

VERSION = 1
MAX_PAYLOAD_BYTES = 12 * 1024
WINDOW_BYTES = 256 * 1024
"""Bytes of each direction that may be on their way."""

OWED_BYTES = WINDOW_BYTES // 8
MAX_LINE_BYTES = (4 + MAX_PAYLOAD_BYTES + 4 + 2) // 3 * 4 + 2
MAX_SKIPPED_BYTES = 1024 * 1024
"""Bytes that a terminal may print before the program is there: a greeting, a prompt, an echo."""

SILENT_SECONDS = 60
"""The far end leaves after so long without a line; the near end sends an empty CREDIT earlier."""

_HEAD, _CREDIT, _CODE = struct.Struct("<I"), struct.Struct("<I"), struct.Struct("<i")
_MARK = b"~"


class ArmourKind(IntEnum):
    """The kinds of frames. HELLO holds the version, START the words of a command, each ended by
    NUL; INPUT, OUTPUT and COMPLAINT hold bytes, CREDIT a u32 of bytes that were taken, EXIT an i32
    of the exit code, which is negative for a signal."""

    HELLO = 1
    START = 2
    INPUT = 3
    END = 4
    OUTPUT = 5
    COMPLAINT = 6
    CREDIT = 7
    EXIT = 8


DATA = frozenset({ArmourKind.INPUT, ArmourKind.OUTPUT, ArmourKind.COMPLAINT})
FROM_NEAR = frozenset({ArmourKind.START, ArmourKind.INPUT, ArmourKind.END, ArmourKind.CREDIT})
FROM_FAR = frozenset(ArmourKind) - FROM_NEAR | {ArmourKind.CREDIT}


class ArmouredEnd:
    """An end. `is_far` is the one at the program; the other skips what a terminal prints before
    HELLO."""

    def __init__(self, *, is_far: bool) -> None:
        self.room = WINDOW_BYTES
        """Bytes that may be sent now."""
        self._expected = FROM_NEAR if is_far else FROM_FAR
        self._skips = not is_far
        self._skipped = 0
        self._partial = bytearray()
        self._sent = self._received = 0
        self._due = WINDOW_BYTES
        self._owed = 0
        self._is_over = False

    def frame(self, kind: ArmourKind, payload: bytes = b"") -> bytes:
        """Return the line of a frame. Data must fit into `room`."""
        if kind in DATA:
            self.room -= len(payload)
        head = _HEAD.pack(kind | self._sent << 8)
        self._sent = (self._sent + 1) % (1 << 24)
        text = head + payload
        checked = text + _HEAD.pack(binascii.crc32(text))
        return _MARK + binascii.b2a_base64(checked)

    def data(self, kind: ArmourKind, data: bytes) -> bytes:
        """Return the lines of as many of these bytes as there is room for."""
        lines = []
        for start in range(0, min(len(data), self.room), MAX_PAYLOAD_BYTES):
            lines.append(self.frame(kind, data[start : start + min(MAX_PAYLOAD_BYTES, self.room)]))
        return b"".join(lines)

    def took(self, count: int) -> bytes:
        """Return a line that gives credit back, once it is worth one."""
        self._owed += count
        if self._owed < OWED_BYTES:
            return b""
        self._due += self._owed
        line = self.frame(ArmourKind.CREDIT, _CREDIT.pack(self._owed))
        self._owed = 0
        return line

    def alive(self) -> bytes:
        """Return a line that only says that this end is there."""
        return self.frame(ArmourKind.CREDIT, _CREDIT.pack(0))

    def feed(self, data: bytes) -> list[tuple[ArmourKind, bytes]]:
        """Return the frames that came, without those of credit. Raises `Broken`. After EXIT the
        terminal is nobody's, and may echo what was sent."""
        found: list[tuple[ArmourKind, bytes]] = []
        if self._is_over:
            return found
        self._partial += data
        *lines, rest = bytes(self._partial).split(b"\n")
        self._partial = bytearray(rest)
        for line in lines:
            frame = self._read(line)
            if frame is not None:
                found.append(frame)
                if frame[0] is ArmourKind.EXIT:
                    self._is_over = True
                    return found
        if len(rest) > MAX_LINE_BYTES:
            if not self._skips:
                raise Broken("a line of armour without an end")
            self._skip(len(rest) - MAX_LINE_BYTES)
            del self._partial[:-MAX_LINE_BYTES]
        return found

    def _read(self, line: bytes) -> tuple[ArmourKind, bytes] | None:
        before, mark, text = line.removesuffix(b"\r").rpartition(_MARK)
        try:
            if not mark or (before and not self._skips):
                raise Broken("a line that is no armour")
            kind, payload = self._decode_line(text)
            if self._skips and kind is not ArmourKind.HELLO:
                raise Broken("a frame before HELLO")
        except Broken:
            if not self._skips:
                raise
            self._skip(len(line) + 1)
            return None
        self._received = (self._received + 1) % (1 << 24)
        return self._accept_frame(kind, payload)

    def _decode_line(self, text: bytes) -> tuple[ArmourKind, bytes]:
        """Return the frame of a line. Raises `Broken` for a damaged, lost or repeated line."""
        try:
            checked = binascii.a2b_base64(text, strict_mode=True)
        except binascii.Error as error:
            raise Broken("a line that is no base64") from error
        if not 8 <= len(checked) <= 8 + MAX_PAYLOAD_BYTES:
            raise Broken("a line of a wrong length")
        if _HEAD.unpack(checked[-4:])[0] != binascii.crc32(checked[:-4]):
            raise Broken("a line that was changed on its way")
        (head,) = _HEAD.unpack(checked[:4])
        if head >> 8 != self._received:
            raise Broken("a line that was lost or repeated on its way")
        try:
            return ArmourKind(head & 0xFF), checked[4:-4]
        except ValueError as error:
            raise Broken("a frame of an unknown kind") from error

    def _accept_frame(self, kind: ArmourKind, payload: bytes) -> tuple[ArmourKind, bytes] | None:
        """Return a frame that may come now, or None for a credit. Raises `Broken` for any other."""
        if kind not in self._expected:
            raise Broken("a frame of the wrong end")
        if kind is ArmourKind.HELLO:
            if not self._skips or payload != bytes([VERSION]):
                raise Broken("an end of another version")
            self._skips = False
        if kind in DATA:
            self._due -= len(payload)
            if self._due < 0:
                raise Broken("more data than was allowed")
        if kind is ArmourKind.CREDIT:
            self._add_credit(payload)
            return None
        return kind, payload

    def _add_credit(self, payload: bytes) -> None:
        if len(payload) != _CREDIT.size:
            raise Broken("a credit of a wrong length")
        self.room += _CREDIT.unpack(payload)[0]
        if self.room > WINDOW_BYTES:
            raise Broken("more credit than there was data")

    def _skip(self, count: int) -> None:
        self._skipped += count
        if self._skipped > MAX_SKIPPED_BYTES:
            raise Broken("a terminal that prints, and no program in it")


def hello(end: ArmouredEnd) -> bytes:
    """Return the first line of a far end, apart from what stands in its terminal."""
    return b"\n" + end.frame(ArmourKind.HELLO, bytes([VERSION]))


def start(end: ArmouredEnd, argv: tuple[str, ...]) -> bytes:
    """Return the lines of a command. Raises `ValueError` for a word that holds NUL."""
    if any("\0" in word for word in argv):
        raise ValueError("a word of a command holds NUL")
    text = b"".join(word.encode() + b"\0" for word in argv)
    pieces = [
        text[at : at + MAX_PAYLOAD_BYTES] for at in range(0, len(text), MAX_PAYLOAD_BYTES)
    ] + [b""]
    return b"".join(end.frame(ArmourKind.START, piece) for piece in pieces)


def exit_payload(code: int) -> bytes:
    """Return the payload of an EXIT."""
    return _CODE.pack(code)


def exit_code(payload: bytes) -> int:
    """Return the code of an EXIT. Raises `Broken`."""
    if len(payload) != _CODE.size:
        raise Broken("an exit of a wrong length")
    (code,) = _CODE.unpack(payload)
    return int(code)
