"""WebSocket frames as a server reads and writes them (RFC 6455 §5), without a connection.

No handshake and no extensions: `runtime.terminals.viewers.socket_link` uses them on a connection
that is already upgraded.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

CLOSE_PROTOCOL: Final = 1002
CLOSE_TEXT: Final = 1007
CLOSE_TOO_LARGE: Final = 1009
MAX_CONTROL_BYTES: Final = 125
_FIN: Final = 0x80
_MASKED: Final = 0x80


class Opcode(IntEnum):
    """The kind of a frame (§5.2)."""

    CONTINUATION = 0
    TEXT = 1
    BINARY = 2
    CLOSE = 8
    PING = 9
    PONG = 10


_OPCODES: Final = {opcode.value: opcode for opcode in Opcode}


class BadStream(ValueError):
    """A violation of the protocol by the peer; `code` is the code to close with."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Message:
    """A whole message or control frame, unmasked."""

    opcode: Opcode
    data: bytes


def header(opcode: Opcode, size: int) -> bytes:
    """Return the header of an unmasked, whole message of `size` bytes."""
    if size < 126:
        return bytes((_FIN | opcode, size))
    if size < 1 << 16:
        return bytes((_FIN | opcode, 126)) + size.to_bytes(2, "big")
    return bytes((_FIN | opcode, 127)) + size.to_bytes(8, "big")


def close_frame(code: int, reason: str) -> bytes:
    """Return a whole close frame; a reason that is too long is cut."""
    cut = reason.encode()[: MAX_CONTROL_BYTES - 2].decode("utf-8", "ignore").encode()
    return header(Opcode.CLOSE, 2 + len(cut)) + code.to_bytes(2, "big") + cut


class FrameReader:
    """A reader of a client's messages of at most `max_bytes`. It holds no more than one message and
    one incomplete frame."""

    __slots__ = ("_buffer", "_kind", "_max_bytes", "_parts", "_size")

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._buffer = b""
        self._kind: Opcode | None = None
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> Iterator[Message]:
        """Return the messages that `data` completes. Raises `BadStream`; nothing may follow
        that."""
        buffer, at = self._buffer + data if self._buffer else data, 0
        while (found := self._frame(buffer, at)) is not None:
            final, opcode, payload, at = found
            message = self._take(final, opcode, payload)
            if message is not None:
                # The buffer is cut before the message is yielded: its reader may stop in between.
                self._buffer = buffer[at:]
                yield message
        self._buffer = buffer[at:]

    def _frame(self, buffer: bytes, at: int) -> tuple[bool, Opcode, bytes, int] | None:
        """Return whether the next frame ends its message, its opcode, payload and end; None when it
        is incomplete."""
        if len(buffer) - at < 2:
            return None
        first, second = buffer[at], buffer[at + 1]
        opcode = _opcode(first, second)
        size, begin = second & 0x7F, at + 2
        if size >= 126:
            width = 2 if size == 126 else 8
            begin += width
            size = int.from_bytes(buffer[begin - width : begin], "big")
            if len(buffer) < begin:
                return None
        if self._size + size > self._max_bytes:
            raise BadStream(CLOSE_TOO_LARGE, f"a message is at most {self._max_bytes} bytes")
        end = begin + 4 + size
        if len(buffer) < end:
            return None
        payload = _unmask(buffer[begin : begin + 4], buffer[begin + 4 : end])
        return bool(first & _FIN), opcode, payload, end

    def _take(self, final: bool, opcode: Opcode, payload: bytes) -> Message | None:
        """Return the message that this frame completes."""
        if opcode >= Opcode.CLOSE:
            return Message(opcode, payload)
        if (opcode is Opcode.CONTINUATION) is (self._kind is None):
            raise BadStream(CLOSE_PROTOCOL, "a message began inside another, or never did")
        self._kind = opcode if self._kind is None else self._kind
        if final and not self._parts:
            kind, self._kind = self._kind, None
            return Message(kind, payload)
        self._parts.append(payload)
        self._size += len(payload)
        if not final:
            if len(self._parts) > 1024:
                raise BadStream(CLOSE_TOO_LARGE, "a message is in too many pieces")
            return None
        message = Message(self._kind, b"".join(self._parts))
        self._kind, self._parts, self._size = None, [], 0
        return message


def _opcode(first: int, second: int) -> Opcode:
    """Return the opcode of a frame by its first two bytes. Raises `BadStream`."""
    opcode = _OPCODES.get(first & 0x0F)
    if opcode is None:
        raise BadStream(CLOSE_PROTOCOL, f"there is no opcode {first & 0x0F}")
    if first & 0x70:
        raise BadStream(CLOSE_PROTOCOL, "reserved bits are set, and no extension was agreed on")
    if not second & _MASKED:
        raise BadStream(CLOSE_PROTOCOL, "a client's frames must be masked")
    if opcode >= Opcode.CLOSE and (not first & _FIN or second & 0x7F > MAX_CONTROL_BYTES):
        raise BadStream(CLOSE_PROTOCOL, "a control frame is whole, and short")
    return opcode


def _unmask(mask: bytes, payload: bytes) -> bytes:
    """Return `payload` without its mask, by one operation on two large numbers (§5.3)."""
    size = len(payload)
    repeated = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(repeated, "big")).to_bytes(size, "big")
