"""HTTP/1.1 over a connection of its own (RFC 9112): request, head of the answer, body.

The standard library's client brings its mail parser along, which takes longer to load than
`atoll list` takes to run. The reader is strict: what could be framed in two ways is refused.
"""

import socket
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from atoll.domain.errors import Invalid
from atoll.wire.http.chunked import BadChunks, Chunks

if TYPE_CHECKING:
    import ssl

MAX_HEAD_BYTES = 65536
RECEIVE_BYTES = 65536
_NO_BODY = (204, 304)
Body = bytes | Iterable[bytes] | None


class BrokenAnswer(OSError):
    """An answer that ends too early or is not HTTP/1.1."""


def connect(host: str, port: int, *, secure: bool, seconds: float) -> "Exchange":
    """Connect within `seconds`. Raises `OSError`, `ssl.SSLError` among them."""
    # As bytes: text would load the tables of international names.
    address = host.encode("ascii") if host.isascii() else host
    place = cast("tuple[str, int]", (address, port))  # `getaddrinfo` takes either
    plain = socket.create_connection(place, timeout=seconds)
    try:
        # Streams may be silent for hours; the kernel then notices a line that died.
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if not secure:
            return Exchange(plain, _host_header(host, port, 80))
        import ssl  # loaded late: it takes longer than the rest, and loopback has no use for it

        wrapped = ssl.create_default_context().wrap_socket(plain, server_hostname=host)
        return Exchange(wrapped, _host_header(host, port, 443))
    except BaseException:
        plain.close()
        raise


class Exchange:
    """A connection that serves one request, and the answer as it arrives."""

    def __init__(self, line: "socket.socket | ssl.SSLSocket", host: str) -> None:
        self._line = line
        self._host = host
        self._unread = b""
        self._left: int | None = None
        self._chunks: Chunks | None = None
        self.status = 0
        self.headers: dict[str, str] = {}

    def wait_at_most(self, seconds: float | None) -> None:
        """Set the longest silence of either direction; None waits for ever."""
        self._line.settimeout(seconds)

    def close(self) -> None:
        """Close the connection, also in the middle of an answer."""
        self._line.close()

    def abort(self) -> None:
        """Break the connection off, also while another thread reads from it."""
        with suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)

    def send(self, method: str, target: str, headers: Mapping[str, str], body: Body) -> None:
        """Send a request. A body that is no `bytes` goes in chunks unless its length is given.
        Raises `Invalid` for a character that would end a line, `OSError` for a broken line."""
        framing: dict[str, str] = {}
        chunked = not (body is None or isinstance(body, bytes) or "Content-Length" in headers)
        if chunked:
            framing["Transfer-Encoding"] = "chunked"
        elif isinstance(body, bytes) or (body is None and method in ("POST", "PUT", "PATCH")):
            framing["Content-Length"] = str(len(body or b""))
        fields = {"Host": self._host, "Connection": "close", **headers, **framing}
        head = _head(method, target, fields)
        if body is None or isinstance(body, bytes):
            self._line.sendall(head + (body or b""))
            return
        self._line.sendall(head)
        for piece in body:
            if piece:
                self._line.sendall(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
        if chunked:
            self._line.sendall(b"0\r\n\r\n")

    def receive_head(self) -> None:
        """Read `status` and `headers`; interim answers are skipped. Raises `BrokenAnswer`."""
        while self.status < 200:
            head = self._until_blank_line().split("\r\n")
            self.status = _status(head[0])
            self.headers = _fields(head[1:])
        coding = self.headers.get("transfer-encoding")
        length = self.headers.get("content-length")
        if self.status in _NO_BODY:
            self._left = 0
        elif coding is not None:
            if coding.lower() != "chunked" or length is not None:
                raise BrokenAnswer("the answer's length is given in no way we know")
            self._chunks = Chunks()
        elif length is not None:
            if not (length.isascii() and length.isdigit() and len(length) < 19):
                raise BrokenAnswer("the answer's length is not a number")
            self._left = int(length)

    def read(self, size: int = RECEIVE_BYTES) -> bytes:
        """Return at most `size` bytes of the body as they came; empty at its end. Raises
        `BrokenAnswer` where it breaks off."""
        if self._left == 0 or size <= 0:
            return b""
        if self._chunks is not None:
            return self._read_chunked(self._chunks, size)
        data = self._some(size if self._left is None else min(size, self._left))
        if self._left is not None:
            if not data:
                raise BrokenAnswer("the answer ended before its length")
            self._left -= len(data)
        return data

    def _read_chunked(self, chunks: Chunks, size: int) -> bytes:
        while not chunks.done:
            data = self._some(size)
            if not data:
                raise BrokenAnswer("the answer ended before its last chunk")
            try:
                body = chunks.feed(data)
            except BadChunks as problem:
                raise BrokenAnswer(str(problem)) from problem
            if body:
                return body
        return b""

    def _some(self, size: int) -> bytes:
        if self._unread:
            data, self._unread = self._unread[:size], self._unread[size:]
            return data
        return self._line.recv(size)

    def _until_blank_line(self) -> str:
        head = self._unread
        while (end := head.find(b"\r\n\r\n")) < 0:
            if len(head) > MAX_HEAD_BYTES:
                raise BrokenAnswer("the answer's head is too long")
            data = self._line.recv(RECEIVE_BYTES)
            if not data:
                raise BrokenAnswer("the server closed the connection without an answer")
            head += data
        self._unread = head[end + 4 :]
        return head[:end].decode("latin-1")


def _host_header(host: str, port: int, usual: int) -> str:
    shown = f"[{host}]" if ":" in host else host
    return shown if port == usual else f"{shown}:{port}"


def _head(method: str, target: str, fields: Mapping[str, str]) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {text}" for name, text in fields.items())]
    if " " in target or any(not " " <= char <= "~" for line in lines for char in line):
        raise Invalid("a word of the request has a character that HTTP does not carry")
    return "\r\n".join([*lines, "", ""]).encode("ascii")


def _status(line: str) -> int:
    version, _, rest = line.partition(" ")
    code = rest[:3]
    if version not in ("HTTP/1.1", "HTTP/1.0") or not (code.isascii() and code.isdigit()):
        raise BrokenAnswer("the answer is not HTTP/1.1")
    if not 100 <= int(code) <= 599:
        raise BrokenAnswer("the answer has no status")
    return int(code)


def _fields(lines: Iterable[str]) -> dict[str, str]:
    """Return header fields by their small names. Of a repeated one the first is kept, cookies are
    joined, and a length given twice is refused."""
    fields: dict[str, str] = {}
    for line in lines:
        name, colon, text = line.partition(":")
        small = name.lower()
        if not colon or not name or name != name.strip():
            raise BrokenAnswer("the answer's head cannot be read")
        if small in fields and small in ("content-length", "transfer-encoding"):
            raise BrokenAnswer("the answer's length is given twice")
        if small == "set-cookie" and small in fields:
            fields[small] += f"; {text.strip()}"
        fields.setdefault(small, text.strip())
    return fields
