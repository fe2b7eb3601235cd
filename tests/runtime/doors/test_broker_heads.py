"""Heads that come again and again: read and judged once, and never longer than they hold."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httptools
import pytest

from atoll.runtime.doors.request import KEPT_HEAD_BYTES, KEPT_HEADS, Heads, Request
from atoll.wire.policy import Policy, ProviderKey
from tests.peers.broker import KEY, Door
from tests.peers.raw_upstream import OK, attacked, closing, say

NEW_KEY = "sk-changed-9876543210fedcba"
MODELS = b"GET /broker/openai/v1/models HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST /broker/openai/v1/responses HTTP/1.1\r\nHost: x\r\n"


class Said:
    """One head as llhttp reads it."""

    def __init__(self, head: bytes) -> None:
        self.url = b""
        self.said: list[bytes] = []
        self.lengths: list[bytes] = []
        self.parser = httptools.HttpRequestParser(self)
        self.parser.feed_data(head)

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"content-length":
            self.lengths.append(value)
        else:
            self.said += (name, value)


def read(heads: Heads, head: bytes) -> Request:
    said = Said(head)
    request = heads.request(said.parser, said.url, said.said, said.lengths)
    assert request is not None
    return request


@asynccontextmanager
async def talking(door: Door) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
    yield reader, writer
    writer.close()
    await writer.wait_closed()


def test_head_that_comes_again_is_read_once_whatever_the_length() -> None:
    heads = Heads()
    first = read(heads, POST + b"Content-Length: 3\r\n\r\n")
    second = read(heads, POST + b"Content-Length: 0044\r\n\r\n")
    assert first.head is second.head
    assert (first.length, second.length) == (3, 44)


@pytest.mark.parametrize(
    "other",
    [
        MODELS.replace(b"GET", b"HEAD"),
        MODELS.replace(b"/v1/models", b"/v1/models/x"),
        MODELS.replace(b"1.1", b"1.0"),
        MODELS.replace(b"Host: x", b"Host: y"),
        MODELS.replace(b"Host", b"HOST"),
        MODELS.replace(b"\r\n\r\n", b"\r\nX: \r\n\r\n"),
        closing(MODELS),
    ],
)
def test_head_that_differs_in_anything_is_read_anew(other: bytes) -> None:
    heads = Heads()
    assert read(heads, MODELS).head is not read(heads, other).head


def test_heads_kept_are_bounded_in_number_and_in_bytes() -> None:
    heads = Heads()
    first = read(heads, MODELS).head
    long = MODELS.replace(b"Host: x", b"Host: " + b"x" * KEPT_HEAD_BYTES)
    assert read(heads, long).head is not read(heads, long).head
    for number in range(KEPT_HEADS - 1):
        read(heads, MODELS.replace(b"Host: x", b"Host: %d" % number))
    assert read(heads, MODELS).head is first
    read(heads, closing(MODELS))
    assert read(heads, MODELS).head is not first


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
