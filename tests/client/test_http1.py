"""The client's own HTTP/1.1: what it sends, and which answers it takes."""

import socket
from collections.abc import Iterator

import pytest

from atoll.client.http1 import BrokenAnswer, Exchange
from atoll.domain.errors import Invalid

OK = b"HTTP/1.1 200 OK\r\n"


@pytest.fixture
def ends() -> Iterator[tuple[Exchange, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Exchange(ours, "[::1]:8080"), theirs


def _answered(ends: tuple[Exchange, socket.socket], answer: bytes) -> bytes:
    exchange, server = ends
    server.sendall(answer)
    server.shutdown(socket.SHUT_WR)
    exchange.receive_head()
    return b"".join(iter(lambda: exchange.read(7), b""))


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (OK + b"Content-Length: 5\r\n\r\nhello, more", b"hello"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n", b"abcd"),
        (OK + b"\r\nto the end", b"to the end"),
        (b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n" + OK + b"Content-Length: 1\r\n\r\n!", b"!"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
    ],
)  # fmt: skip
def test_body_of_each_framing_is_read_whole(
    ends: tuple[Exchange, socket.socket], answer: bytes, body: bytes
) -> None:
    assert _answered(ends, answer) == body


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        b"HTTP/1.1 20 OK\r\n\r\n",
        OK + b"Content-Length: 5\r\n\r\nhell",
        OK + b"Content-Length: +5\r\n\r\nhello",
        OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        OK + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: gzip\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\nfive\r\nhello\r\n0\r\n\r\n",
        OK + b" folded: x\r\n\r\n",
        OK + b"X: " + b"a" * 70_000,
    ],
)
def test_answer_that_is_cut_off_or_ambiguous_is_refused(
    ends: tuple[Exchange, socket.socket], answer: bytes
) -> None:
    with pytest.raises(BrokenAnswer):
        _answered(ends, answer)


@pytest.mark.parametrize(
    ("body", "headers", "framed"),
    [
        (None, {}, b"Content-Length: 0\r\n\r\n"),
        (b"abc", {}, b"Content-Length: 3\r\n\r\nabc"),
        ((b"ab", b"", b"c"), {}, b"chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"),
        ((b"ab", b"c"), {"Content-Length": "3"}, b"Content-Length: 3\r\n\r\nabc"),
    ],
)
def test_body_is_framed_by_what_is_known_of_it(
    ends: tuple[Exchange, socket.socket],
    body: bytes | tuple[bytes, ...] | None,
    headers: dict[str, str],
    framed: bytes,
) -> None:
    exchange, server = ends
    exchange.send("POST", "/v1/x?y=1", headers, body)
    exchange.close()
    sent = b"".join(iter(lambda: server.recv(4096), b""))
    assert sent.startswith(b"POST /v1/x?y=1 HTTP/1.1\r\nHost: [::1]:8080\r\n")
    assert sent.endswith(framed)


@pytest.mark.parametrize(
    ("target", "headers"),
    [
        ("/a b", {}),
        ("/a\r\nX: y", {}),
        ("/a", {"Authorization": "Bearer x\r\nY: z"}),
        ("/\xe9", {}),
    ],
)
def test_character_that_would_end_a_line_is_not_sent(
    ends: tuple[Exchange, socket.socket], target: str, headers: dict[str, str]
) -> None:
    exchange, server = ends
    with pytest.raises(Invalid):
        exchange.send("GET", target, headers, None)
    server.setblocking(False)
    with pytest.raises(BlockingIOError):
        server.recv(1)
