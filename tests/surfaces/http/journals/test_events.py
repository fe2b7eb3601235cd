"""The event log over HTTP: pages, and a stream that neither skips nor repeats."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import httpx
import msgspec
import pytest
import websockets

from atoll.domain.event_retention import Removal
from atoll.surfaces.http.people import feeds
from atoll.wire.api.events import EventPage, EventView
from tests.surfaces.http.world import World, client_of


async def _messages(answer: httpx.Response) -> AsyncIterator[dict[str, str]]:
    message: dict[str, str] = {}
    async for line in answer.aiter_lines():
        if line:
            name, _, value = line.partition(": ")
            message[name] = value
        else:
            if "id" in message:
                yield message
            message = {}


async def _read(
    client: httpx.AsyncClient, count: int, headers: dict[str, str], query: str = ""
) -> list[dict[str, str]]:
    seen: list[dict[str, str]] = []
    async with (
        asyncio.timeout(10),
        client.stream("GET", f"/v1/events/stream{query}", headers=headers) as answer,
    ):
        assert answer.headers["content-type"].startswith("text/event-stream")
        async for message in _messages(answer):
            if "data" not in message:
                continue  # where the stream begins
            seen.append(message)
            if len(seen) == count:
                break
    return seen


async def _make(client: httpx.AsyncClient, name: str) -> dict[str, Any]:
    made: dict[str, Any] = (
        await client.post("/v1/sandboxes?wait=ready", json={"name": name})
    ).json()
    return made


async def test_page_of_events_has_the_documented_shape_and_goes_on(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        made = await _make(client, "one")
        stream = f"sandbox:{made['sandbox_id']}"
        page = (await client.get("/v1/events", params={"stream": stream, "limit": 2})).json()
        rest = (
            await client.get("/v1/events", params={"stream": stream, "after": page["next"]})
        ).json()
    for event in [*page["events"], *rest["events"]]:
        msgspec.convert(event, EventView)
    kinds = [event["event_type"] for event in [*page["events"], *rest["events"]]]
    assert kinds == ["sandbox.requested", "sandbox.provisioning", "sandbox.ready"]
    assert [event["seq"] for event in page["events"]] == [1, 2]


async def test_stream_resumed_by_last_event_id_neither_skips_nor_repeats(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        for number in range(3):
            await _make(client, f"n{number}")
        whole = await _read(client, 9, {"Last-Event-ID": "0"})
        pieces: list[dict[str, str]] = []
        for _ in range(3):
            last = pieces[-1]["id"] if pieces else "0"
            pieces += await _read(client, 3, {"Last-Event-ID": last})
    assert pieces == whole
    assert [int(one["id"]) for one in whole] == sorted({int(one["id"]) for one in whole})
    assert json.loads(whole[0]["data"])["position"] == int(whole[0]["id"])


async def test_stream_without_a_position_begins_with_what_comes_next(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        await _make(client, "before")
        async with asyncio.TaskGroup() as group:
            opened = asyncio.Event()

            async def follow() -> str:
                async with client.stream("GET", "/v1/events/stream") as answer:
                    lines = answer.aiter_lines()
                    async for line in lines:
                        if line.startswith("retry"):
                            opened.set()
                        if line.startswith("data"):
                            return line
                return ""

            first = group.create_task(follow())
            await opened.wait()
            made = await _make(client, "after")
    assert made["sandbox_id"] in first.result()


async def test_stream_of_one_sandbox_shows_only_its_own(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        await _make(client, "other")
        made = await _make(client, "mine")
        query = f"?stream=sandbox:{made['sandbox_id']}&after=0"
        seen = await _read(client, 3, {}, query)
    assert {json.loads(one["data"])["payload"]["sandbox_id"] for one in seen} == {
        made["sandbox_id"]
    }


async def test_quiet_stream_says_it_is_alive(atoll: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "HEARTBEAT_SECONDS", 0.05)
    async with (
        client_of(atoll.url, atoll.token) as client,
        asyncio.timeout(5),
        client.stream("GET", "/v1/events/stream") as answer,
    ):
        async for line in answer.aiter_lines():
            if line.startswith(": "):
                break


async def test_login_is_an_event_without_its_ticket(atoll: World) -> None:
    ticket = await atoll.ticket()
    async with client_of(atoll.url) as client:
        await client.post("/auth/login", json={"ticket": ticket})
    async with client_of(atoll.url, atoll.token) as client:
        page = await client.get("/v1/events?stream=auth")
    assert [event["event_type"] for event in page.json()["events"]] == ["auth.login"]
    assert ticket not in page.text


@pytest.mark.parametrize("wrong", ["x", "-1", "1.5", "9" * 30, "０"])
async def test_stream_from_a_position_that_is_none_is_refused(atoll: World, wrong: str) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        if wrong.isascii():
            headers = {"Last-Event-ID": wrong}
            assert (await client.get("/v1/events/stream", headers=headers)).status_code == 422
        query = {"after": wrong}
        assert (await client.get("/v1/events", params=query)).status_code == 422


async def _forget(atoll: World, stream: str, below: int) -> None:
    async with atoll.services.events._store.begin() as rows:
        ever = datetime.min.replace(tzinfo=UTC)
        await rows.events.remove(Removal(stream, ever, below, 100))


async def test_page_says_what_is_no_longer_kept_to_those_who_ask_for_it(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        made = await _make(client, "one")
        stream = f"sandbox:{made['sandbox_id']}"
        query: dict[str, Any] = {"stream": stream}
        whole = (await client.get("/v1/events", params=query)).json()
        first, second, third = (event["position"] for event in whole["events"])
        assert whole["gap"] is None
        await _forget(atoll, stream, 3)
        page = (await client.get("/v1/events", params=query)).json()
        msgspec.convert(page, EventPage)
        assert [event["position"] for event in page["events"]] == [third]
        assert page["gap"] == {"after": 0, "to": second}
        for more, gap in (
            ({"after": first}, {"after": first, "to": second}),
            ({"after": second}, None),
            ({"latest": True, "limit": 1}, None),
            ({"latest": True, "limit": 2}, {"after": 0, "to": second}),
        ):
            page = (await client.get("/v1/events", params={**query, **more})).json()
            assert page["gap"] == gap


async def test_stream_resumed_where_events_are_gone_says_so_and_goes_on(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        made = await _make(client, "one")
        stream = f"sandbox:{made['sandbox_id']}"
        await _forget(atoll, stream, 3)
        seen: list[str] = []
        async with (
            asyncio.timeout(10),
            client.stream("GET", f"/v1/events/stream?stream={stream}&after=0") as answer,
        ):
            async for line in answer.aiter_lines():
                seen.append(line)
                if line.startswith("id: ") and len(seen) > 4:
                    break
    # The gap has no id: who is cut off behind it comes back to where they were.
    assert seen[1:5] == ["id: 0", "", "event: gap", 'data: {"after":0,"to":2}']
    assert seen[-1] == "id: 3"


def _socket(atoll: World, query: str) -> Any:
    address = atoll.url.replace("http", "ws", 1)
    headers = {"Authorization": f"Bearer {atoll.token}"}
    return websockets.connect(f"{address}/v1/events/stream{query}", additional_headers=headers)


async def test_socket_sends_what_was_and_what_comes_and_resumes(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        await _make(client, "one")
        async with asyncio.timeout(10), _socket(atoll, "?after=0") as socket:
            first = [json.loads(await socket.recv()) for _ in range(3)]
            assert [one["position"] for one in first] == [1, 2, 3]
            assert first[0]["event_type"] == "sandbox.requested"
            await socket.send("what a client says is dropped")
            await _make(client, "two")
            while json.loads(await socket.recv())["payload"].get("name") != "two":
                pass
        async with asyncio.timeout(10), _socket(atoll, "?after=2") as socket:
            assert json.loads(await socket.recv()) == first[2]


async def test_socket_of_one_stream_sends_that_stream_and_tells_of_its_gap(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        made = await _make(client, "one")
        await _make(client, "two")
    stream = f"sandbox:{made['sandbox_id']}"
    async with atoll.ground.store.begin() as rows:
        await rows.events.remove(Removal(stream, datetime.now(UTC), 3, 10))
    async with asyncio.timeout(10), _socket(atoll, f"?after=0&stream={stream}") as socket:
        assert json.loads(await socket.recv())["gap"]["after"] == 0
        assert json.loads(await socket.recv())["stream"] == stream


async def test_reader_ahead_of_the_log_is_told_on_every_surface_and_hears_what_comes(
    atoll: World,
) -> None:
    """As after a backup was restored."""
    async with client_of(atoll.url, atoll.token) as client:
        await _make(client, "one")
        last = await atoll.services.events.last_position()
        page = (await client.get("/v1/events?after=5000")).json()
        gap = {"after": 5000, "to": page["next"]}
        assert page == {"events": [], "next": page["next"], "gap": gap}
        assert page["next"] >= last
        headers = {"Last-Event-ID": "5000"}
        async with (
            asyncio.timeout(10),
            client.stream("GET", "/v1/events/stream", headers=headers) as answer,
            _socket(atoll, "?after=5000") as socket,
        ):
            lines = answer.aiter_lines()
            told = [line async for line in _until(lines, "event: gap")]
            # Where it is cut off now, it goes on from here.
            place = told[-2].removeprefix("id: ")
            assert json.loads((await anext(lines)).removeprefix("data: "))["to"] == int(place)
            assert json.loads(await socket.recv())["gap"]["after"] == 5000
            await _make(client, "two")
            [line async for line in _until(lines, "event: sandbox.requested")]
            assert json.loads(await socket.recv())["event_type"] == "sandbox.requested"


async def _until(lines: AsyncIterator[str], end: str) -> AsyncIterator[str]:
    async for line in lines:
        yield line
        if line == end:
            return


@pytest.mark.parametrize(
    "query",
    [
        "?after=-1",
        "?after=x",
        f"?after={'9' * 30}",
        "?stream=",
        "?stream=deploy:x",
        "?stream=sandbox:*",
        "?stream=sandbox:nope",
    ],
)
async def test_socket_with_a_wrong_query_is_closed_with_a_reason(atoll: World, query: str) -> None:
    async with asyncio.timeout(10), _socket(atoll, query) as socket:
        with pytest.raises(websockets.ConnectionClosedError) as closed:
            await socket.recv()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 4403
    assert closed.value.rcvd.reason


async def test_socket_without_a_credential_is_refused(atoll: World) -> None:
    address = atoll.url.replace("http", "ws", 1)
    with pytest.raises(websockets.InvalidStatus):
        async with websockets.connect(f"{address}/v1/events/stream"):
            pass
