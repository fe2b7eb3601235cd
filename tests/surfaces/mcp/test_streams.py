"""Standing streams end with their session, are bounded for each caller, and hold no backlog."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from starlette.types import Message

from atoll.domain.errors import LimitReached
from atoll.domain.ids import PrincipalId, SandboxId
from atoll.domain.people.principal import LOCAL_PERSON, Principal, TokenAccess
from atoll.services.tools.watches import Change
from atoll.surfaces.mcp import open_streams
from atoll.surfaces.mcp.open_streams import MAX_INSIDE, MAX_STREAMS, OpenStreams
from atoll.surfaces.mcp.standing import ChangeStream
from tests.surfaces.http.world import World, client_of
from tests.surfaces.mcp.conftest import Connect
from tests.surfaces.mcp.test_watches import session

INSIDE = replace(
    LOCAL_PERSON,
    token=TokenAccess("sandbox:sb_1", datetime(2100, 1, 1, tzinfo=UTC), SandboxId("sb_1")),
)
OTHER = replace(LOCAL_PERSON, id=PrincipalId("other"))


async def test_stream_ends_with_its_session(atoll: World) -> None:
    async with session(atoll) as one, one.stream() as stream:
        async with client_of(atoll.url, atoll.token) as client:
            assert (await client.delete("/mcp", headers=one.headers)).status_code == 204
        await stream.end()


async def test_one_stream_too_many_is_refused(
    atoll: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_streams, "MAX_STREAMS", 2)
    async with session(atoll) as one, client_of(atoll.url, atoll.token) as client:
        headers = {**one.headers, "Accept": "text/event-stream"}
        async with one.stream(), one.stream():
            refused = await client.get("/mcp", headers=headers)
            assert refused.status_code == 429
            assert refused.json()["code"] == "limit_reached"


@pytest.mark.parametrize("era", ["auto"], indirect=True)
async def test_one_listening_too_many_is_refused(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_streams, "MAX_STREAMS", 1)
    async with connect() as client, client.listen(tools_list_changed=True):
        with pytest.raises(Exception, match="1 streams are open already"):
            async with client.listen(tools_list_changed=True):
                pass


@pytest.mark.parametrize(("caller", "bound"), [(LOCAL_PERSON, MAX_STREAMS), (INSIDE, MAX_INSIDE)])
def test_streams_are_counted_by_caller_while_they_are_open(caller: Principal, bound: int) -> None:
    streams = OpenStreams()
    for _ in range(2):
        with ExitStack() as opened:
            for _ in range(bound):
                opened.enter_context(streams.counted(caller))
            with pytest.raises(LimitReached), streams.counted(caller):
                pass
            with streams.counted(OTHER):
                pass
    assert not streams._open


async def test_stream_that_is_never_read_holds_one_change() -> None:
    pulled = 0
    stuck = asyncio.Event()

    async def changes() -> AsyncIterator[Change]:
        nonlocal pulled
        while True:
            pulled += 1
            yield Change(("atoll://sandbox/one",), pulled)

    async def lists() -> AsyncIterator[None]:
        while True:
            yield

    async def left() -> Message:
        await stuck.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        # A client that takes the head alone, as the server makes who sends wait.
        if message["type"] == "http.response.body":
            stuck.set()
            await asyncio.Event().wait()

    standing = ChangeStream(changes(), lists(), asyncio.Event().wait)  # type: ignore[arg-type]
    async with asyncio.timeout(5):
        await standing({"type": "http"}, left, send)
    assert pulled <= 1
