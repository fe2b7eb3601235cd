"""The read model of workers over HTTP: listed, and followed by events and by a socket."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
import websockets
from google.protobuf import json_format

from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.workers.create import WorkerId
from atoll.domain.workers.record import WorkerEventDraft, worker_stream
from atoll.protocol.v1 import codex_admin_pb2 as admin_pb2
from atoll.testing.samples import NOW
from tests.surfaces.http.world import World, client_of, world

PLACE = "/v1/projections/worker_summaries"
SAID = WorkerEventDraft("worker.heartbeat", NOW, {"worker_id": "w", "heartbeat_state": "fresh"})


@pytest.fixture
async def atoll() -> AsyncIterator[World]:
    async with world() as made:
        yield made


async def _append(atoll: World, name: str, count: int) -> int:
    """Append events to a worker's stream. Returns the number of the newest."""
    async with atoll.ground.store.begin() as rows:
        found = await rows.workers.find(LOCAL_PERSON.org_id, LOCAL_PERSON.id, WorkerId(name))
        assert found is not None
        await rows.worker_events.append(found.key, [SAID] * count)
        return await rows.worker_events.last(found.key)


async def _has_ended(atoll: World, name: str) -> None:
    """Return once a worker has ended, as there is no program for it here: that is in its stream."""
    async with atoll.ground.store.read() as rows:
        found = await rows.workers.find(LOCAL_PERSON.org_id, LOCAL_PERSON.id, WorkerId(name))
    assert found is not None
    with atoll.ground.bus.listen(worker_stream(found.key)) as listener:
        while True:
            async with atoll.ground.store.read() as rows:
                if await rows.worker_events.last(found.key):
                    return
            await listener.wait()


def _strict(document: dict[str, Any]) -> admin_pb2.WorkerSummary:
    return json_format.ParseDict(document, admin_pb2.WorkerSummary())


async def test_list_says_how_far_each_summary_is_page_by_page(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        assert (await client.get(PLACE)).json() == {"worker_summaries": [], "next": None}
        for name in ("one", "two"):
            made = await client.post("/v1/workers", json={"worker_id": name})
            assert made.status_code == 201, made.text
            # Pages are by the moment of the create, and this clock stands still by itself.
            atoll.clock.at += timedelta(seconds=1)
            await _has_ended(atoll, name)
        await atoll.services.workers.summaries.look()
        newest = await _append(atoll, "two", 3)
        page = (await client.get(PLACE, params={"limit": 1})).json()
        (two,) = map(_strict, page["worker_summaries"])
        assert (two.worker_id, two.lag_events + two.last_seq) == ("two", newest)
        assert page["worker_summaries"][0]["status"] == "lagging"
        await atoll.services.workers.summaries.look()
        rest = (await client.get(PLACE, params={"limit": 1, "cursor": page["next"]})).json()
        (one,) = rest["worker_summaries"]
        assert (one["worker_id"], one["status"], rest["next"]) == ("one", "in_sync", None)


async def _token(atoll: World, **names: list[str]) -> str:
    async with client_of(atoll.url, atoll.token) as client:
        given = await client.post("/auth/subscription", json=names)
        return str(given.json().get("access_token") or given.json()["token"])


async def test_socket_sends_all_summaries_then_those_that_change(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        await client.post("/v1/workers", json={"worker_id": "one"})
    await atoll.services.workers.summaries.look()
    address = atoll.url.replace("http", "ws", 1) + PLACE + "/stream"
    headers = {"Authorization": f"Bearer {atoll.token}"}
    async with asyncio.timeout(20), websockets.connect(address, additional_headers=headers) as ws:
        first = json.loads(await ws.recv())
        assert [one["worker_id"] for one in first["worker_summaries"]] == ["one"]
        newest = await _append(atoll, "one", 2)
        await atoll.services.workers.summaries.look()
        while True:
            (then,) = json.loads(await ws.recv())["worker_summaries"]
            if then["last_seq"] >= newest:
                break
        assert _strict(then).worker_id == "one"


async def test_stream_begins_with_all(atoll: World) -> None:
    async with (
        asyncio.timeout(20),
        client_of(atoll.url, atoll.token) as client,
        client.stream("GET", f"{PLACE}/stream") as answer,
    ):
        assert answer.headers["content-type"].startswith("text/event-stream")
        kinds = []
        async for line in answer.aiter_lines():
            kinds += [line] if line.startswith("event: ") else []
            if line.startswith("data: "):
                assert json.loads(line.removeprefix("data: ")) == {"worker_summaries": []}
                break
        assert kinds == ["event: all"]


async def test_subscription_that_names_it_reads_its_stream_and_nothing_else(atoll: World) -> None:
    token = await _token(atoll, streams=[], models=["worker_summaries"])
    async with client_of(atoll.url, token) as client, asyncio.timeout(60):
        async with client.stream("GET", f"{PLACE}/stream") as answer:
            assert answer.status_code == 200
        for path in (PLACE, "/v1/workers", "/v1/projections/agents/stream", "/v1/agents"):
            assert (await client.get(path)).status_code == 404
