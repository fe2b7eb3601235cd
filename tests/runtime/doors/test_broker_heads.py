"""Heads that come again and again: read and judged once, and never longer than they hold."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httptools
import pytest

from atoll.runtime.doors.broker.request import (
    KEPT_SHAPE_BYTES,
    KEPT_SHAPES,
    BrokerRequest,
    RequestShapes,
)
from atoll.wire.contract.policy import Policy, ProviderKey
from tests.peers.broker import KEY, Door
from tests.peers.raw_upstream import OK, attacked, closing, say

NEW_KEY = "sk-changed-9876543210fedcba"
MODELS = b"GET /broker/openai/v1/models HTTP/1.1\r\nHost: x\r\n\r\n"
MANY = MODELS.replace(b"Host: x", b"X-Id: 1\r\nHost: x\r\nConnection: keep-alive")
POST = b"POST /broker/openai/v1/responses HTTP/1.1\r\nHost: x\r\n"


class Said:
    """One head as llhttp reads it."""

    def __init__(self, head: bytes) -> None:
        self.url = b""
        self.said: list[bytes] = []
        self.parser = httptools.HttpRequestParser(self)
        self.parser.feed_data(head)

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.said += (name, value)


def read(shapes: RequestShapes, head: bytes) -> BrokerRequest:
    said = Said(head)
    request = shapes.request(said.parser, said.url, said.said)
    assert request is not None
    return request


@asynccontextmanager
async def talking(door: Door) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
    yield reader, writer
    writer.close()
    await writer.wait_closed()


def test_head_alike_in_what_decides_is_read_once_and_keeps_its_values() -> None:
    shapes = RequestShapes()
    first = read(shapes, POST + b"X-Id: 1\r\nContent-Length: 3\r\n\r\n")
    second = read(shapes, POST + b"X-Id: 2\xff\r\nContent-Length: 0044\r\n\r\n")
    assert first.shape is second.shape
    assert (first.length, second.length) == (3, 44)
    assert first.headers == (("Host", "x"), ("X-Id", "1"), ("Content-Length", "3"))
    assert second.headers == (("Host", "x"), ("X-Id", "2\xff"), ("Content-Length", "0044"))


@pytest.mark.parametrize(
    ("part", "other"),
    [
        (b"GET", b"HEAD"),
        (b"/v1/models", b"/v1/models/x"),
        (b"1.1", b"1.0"),
        (b"Host", b"HOST"),
        (b"keep-alive", b"close"),
        (b"keep-alive", b"x-id"),
        (b"\r\n\r\n", b"\r\nUpgrade: websocket\r\n\r\n"),
        (b"\r\n\r\n", b"\r\nExpect: 100-continue\r\n\r\n"),
        (b"\r\n\r\n", b"\r\nX: \r\n\r\n"),
        (b"X-Id: 1\r\nHost: x", b"Host: x\r\nX-Id: 1"),
    ],
)
def test_head_that_differs_in_what_decides_is_read_anew(part: bytes, other: bytes) -> None:
    shapes = RequestShapes()
    changed = MANY.replace(part, other)
    assert changed != MANY
    assert read(shapes, MANY).shape is not read(shapes, changed).shape


def test_shapes_kept_are_bounded_in_number_and_in_bytes() -> None:
    shapes = RequestShapes()
    first = read(shapes, MODELS).shape
    long = MODELS.replace(b"Host: x", b"Host: x\r\nX-Long: " + b"x" * KEPT_SHAPE_BYTES)
    assert read(shapes, long).shape is not read(shapes, long).shape
    for number in range(KEPT_SHAPES - 1):
        read(shapes, MODELS.replace(b"Host: x", b"Host: x\r\nX-%d: x" % number))
    assert read(shapes, MODELS).shape is first
    read(shapes, closing(MODELS))
    assert read(shapes, MODELS).shape is not first


async def test_key_that_changes_is_the_one_sent_with_the_next_head_alike() -> None:
    async with attacked() as (peer, door), talking(door) as (reader, writer):
        for key in (KEY, NEW_KEY):
            for _ in range(3):
                peer.answer = OK.replace(b"ok", key.encode()).replace(b": 2", b": %d" % len(key))
                writer.write(MODELS)
                assert (await reader.readuntil(b"*" * len(key))).startswith(b"HTTP/1.1 200")
            url = f"http://127.0.0.1:{peer.port}"
            changed = ProviderKey(
                secret_id="s", version=1, provider="openai", value=NEW_KEY, base_url=url
            )
            door.policy.replace(Policy(revision=1, providers=(changed,)))
    assert [NEW_KEY.encode() in head for head in peer.heads] == [False] * 3 + [True] * 3
    assert [KEY.encode() in head for head in peer.heads] == [True] * 3 + [False] * 3


async def test_values_are_each_requests_own_and_named_ones_are_stripped_by_its_own_word() -> None:
    async with attacked() as (peer, door):
        for number, connection in enumerate((b"openai-a", b"openai-a", b"openai-b", b"openai-a")):
            head = b"OpenAI-A: a%d\r\nOpenAI-B: b%d\r\nConnection: close, %b" % (
                number,
                number,
                connection,
            )
            await say(door, MODELS.replace(b"Host: x", b"Host: x\r\n" + head))
    assert [b"OpenAI-A: a%d\r\n" % at in head for at, head in enumerate(peer.heads)] == [
        False, False, True, False,
    ]  # fmt: skip
    assert [b"OpenAI-B: b%d\r\n" % at in head for at, head in enumerate(peer.heads)] == [
        True, True, False, True,
    ]  # fmt: skip


async def test_websocket_is_judged_by_values_that_others_are_not() -> None:
    offer = b"GET /broker/openai/v1/realtime HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n"
    offer += b"Upgrade: websocket\r\nSec-WebSocket-Key: a\r\nSec-WebSocket-Protocol: "
    async with attacked() as (peer, door):
        for offered in (b"realtime", b"openai-insecure-api-key.x", b"other"):
            await say(door, offer + offered + b"\r\n\r\n")
    assert [b"Sec-WebSocket-Protocol: realtime\r\n" in one for one in peer.heads] == [
        True, False, False,
    ]  # fmt: skip
    assert b"insecure" not in b"".join(peer.heads) and len(peer.heads) == 3


async def test_lengths_are_told_of_each_request_though_the_head_is_alike() -> None:
    async with attacked() as (peer, door):
        got = await say(
            door,
            POST + b"Content-Length: 2\r\n\r\nok" + POST + b"Content-Length: 0\r\n\r\n"
            + POST + b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
            + POST + b"\r\n" + closing(MODELS),
        )  # fmt: skip
    assert got.count(b"HTTP/1.1 200") == 5
    said = b"".join(peer.heads)
    assert said.count(b"\r\nContent-Length: 2\r\n\r\n") == 1
    assert said.count(b"\r\nContent-Length: 0\r\n\r\n") == 2
    assert said.count(b"\r\nTransfer-Encoding: chunked\r\n\r\n") == 1


@pytest.mark.parametrize(
    "smuggled",
    [
        b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nok",
        b"Content-Length: 2\r\nContent-Length: 2\r\n\r\nok",
        b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"Content-Length: +2\r\n\r\nok",
        b"Content-Length: 0000000000000000000000002\r\n\r\nok",
    ],
)
async def test_length_said_in_two_ways_is_refused_behind_heads_that_passed(smuggled: bytes) -> None:
    plain = POST + b"Content-Length: 2\r\n\r\nok"
    async with attacked() as (peer, door), talking(door) as (reader, writer):
        for _ in range(2):
            writer.write(plain)
            await reader.readuntil(b"\r\n\r\nok")
        writer.write(POST + smuggled)
        assert (await reader.read()).startswith(b"HTTP/1.1 400")
    assert sum(head.count(b"POST ") for head in peer.heads) == 2


async def test_answer_followed_by_another_unasked_costs_the_connection() -> None:
    async with attacked(OK + OK) as (peer, door):
        got = await say(door, MODELS + closing(MODELS))
    assert got.count(b"HTTP/1.1 200") == 2
    assert peer.connections == 2
