"""The standing stream of a session: changed URIs, and where a client goes on from."""

import asyncio
from collections.abc import AsyncIterator

from starlette.types import Message

from atoll.domain.errors import Unavailable
from atoll.services.tools.watches import Change
from atoll.surfaces.mcp.standing import ChangeStream


async def no_lists() -> AsyncIterator[None]:
    await asyncio.Event().wait()
    yield


async def never() -> None:
    await asyncio.Event().wait()


async def test_part_of_a_change_gives_no_place_to_go_on_from() -> None:
    sent: list[bytes] = []
    told = asyncio.Event()

    async def changes() -> AsyncIterator[Change]:
        yield Change(("atoll://hr/a/b", "atoll://hr/c/d"), 7)
        told.set()
        await asyncio.Event().wait()

    async def receive() -> Message:
        await told.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message.get("body", b""))

    await ChangeStream(changes(), no_lists(), never)({"type": "http"}, receive, send)
    body = b"".join(sent).replace(b": ping\n\n", b"").replace(b"retry: 10000\n\n", b"")
    first, last = body.removesuffix(b"\n\n").split(b"\n\n")
    assert b"atoll://hr/a/b" in first and b"id: " not in first
    assert b"atoll://hr/c/d" in last and last.startswith(b"id: 7\n")


async def test_stream_whose_changes_cannot_be_read_ends_and_its_client_comes_back() -> None:
    sent: list[Message] = []

    async def changes() -> AsyncIterator[Change]:
        yield Change(("atoll://hr/a/b",), 7)
        raise Unavailable("the database is away")

    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Message) -> None:
        sent.append(message)

    async with asyncio.timeout(10):
        await ChangeStream(changes(), no_lists(), never)({"type": "http"}, receive, send)
    assert b"id: 7\n" in b"".join(one.get("body", b"") for one in sent)
    assert sent[-1] == {"type": "http.response.body", "body": b"", "more_body": False}
