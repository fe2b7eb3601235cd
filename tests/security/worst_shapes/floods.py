"""What clients hold open or leave unread, in numbers: connections whose bytes a server keeps."""

import contextlib
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import urlsplit

from tests.security.worst_shapes.watch import addressed, frame, request

SECONDS = 60.0
SENDING_SECONDS = 2.0
"""A server reads no more of a client that holds too much."""

UPGRADE = (
    *("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"),
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
)


@contextmanager
def held(url: str, data: bytes, count: int) -> Iterator[list[socket.socket]]:
    """Send the same bytes by so many connections, and keep them open."""
    place = urlsplit(url)
    links: list[socket.socket] = []
    try:
        for _ in range(count):
            link = socket.create_connection((place.hostname, place.port), SECONDS)
            links.append(link)
            with contextlib.suppress(ConnectionError, TimeoutError):
                link.sendall(addressed(data, place.netloc))
        yield links
    finally:
        for link in links:
            link.close()


def half_body(target: str, headers: Sequence[str], size: int) -> bytes:
    """Return a request whose body lacks its last byte."""
    lines = [f"POST {target} HTTP/1.1", "Host: HERE", *headers, f"Content-Length: {size}"]
    lines.append("Content-Type: application/json")
    return "\r\n".join([*lines, "", ""]).encode() + b" " * (size - 1)


def half_message(size: int) -> bytes:
    """Return a message of a WebSocket that lacks its last byte."""
    return frame(2, bytes(size))[:-1]


@contextmanager
def opened(
    url: str, target: str, headers: Sequence[str], count: int
) -> Iterator[list[socket.socket]]:
    """Open so many WebSockets."""
    handshake = request("GET", target, [*headers, *UPGRADE])
    with held(url, handshake, count) as links:
        for link in links:
            assert link.recv(4096)[9:12] == b"101"
        yield links


def send_each(links: Sequence[socket.socket], data: bytes) -> None:
    """Send bytes by connections, of which the server may have closed some."""
    for link in links:
        link.settimeout(SENDING_SECONDS)
        with contextlib.suppress(ConnectionError, TimeoutError):
            link.sendall(data)


def settle(seconds: float) -> None:
    """Let what is held weigh on the server for a while: nothing announces that it does not."""
    time.sleep(seconds)
