"""The broker door under attack from inside (raw bytes) and from a hostile provider."""

import asyncio
import contextlib
import gzip
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from atoll.runtime.doors.broker import exchange as exchange_module
from atoll.runtime.doors.listener.connection_limit import MAX_CONNECTIONS
from atoll.runtime.doors.refusals import Refusals
from atoll.runtime.journal.journal import Journal
from tests.peers.broker import KEY, Door, broker_door

POST = b"POST /broker/openai/v1/responses HTTP/1.1\r\nHost: 127.0.0.1:8082\r\nConnection: close\r\n"
MODELS = b"GET /broker/openai/v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@dataclass
class Peer:
    """A provider that says `pieces`, one packet each, to whatever it is asked."""

    pieces: list[bytes] = field(default_factory=lambda: [PLAIN])
    requests: list[bytes] = field(default_factory=list)
    wants_body: bool = False

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            self.requests.append(await reader.readuntil(b"\r\n\r\n"))
            if self.wants_body:
                await reader.readuntil(b"0\r\n\r\n")
            for piece in self.pieces:
                writer.write(piece)
                await writer.drain()
        await hang_up(writer)


async def hang_up(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


@dataclass
class Bench:
    door: Door
    peer: Peer

    @property
    def port(self) -> int:
        return self.door.port

    @property
    def audit(self) -> list[Mapping[str, object]]:
        return self.door.audit

    async def say(self, said: bytes) -> bytes:
        """Everything the door answers until it hangs up, or nothing more comes."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(said)
            async with asyncio.timeout(20):
                return await reader.read()
        except ConnectionError:
            return b""
        finally:
            await hang_up(writer)


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    async with door(Peer()) as standing:
        yield standing


@asynccontextmanager
async def door(peer: Peer) -> AsyncIterator[Bench]:
    upstream = await asyncio.start_server(peer, "127.0.0.1", 0)
    port = upstream.sockets[0].getsockname()[1]
    async with broker_door({"openai": f"http://127.0.0.1:{port}"}) as standing:
        yield Bench(standing, peer)
    upstream.close()
    await upstream.wait_closed()


SMUGGLING = {
    "length and chunks": b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks and length": b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
    "two lengths": b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc",
    "two equal lengths": b"Content-Length: 2\r\nContent-Length: 2\r\n\r\nab",
    "a list of lengths": b"Content-Length: 2, 2\r\n\r\nab",
    "a signed length": b"Content-Length: +2\r\n\r\nab",
    "space before the colon": b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    "an unknown coding": b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "chunked not last": b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "two codings": b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    "a folded line": b"X: a\r\n b\r\nContent-Length: 0\r\n\r\n",
    "a bare line feed": b"X: a\nContent-Length: 0\r\n\r\n",
    "a bare return": b"X: a\rContent-Length: 0\r\n\r\n",
    "a zero byte": b"X: a\0b\r\nContent-Length: 0\r\n\r\n",
    "two hosts": b"Host: evil\r\nContent-Length: 0\r\n\r\n",
    "a negative chunk": b"Transfer-Encoding: chunked\r\n\r\n-1\r\nhi\r\n0\r\n\r\n",
    "a hexadecimal chunk": b"Transfer-Encoding: chunked\r\n\r\n0x2\r\nhi\r\n0\r\n\r\n",
    "a line feed in a chunk": b"Transfer-Encoding: chunked\r\n\r\n2;a\nb\r\nhi\r\n0\r\n\r\n",
    "a long header": b"X: " + b"a" * 100_000 + b"\r\nContent-Length: 0\r\n\r\n",
    "many headers": b"".join(b"X%d: a\r\n" % i for i in range(5000)) + b"\r\n",
}


@pytest.mark.parametrize("rest", SMUGGLING.values(), ids=SMUGGLING.keys())
async def test_broker_ambiguous_request_is_refused_and_nothing_behind_it_is_heard(
    bench: Bench, rest: bytes
) -> None:
    answer = await bench.say(POST + rest + MODELS)
    assert answer.startswith((b"HTTP/1.0 400", b"HTTP/1.1 400")) or answer == b""
    assert answer.count(b"HTTP/1.") <= 1
    assert not any(b"/v1/models" in head for head in bench.peer.requests)


TARGETS = {
    "absolute form": (b"GET http://evil.example/broker/openai/v1/models", 400),
    "user information": (b"GET http://x@127.0.0.1/broker/openai/v1/models", 400),
    "connect": (b"CONNECT api.openai.com:443", 404),
    "asterisk": (b"OPTIONS *", 404),
    "two slashes": (b"GET //evil/broker/openai/v1/models", 404),
    "upper case": (b"GET /broker/OPENAI/v1/models", 404),
    "escaped name": (b"GET /broker/%6fpenai/v1/models", 404),
    "zero in the name": (b"GET /broker/openai%00/v1/models", 404),
    "prototype": (b"GET /broker/__proto__/v1/models", 404),
    "dots": (b"GET /broker/openai/v1/models/../files", 400),
    "escaped dots": (b"GET /broker/openai/v1/models/%2e%2e/files", 400),
    "escaped slash": (b"GET /broker/openai/v1%2fmodels", 400),
    "double slash": (b"GET /broker/openai//v1/models", 403),
    "backslash": (b"GET /broker/openai/v1/models\\..\\files", 400),
    "files": (b"POST /broker/openai/v1/files", 403),
    "keys": (b"GET /broker/openai/v1/organization/admin_api_keys", 403),
    "trace": (b"TRACE /broker/openai/v1/models", 403),
}


@pytest.mark.parametrize(("target", "status"), TARGETS.values(), ids=TARGETS.keys())
async def test_broker_target_that_is_no_inference_is_refused_before_any_call(
    bench: Bench, target: bytes, status: int
) -> None:
    answer = await bench.say(target + b" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    assert answer.split(b" ", 2)[1] in {str(status).encode(), b"400"}, answer
    assert bench.peer.requests == []


async def test_broker_upgrade_to_another_protocol_is_refused(bench: Bench) -> None:
    for request in (b"h2c", b"websocket"):
        answer = await bench.say(
            POST + b"Upgrade: " + request + b"\r\nConnection: Upgrade\r\nContent-Length: 0\r\n\r\n"
        )
        assert answer.startswith(b"HTTP/1.1 426")
    assert bench.peer.requests == []


async def test_broker_client_headers_never_choose_host_or_credential(bench: Bench) -> None:
    await bench.say(
        b"POST /broker/openai/v1/responses HTTP/1.1\r\nHost: evil.example\r\n"
        b"Authorization: Bearer mine\r\nX-Api-Key: mine\r\nCookie: mine\r\n"
        b"OpenAI-Organization: mine\r\n"
        b"Proxy-Authorization: mine\r\nConnection: close, X-Named\r\nX-Named: mine\r\n"
        b"TE: trailers\r\nContent-Length: 0\r\n\r\n"
    )
    (head,) = bench.peer.requests
    assert b"mine" not in head
    assert b"evil" not in head
    assert head.count(b"Authorization: Bearer " + KEY.encode()) == 1
    assert b"Accept-Encoding: identity" in head


ECHOES = {
    "whole": [PLAIN.replace(b"2", b"26").replace(b"ok", KEY.encode())],
    "letter by letter": [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        *(b"1\r\n%c\r\n" % each for each in KEY.encode()),
        b"0\r\n\r\n",
    ],
    "header": [b"HTTP/1.1 200 OK\r\nX-Say: " + KEY.encode() + b"\r\nContent-Length: 0\r\n\r\n"],
    "header name": [b"HTTP/1.1 200 OK\r\n" + KEY.encode() + b": x\r\nContent-Length: 0\r\n\r\n"],
    "reason": [b"HTTP/1.1 200 " + KEY.encode() + b"\r\nContent-Length: 0\r\n\r\n"],
    "redirect": [
        b"HTTP/1.1 302 Found\r\nLocation: /x?k=" + KEY.encode() + b"\r\nContent-Length: 0\r\n\r\n"
    ],
    "error": [b"HTTP/1.1 401 No\r\nContent-Length: 26\r\n\r\n" + KEY.encode()],
    "error at the cut": [b"HTTP/1.1 500 No\r\n\r\n" + b"x" * (256 * 1024 - 25) + KEY.encode()],
    "trailer": [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-T: "
        + KEY.encode()
        + b"\r\n\r\n"
    ],
    "packed": [
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gzip.compress(KEY.encode() * 2)
    ],
    "split answer": [
        b"HTTP/1.1 200 OK\r\nX: a\rSet-Cookie: k=" + KEY.encode() + b"\r\nContent-Length: 0\r\n\r\n"
    ],
    "broken": [b"HTTP/1.1 2 " + KEY.encode() + b"\r\n\r\n"],
}


@pytest.mark.parametrize("pieces", ECHOES.values(), ids=ECHOES.keys())
async def test_broker_provider_that_sends_the_key_back_is_masked(pieces: list[bytes]) -> None:
    async with door(Peer(pieces)) as bench:
        answer = await bench.say(MODELS)
    plain = answer.replace(b"\r\n1\r\n", b"")
    assert KEY.encode() not in answer
    assert KEY.encode()[:-1] not in plain
    assert gzip.compress(KEY.encode() * 2)[10:] not in answer
    assert b"et-Cookie" not in answer
    assert KEY not in str(bench.audit)
    assert bench.peer.requests != []


async def test_broker_packed_request_is_passed_as_it_is_not_unpacked(bench: Bench) -> None:
    bomb = gzip.compress(bytes(1 << 20))
    head = b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb)
    assert b" 200 " in await bench.say(POST + head + bomb)
    assert bench.audit[0]["bytes_in"] in (0, len(bomb))


async def test_broker_body_past_the_bound_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange_module, "MAX_BODY_BYTES", 100_000)
    chunk = b"10000\r\n" + bytes(65536) + b"\r\n"
    said = POST + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 4 + b"0\r\n\r\n"
    async with door(Peer(wants_body=True)) as bench:
        answer = await bench.say(said)
    assert answer.startswith(b"HTTP/1.1 413")
    assert bench.audit[0]["status"] == 413


async def test_broker_connections_are_bounded_and_free_again(bench: Bench) -> None:
    held = []
    for _ in range(MAX_CONNECTIONS):
        reader, writer = await asyncio.open_connection("127.0.0.1", bench.port)
        writer.write(b"GET /broker/openai/v1/models HT")
        held.append((reader, writer))
    assert await bench.say(MODELS) == b""
    for _reader, writer in held:
        writer.write(b"TP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    for reader, writer in held:
        assert b" 200 " in await reader.read()
        await hang_up(writer)
    assert b" 200 " in await bench.say(MODELS)


async def test_broker_bad_requests_are_not_logged(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        await bench.say(b"\0\0\0\r\n\r\n")
        await bench.say(POST + SMUGGLING["two lengths"])
    assert [each for each in caplog.records if each.name != "asyncio"] == []


async def test_broker_flood_of_requests_is_counted_and_not_written_down(
    bench: Bench, tmp_path: Path
) -> None:
    wrong = b"GET /broker/none/x HTTP/1.1\r\nHost: a\r\n\r\n"
    for _ in range(3):
        await bench.say(wrong * 400 + wrong.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
    written = Journal(tmp_path)
    audit = Refusals(written)
    for payload in bench.audit:
        audit("door.request", payload)
    audit.settle(last=True)
    assert len(bench.audit) == 3 * 401
    first, rest = (entry.payload for entry in written.read(0, 10).entries)
    assert ("times" in first, rest["times"]) == (False, len(bench.audit) - 1)
