"""Bytes of whole connections in their worst shapes: requests one behind another, bodies in the
smallest pieces, and frames of a WebSocket that are tiny, empty or never end."""

from collections.abc import Iterator

from tests.security.worst_shapes.watch import HOST, frame

MANY = 40_000
"""The pieces of a stream, as many as one read of the server's takes."""

LARGEST = 1024 * 1024
"""The largest message of a WebSocket."""

READ_BYTES = 256 * 1024
"""The bytes that the loop reads of a connection at once."""


def streams(headers: list[str]) -> Iterator[tuple[str, bytes]]:
    """Yield bytes of a connection that has a credential, or none."""

    def head(target: str, *more: str, method: str = "GET") -> bytes:
        lines = [f"{method} {target} HTTP/1.1", HOST, *more, "", ""]
        return "\r\n".join(lines).encode()

    last = head("/healthz", "Connection: close")
    yield "requests behind another", head("/healthz") * 6000 + last
    yield "requests of a caller behind another", head("/v1/me", *headers) * 300 + last
    yield "refused requests behind another", head("/v1/x") * 6000 + last
    yield "line ends before a request", b"\r\n" * MANY + last
    chunked = head("/auth/login", *headers, "Transfer-Encoding: chunked", method="POST")
    yield "a body in single bytes", chunked + b"1\r\na\r\n" * MANY + b"0\r\n\r\n" + last
    long = b"1;" + b"a" * 4000 + b"\r\na\r\n"
    yield "pieces with long extensions", chunked + long * 60 + b"0\r\n\r\n" + last
    zeros = b"0" * 4000 + b"1\r\na\r\n"
    yield "pieces with long sizes", chunked + zeros * 60 + b"0\r\n\r\n" + last
    yield "trailers", chunked + b"0\r\n" + b"a: b\r\n" * 8000 + b"\r\n" + last
    body = head("/auth/login", *headers, "Content-Length: 2", method="POST") + b"{}"
    yield "bodies behind another", body * 300 + last


def smallest_requests() -> bytes:
    """Return as many requests as one read takes."""
    one = b"GET / HTTP/1.1\r\nHost:a\r\n\r\n"
    return one * (READ_BYTES // len(one))


def frames() -> Iterator[tuple[str, bytes]]:
    """Yield what a client sends by a WebSocket."""
    yield "tiny frames", frame(2, b"\x03") * MANY
    yield "empty frames", frame(2, b"") * MANY
    yield "tiny texts", frame(1, b"a") * MANY
    yield "tiny JSON", frame(1, b"{}") * MANY
    yield "a message in single bytes", _part(2, b"a") + _part(0, b"a") * MANY + frame(0, b"")
    yield "a message of nothing", _part(2, b"") + _part(0, b"") * MANY + frame(0, b"")
    yield "pings", frame(9, b"") * MANY
    yield "long pings", frame(9, b"a" * 125) * (MANY // 20)
    yield "pongs", frame(10, b"") * MANY
    yield "pings within a message", (_part(1, b"a") + frame(9, b"") * MANY + frame(0, b""))
    yield "a large message", frame(2, b"\xff" * LARGEST)
    yield "large messages", frame(2, b"\xff" * LARGEST) * 4
    yield "a text of halves", frame(1, b"\xed\xa0\x80" * (LARGEST // 3))
    yield "a large text", frame(1, "\U0001f469".encode() * (LARGEST // 4))
    yield "a message too large", frame(2, b"a" * (LARGEST + 1))
    yield "reserved bits", b"\xf2" + frame(2, b"a")[1:] * MANY


def _part(kind: int, data: bytes) -> bytes:
    """Return a frame after which its message goes on."""
    whole = frame(kind, data)
    return bytes([whole[0] & 0x7F]) + whole[1:]
