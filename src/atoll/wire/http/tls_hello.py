"""A reader of a TLS client's first message, as far as needed to find the host it names.

Pure: bytes in, verdict out, and never more than `MAX_HELLO_BYTES` of them. Records may be cut
anywhere (RFC 8446 section 5.1), the handshake message may span records. Nothing is decrypted. Only
the server name (RFC 6066 section 3) and the presence of Encrypted ClientHello (RFC 9849) are read.
"""

from collections.abc import Iterator
from dataclasses import dataclass

MAX_HELLO_BYTES = 32 * 1024
MAX_RECORDS = 64
"""The bound on records. Honest clients need one or two; each is parsed again when more bytes
come."""

_HANDSHAKE, _CLIENT_HELLO = 22, 1
_SERVER_NAME, _HOST_NAME = 0, 0
_ECH = 0xFE0D
_MAX_RECORD_BYTES = 2**14


class NotHello(ValueError):
    """Bytes that do not start a TLS connection."""


@dataclass(frozen=True, slots=True)
class Hello:
    """A client's hello.

    `server_name` is in lower case, None without one. `encrypted`: an Encrypted ClientHello is
    inside, or its imitation, which looks the same.
    """

    server_name: str | None
    encrypted: bool


def read_hello(data: bytes) -> Hello | None:
    """Return the hello at the start of `data`; None when it is incomplete. Raises `NotHello`."""
    message = _handshake(data)
    if message is None:
        if len(data) >= MAX_HELLO_BYTES:
            raise NotHello("the hello does not end")
        return None
    return _hello(_Cursor(message))


def _handshake(data: bytes) -> bytes | None:
    """Return the body of the first handshake message, joined from its records."""
    joined = bytearray()
    for number, piece in enumerate(_records(data)):
        if number == MAX_RECORDS:
            raise NotHello("the hello is cut into too many records")
        joined += piece
        if joined[:1] not in (b"", bytes([_CLIENT_HELLO])):
            raise NotHello("not a client's hello")
        if len(joined) < 4:
            continue
        whole = 4 + int.from_bytes(joined[1:4], "big")
        if whole > MAX_HELLO_BYTES:
            raise NotHello("the hello is too long")
        if len(joined) >= whole:
            return bytes(joined[4:whole])
    return None


def _records(data: bytes) -> Iterator[bytes]:
    """Return the contents of the handshake records in `data`, the last as far as present."""
    at = 0
    while at < len(data):
        if data[at] != _HANDSHAKE:
            raise NotHello("not a handshake record")
        if data[at + 1 : at + 2] not in (b"", b"\x03"):
            raise NotHello("not a version of TLS")
        if len(data) < at + 5:
            return
        size = int.from_bytes(data[at + 3 : at + 5], "big")
        if not 0 < size <= _MAX_RECORD_BYTES:
            raise NotHello("a record of no possible length")
        yield data[at + 5 : at + 5 + size]
        at += 5 + size


class _Cursor:
    """A reader of lengths and the bytes they announce; past the end it raises `NotHello`."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def take(self, size: int) -> bytes:
        if size > self.left:
            raise NotHello("a length points past the end")
        self._at += size
        return self._data[self._at - size : self._at]

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def vector(self, size: int) -> "_Cursor":
        return _Cursor(self.take(self.number(size)))


def _hello(body: _Cursor) -> Hello:
    body.take(2 + 32)  # legacy version, random
    body.vector(1)  # session id
    body.vector(2)  # cipher suites
    body.vector(1)  # compression methods
    if body.left == 0:
        return Hello(None, encrypted=False)
    extensions = body.vector(2)
    if body.left:
        raise NotHello("bytes after the extensions")
    name: str | None = None
    seen: set[int] = set()
    while extensions.left:
        kind = extensions.number(2)
        content = extensions.vector(2)
        if kind in seen:
            raise NotHello("an extension twice")
        seen.add(kind)
        if kind == _SERVER_NAME:
            name = _server_name(content)
    return Hello(name, encrypted=_ECH in seen)


def _server_name(content: _Cursor) -> str:
    names = content.vector(2)
    if names.number(1) != _HOST_NAME:
        raise NotHello("a server name of an unknown kind")
    raw = names.vector(2)
    text = raw.take(raw.left)
    if names.left or content.left or not text:
        raise NotHello("not exactly one server name")
    try:
        return text.decode("ascii").lower()
    except UnicodeDecodeError:
        raise NotHello("a server name that is not ASCII") from None
