"""Tools of the control plane at the broker door: a token is added, and a request leaves once."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp
import pytest
from aiohttp import web

from atoll.runtime.doors.broker.tools import tool_requests
from atoll.wire.contract.policy import Policy, ToolAccess
from tests.claims import free_port
from tests.peers.broker import Door, broker_door
from tests.runtime.doors.broker.test_broker import serving

TOKEN = "aaaa.bbbb-canary.cccc"
CALL = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class World:
    door: Door
    client: aiohttp.ClientSession
    url: str
    seen: list[web.Request] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    answer: Answer | None = None

    def grant(self, revision: int, token: str = TOKEN, *, url: str = "", left: float = 60) -> None:
        """Give access to the tools by a new policy."""
        access = ToolAccess(base_url=url or self.url, token=token, ends_at=time.time() + left)
        self.door.policy.replace(Policy(revision=revision, tools=access))

    async def call(
        self, path: str = "/mcp", method: str = "POST", **more: str
    ) -> tuple[int, str, dict[str, str]]:
        url, data = self.door.url + path, CALL if method == "POST" else None
        async with self.client.request(method, url, data=data, headers=more) as answer:
            return answer.status, await answer.text(), dict(answer.headers)


@pytest.fixture
async def at() -> AsyncIterator[World]:
    held: list[World] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        world = held[0]
        world.seen.append(request)
        world.bodies.append(await request.read())
        if world.answer is not None:
            return await world.answer(request)
        echo = {"Mcp-Session-Id": "s.1", "WWW-Authenticate": "Bearer", "X-A": TOKEN}
        return web.Response(text=f"echo {request.headers['Authorization']}", headers=echo)

    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", answer)
    async with serving(app) as url, aiohttp.ClientSession() as client, broker_door() as door:
        held.append(World(door, client, url))
        held[0].grant(1)
        yield held[0]


@asynccontextmanager
async def unanswered(at: World) -> AsyncIterator[asyncio.Task[tuple[int, str, dict[str, str]]]]:
    """A call that has no answer half a second later; at the end of the block it has one."""
    async with asyncio.TaskGroup() as tasks:
        call = tasks.create_task(at.call())
        done, _ = await asyncio.wait({call}, timeout=0.5)
        assert not done
        yield call


async def test_token_is_added_and_masked_when_it_comes_back(at: World) -> None:
    mine = {"Authorization": "Bearer mine", "Cookie": "a=b", "Mcp-Session-Id": "s.1",
            "Mcp-Protocol-Version": "2025-11-25", "Last-Event-Id": "7", "Mcp-Name": "events.recent",
            "Origin": "http://evil.example", "X-Forwarded-For": "1.2.3.4"}  # fmt: skip
    status, text, headers = await at.call("/mcp?names=flat", **mine)
    assert status == 200 and TOKEN not in text and TOKEN not in str(headers)
    # An agent that sees a challenge would begin a login of its own.
    assert headers["Mcp-Session-Id"] == "s.1" and "WWW-Authenticate" not in headers
    (seen,) = at.seen
    assert seen.headers.getall("Authorization") == [f"Bearer {TOKEN}"]
    assert seen.path_qs == "/mcp?names=flat" and at.bodies == [CALL]
    passed = {"Mcp-Session-Id", "Mcp-Protocol-Version", "Last-Event-Id", "Mcp-Name"}
    assert {name: seen.headers[name] for name in passed} == {name: mine[name] for name in passed}
    assert not {"Cookie", "Origin", "X-Forwarded-For"} & set(seen.headers)
    assert "'mcp'" in str(at.door.audit[-1]) and TOKEN not in str(at.door.journal)


@pytest.mark.parametrize(
    ("method", "path"),
    [("PUT", "/mcp"), ("PATCH", "/mcp"), ("OPTIONS", "/mcp"),
     ("POST", "/mcp?names=plain"), ("POST", "/mcp?token=x"), ("POST", "/mcp/x"), ("GET", "/mcp/"),
     ("POST", "/broker/mcp/mcp"), ("POST", "/atoll/mcp")],
)  # fmt: skip
async def test_everything_else_never_leaves(at: World, method: str, path: str) -> None:
    status, _, _ = await at.call(path, method)
    assert status in {400, 403, 404} and at.seen == []


async def test_stream_passes_piece_by_piece_and_ends_with_its_reader(at: World) -> None:
    more, left = asyncio.Event(), asyncio.Event()

    async def stream(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b"data: 1\n\n")
        await more.wait()
        await response.write(b"data: 2\n\n")
        try:
            while True:
                await response.write(b": ping\n\n")
                await asyncio.sleep(0.02)
        except (OSError, asyncio.CancelledError):
            left.set()
            raise

    at.answer = stream
    async with at.client.get(at.door.url + "/mcp") as answer:
        assert await answer.content.readuntil(b"\n\n") == b"data: 1\n\n"
        more.set()
        assert await answer.content.readuntil(b"\n\n") == b"data: 2\n\n"
        answer.close()
    async with asyncio.timeout(10):
        await left.wait()


async def test_call_waits_for_a_control_plane_that_is_away_and_is_sent_once(at: World) -> None:
    port = free_port()
    at.grant(2, url=f"http://127.0.0.1:{port}")
    async with unanswered(at) as waiting:
        # Another replica answers at another place, and a policy says so.
        at.grant(3, "new.new.new")
    status, text, _ = await waiting
    assert status == 200 and "********" in text
    (seen,) = at.seen
    assert seen.headers["Authorization"] == "Bearer new.new.new" and at.bodies == [CALL]


async def test_call_waits_for_a_token_that_holds(at: World) -> None:
    at.grant(2, "old.old.old", left=-1)
    async with unanswered(at) as waiting:
        assert at.seen == []
        at.grant(3, "new.new.new")
    assert (await waiting)[0] == 200 and len(at.seen) == 1


async def test_call_is_refused_after_the_wait_and_was_not_sent(
    at: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool_requests, "WAIT_SECONDS", 0.3)
    at.grant(2, url=f"http://127.0.0.1:{free_port()}")
    status, text, _ = await at.call()
    assert status == 502 and "not sent" in text and at.seen == []


async def test_call_whose_control_plane_dies_over_it_is_not_sent_again(at: World) -> None:
    async def die(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    at.answer = die
    status, _, _ = await at.call()
    assert status == 502 and len(at.seen) == 1
    at.answer = None
    assert (await at.call())[0] == 200


async def test_access_that_is_taken_back_ends_what_waits(at: World) -> None:
    at.grant(2, url=f"http://127.0.0.1:{free_port()}")
    async with unanswered(at) as waiting:
        at.door.policy.replace(Policy(revision=3))
    status, text, _ = await waiting
    assert status == 403 and "revoked" in text
    status, text, _ = await at.call()
    assert status == 404 and "no tools" in text and at.seen == []


@pytest.mark.parametrize("base_url", ["http://203.0.113.1:80", "ftp://127.0.0.1", "nothing"])
async def test_token_is_sent_to_this_machine_or_by_https_only(at: World, base_url: str) -> None:
    at.grant(2, url=base_url)
    assert (await at.call())[0] == 404
