"""How large a request's head may be, and what a head costs, whoever sends it."""

import asyncio
from typing import NoReturn
from urllib.parse import urlsplit

import aiohttp
import pytest
from starlette import requests

from atoll.surfaces.http.server.connections.bounded_head import (
    MAX_HEAD_BYTES,
    MAX_HEADERS,
    MAX_VALUE_BYTES,
)
from tests.surfaces.http.world import World, client_of


def quadratic(_value: str) -> NoReturn:
    raise AssertionError("the standard library read a stranger's cookie")


@pytest.fixture(autouse=True)
def _library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing call what takes quadratic time in the Python of Debian 12 as it was released."""
    monkeypatch.setattr("http.cookies._unquote", quadratic)
    monkeypatch.setattr(requests, "cookie_parser", quadratic)


async def answer_to(atoll: World, head: bytes) -> bytes:
    """What the server says to a head, to the end of the connection."""
    place = urlsplit(atoll.url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    writer.write(head)
    try:
        return await reader.read()
    finally:
        writer.close()


def get(*headers: str) -> bytes:
    lines = ["GET /v1/sandboxes HTTP/1.1", "Host: localhost", "Connection: close", *headers]
    return "\r\n".join([*lines, "", ""]).encode()


@pytest.mark.parametrize(
    "path", ["/v1/sandboxes", "/auth/oidc/a/callback", "/auth/drive/callback", "/auth/guests"]
)
async def test_cookie_of_backslashes_is_answered_without_the_library(
    atoll: World, path: str
) -> None:
    cookie = 'atoll_session="' + "\\" * (MAX_VALUE_BYTES - 64) + '"; atoll_guest="\\\\\\""'
    async with client_of(atoll.url) as client:
        method = "POST" if path == "/auth/guests" else "GET"
        answer = await client.request(method, path, headers={"Cookie": cookie})
    assert answer.status_code < 500


async def test_socket_with_a_cookie_of_backslashes_is_refused_without_the_library(
    atoll: World,
) -> None:
    headers = {"Cookie": 'atoll_session="' + "\\" * 7000 + '"', "Origin": atoll.url}
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await session.ws_connect(f"{atoll.url}/v1/overview/live", headers=headers)
    assert 400 <= refused.value.status < 500


async def test_persons_cookie_is_found_behind_others(atoll: World) -> None:
    found = await atoll.browser()
    found["Cookie"] = f'theme="\\\\"; {found["Cookie"]}'
    async with client_of(atoll.url) as client:
        assert (await client.get("/auth/me", headers=found)).status_code == 200


@pytest.mark.parametrize(
    ("headers", "says"),
    [
        (["X: " + "x" * (MAX_VALUE_BYTES + 1)], f"at most {MAX_VALUE_BYTES} bytes"),
        ([f"X{n}: 1" for n in range(MAX_HEADERS + 1)], f"at most {MAX_HEADERS} headers"),
        ([f"X{n}: " + "x" * 16000 for n in range(5)], f"at most {MAX_HEAD_BYTES} bytes"),
        (["X" * (MAX_HEAD_BYTES + 1) + ": 1"], f"at most {MAX_HEAD_BYTES} bytes"),
    ],
    ids=["value", "number", "whole", "name"],
)
async def test_head_beyond_a_bound_is_refused_and_says_which(
    atoll: World, headers: list[str], says: str
) -> None:
    answer = await answer_to(atoll, get(*headers))
    assert answer.startswith(b"HTTP/1.1 431 ")
    assert says.encode() in answer


async def test_head_within_every_bound_is_answered(atoll: World) -> None:
    many = [f"X{n}: 1" for n in range(MAX_HEADERS - 2)]
    assert (await answer_to(atoll, get(*many))).startswith(b"HTTP/1.1 401 ")
    long = [f"X{n}: " + "x" * (MAX_VALUE_BYTES - 1) for n in range(3)]
    assert (await answer_to(atoll, get(*long))).startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize("line", ["X: " + "x" * 9000, "Cookie: a=" + "b" * 16_000])
async def test_handshake_that_cannot_be_read_is_answered_and_closed(
    atoll: World, line: str
) -> None:
    upgrade = ["Upgrade: websocket", "Sec-WebSocket-Version: 13"]
    head = get(line, *upgrade, "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==")
    head = head.replace(b"Connection: close", b"Connection: Upgrade")
    async with asyncio.timeout(10):
        assert (await answer_to(atoll, head)).startswith(b"HTTP/1.1 400 ")
