import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from mcp.client.subscriptions import ResourceUpdated

from tests.surfaces.http.world import World, client_of
from tests.surfaces.mcp.conftest import Connect
from tests.surfaces.mcp.test_entry import ACCEPT, INITIALIZE


class Stream:
    """The standing stream of a session, as its client reads it."""

    def __init__(self, response: httpx.Response) -> None:
        self._lines = response.aiter_lines()
        self.last = ""

    async def next(self) -> str:
        """Return the next changed URI."""
        told = await self.message()
        assert told["method"] == "notifications/resources/updated"
        return str(told["params"]["uri"])

    async def message(self) -> dict[str, Any]:
        """Return the next message."""
        async with asyncio.timeout(5):
            async for line in self._lines:
                if line.startswith("id: "):
                    self.last = line.removeprefix("id: ")
                if line.startswith("data: "):
                    told: dict[str, Any] = json.loads(line.removeprefix("data: "))
                    return told
        raise AssertionError("the stream ended")

    async def end(self) -> None:
        """Wait until the server has ended the stream, with what comes before."""
        async with asyncio.timeout(5):
            async for _ in self._lines:
                pass


class Session:
    """A session of a client with a handshake."""

    def __init__(self, client: httpx.AsyncClient, session: str) -> None:
        self._client = client
        self.headers = {**ACCEPT, "Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-11-25"}

    async def ask(self, method: str, **params: object) -> dict[str, object]:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = await self._client.post("/mcp", json=body, headers=self.headers)
        told: dict[str, object] = answer.json()
        return told

    @asynccontextmanager
    async def stream(self, **headers: str) -> AsyncIterator[Stream]:
        told = {**self.headers, "Accept": "text/event-stream", **headers}
        async with self._client.stream("GET", "/mcp", headers=told) as response:
            assert response.status_code == 200, await response.aread()
            yield Stream(response)


@asynccontextmanager
async def session(atoll: World, token: str | None = None) -> AsyncIterator[Session]:
    async with client_of(atoll.url, token or atoll.token) as client:
        begun = await client.post("/mcp", json=INITIALIZE, headers=ACCEPT)
        yield Session(client, begun.headers["mcp-session-id"])


async def _create(atoll: World, name: str) -> str:
    async with client_of(atoll.url, atoll.token) as client:
        made = await client.post("/v1/sandboxes?wait=ready", json={"name": name})
        return str(made.json()["sandbox_id"])


async def test_watched_pattern_names_what_changed(atoll: World) -> None:
    async with session(atoll) as one:
        assert "error" not in await one.ask("resources/subscribe", uri="atoll://sandbox/*")
        async with one.stream() as stream:
            made = await _create(atoll, "one")
            assert await stream.next() == f"atoll://sandbox/{made}"


async def test_test_of_a_hook_is_told_to_who_watches_its_reports(atoll: World) -> None:
    async with session(atoll) as one, client_of(atoll.url, atoll.token) as client:
        made = await client.post("/v1/hooks", json={"source": "github", "name": "ours"})
        hook = made.json()["hook_id"]
        await one.ask("resources/subscribe", uri="atoll://gha/run/*")
        async with one.stream() as stream:
            assert (await client.post(f"/v1/hooks/{hook}/test")).is_success
            assert await stream.next() == f"atoll://gha/run/test/{hook}"


async def test_change_before_the_stream_is_not_missed(atoll: World) -> None:
    async with session(atoll) as one:
        await one.ask("resources/subscribe", uri="atoll://sandbox/*")
        first = await _create(atoll, "one")
        async with one.stream() as stream:
            assert await stream.next() == f"atoll://sandbox/{first}"
        second = await _create(atoll, "two")
        async with one.stream(**{"Last-Event-ID": stream.last}) as again:
            seen = {await again.next()}
            while f"atoll://sandbox/{second}" not in seen:
                seen.add(await again.next())


async def test_stream_from_an_id_that_was_never_given_is_refused(atoll: World) -> None:
    async with session(atoll) as one, client_of(atoll.url, atoll.token) as client:
        told = {**one.headers, "Accept": "text/event-stream"}
        for wrong in ("garbage", "-1", "1.5", "9" * 30, "9" * 5000):
            answer = await client.get("/mcp", headers={**told, "Last-Event-ID": wrong})
            assert answer.status_code == 400
            assert "Last-Event-ID must be a whole number" in answer.json()["error"]["message"]


async def test_watch_that_begins_during_the_stream_counts(atoll: World) -> None:
    async with session(atoll) as one, one.stream() as stream:
        await one.ask("resources/subscribe", uri="atoll://sandbox/*")
        made = await _create(atoll, "one")
        assert await stream.next() == f"atoll://sandbox/{made}"


async def test_ended_watch_and_ended_session_are_silent(atoll: World) -> None:
    async with session(atoll) as one:
        await one.ask("resources/subscribe", uri="atoll://sandbox/*")
        await one.ask("resources/unsubscribe", uri="atoll://sandbox/*")
        await one.ask("resources/subscribe", uri="atoll://agent/*")
        claims = await atoll.services.tools.sessions._claims(one.headers["Mcp-Session-Id"])
        assert claims is not None
        async with atoll.ground.store.read() as rows:
            assert [w.path for w in await rows.watches.of(claims.jti)] == ["agent/*"]
        async with client_of(atoll.url, atoll.token) as client:
            assert (await client.delete("/mcp", headers=one.headers)).status_code == 204
            assert (await client.delete("/mcp", headers=one.headers)).status_code == 404
        async with atoll.ground.store.read() as rows:
            assert await rows.watches.of(claims.jti) == []


async def test_resource_is_read_with_its_last_position(atoll: World) -> None:
    made = await _create(atoll, "one")
    async with session(atoll) as one:
        read = await one.ask("resources/read", uri=f"atoll://sandbox/{made}")
        listed = await one.ask("resources/read", uri="atoll://sandbox/*")
        absent = await one.ask("resources/read", uri="atoll://sandbox/none")
        wrong = await one.ask("resources/read", uri="file:///etc/passwd")
        templates = await one.ask("resources/templates/list")
        for method in ("tools/list", "resources/list", "resources/templates/list"):
            refused: Any = await one.ask(method, cursor="2")
            assert refused["error"]["code"] == -32602
    (content,) = read["result"]["contents"]  # type: ignore[index]
    assert json.loads(content["text"].split("\n")[0])["event_type"] == "sandbox.ready"
    assert [one["uri"] for one in listed["result"]["contents"]] == [  # type: ignore[index]
        f"atoll://sandbox/{made}"
    ]
    assert absent["error"]["code"] == -32002  # type: ignore[index]
    assert wrong["error"]["code"] == -32602  # type: ignore[index]
    assert len(templates["result"]["resourceTemplates"]) == 8  # type: ignore[index]


@pytest.mark.parametrize("era", ["auto"], indirect=True)
async def test_newest_revision_listens(atoll: World, connect: Connect) -> None:
    async with (
        connect() as client,
        client.listen(resource_subscriptions=["atoll://sandbox/*"]) as s,
    ):
        made = await _create(atoll, "one")
        async with asyncio.timeout(5):
            event = await anext(aiter(s))
    assert event == ResourceUpdated(uri=f"atoll://sandbox/{made}")
