"""The API's server held open by those who never finish a request."""

import contextlib
import http.client
import socket
import ssl
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from atoll.surfaces.http.server.connections.bounded_head import HEAD_SECONDS
from atoll.surfaces.http.server.connections.pending_connections import MAX_NEAR, NEW_SECONDS
from atoll.testing.server import TestServer, test_server
from tests.peers.certificate import own_certificate

HALF = b"GET /v1/sandboxes HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
BODY = b"POST /auth/login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{"
STANDING_SECONDS = 75.0
"""For so long 200 half heads stood before."""


@pytest.fixture(scope="module")
def server() -> Iterator[TestServer]:
    with test_server() as running:
        yield running


def links(server: TestServer, count: int, said: bytes) -> list[socket.socket]:
    place = urlsplit(server.url)
    made = []
    for _ in range(count):
        link = socket.create_connection((place.hostname, place.port), 60)
        link.sendall(said)
        made.append(link)
    return made


def said_to_the_end(link: socket.socket) -> bytes:
    """Everything until the server hangs up. Raises `TimeoutError`."""
    answer = b""
    with link, contextlib.suppress(ConnectionError):
        link.settimeout(60)
        while data := link.recv(65536):
            answer += data
    return answer


def served(server: TestServer) -> int:
    place = urlsplit(server.url)
    link = http.client.HTTPConnection(str(place.hostname), place.port, timeout=60)
    with contextlib.closing(link):
        link.request("GET", "/v1/sandboxes", headers={"Authorization": f"Bearer {server.token}"})
        return link.getresponse().status


def test_half_requests_end_in_time_and_keep_nobody_out(server: TestServer) -> None:
    # A control: the same head is answered once it is whole.
    (whole,) = links(server, 1, HALF + b"1\r\nConnection: close\r\n\r\n")
    assert said_to_the_end(whole).startswith(b"HTTP/1.1 401")
    began = time.monotonic()
    halves, bodies = links(server, 200, HALF), links(server, 4, BODY)
    assert served(server) == 200
    answers = {said_to_the_end(link)[:12] for link in halves}
    assert answers == {b"HTTP/1.1 408"}
    for link in bodies:
        said_to_the_end(link)
    assert HEAD_SECONDS - 1 < time.monotonic() - began < STANDING_SECONDS
    assert served(server) == 200


def test_more_half_requests_than_fit_close_the_oldest_and_keep_nobody_out(
    server: TestServer,
) -> None:
    halves = links(server, MAX_NEAR, HALF)
    time.sleep(NEW_SECONDS)  # younger ones are spared
    halves += links(server, 40, HALF)
    assert served(server) == 200
    for link in halves[:20]:
        assert said_to_the_end(link) == b""  # closed without a word, to make room
    for link in halves:
        link.close()


@pytest.fixture
def readable() -> Iterator[Path]:
    """A folder that the control plane's own user may read."""
    with tempfile.TemporaryDirectory(prefix="atls", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_more_silent_tls_connections_than_fit_close_the_oldest_and_keep_nobody_out(
    readable: Path,
) -> None:
    cert, key = own_certificate(readable, "127.0.0.2")
    key.chmod(0o644)
    env = {"ATOLL_HOST": "127.0.0.2", "ATOLL_TLS_CERT": str(cert), "ATOLL_TLS_KEY": str(key)}
    with test_server(env) as server:
        place = ("127.0.0.2", urlsplit(server.url).port)
        silent = [socket.create_connection(place, 60) for _ in range(MAX_NEAR)]
        time.sleep(NEW_SECONDS)  # younger ones are spared
        silent += [socket.create_connection(place, 60) for _ in range(40)]
        link = http.client.HTTPSConnection(
            *place, timeout=60, context=ssl.create_default_context(cafile=str(cert))
        )
        with contextlib.closing(link):
            link.request(
                "GET", "/v1/sandboxes", headers={"Authorization": f"Bearer {server.token}"}
            )
            assert link.getresponse().status == 200
        for held in silent[:20]:
            assert said_to_the_end(held) == b""
        for held in silent:
            held.close()
