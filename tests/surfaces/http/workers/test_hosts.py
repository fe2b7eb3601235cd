"""Routes of desktops and of what hosts deliver: every bad input with its code, and frames that the
generated classes parse."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from google.protobuf import json_format

from atoll.adapters.bus.live_channels import InProcessChannels
from atoll.adapters.vaults.envelope import EnvelopeVault, MasterKey
from atoll.adapters.workers.dialled import DialledHost
from atoll.domain.ids import PrincipalId, WorkerKey
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.workers.create import CreateWorker, WorkerId
from atoll.domain.workers.dialled import (
    FollowOffer,
    HoldOffer,
    HostOffer,
    RemoveOffer,
    ReturnOffer,
    StartOffer,
    StopOffer,
)
from atoll.domain.workers.heartbeat import Lease
from atoll.domain.workers.ledger import RequestRefusal, Response, WorkerRequest
from atoll.domain.workers.lifecycle import Worker
from atoll.domain.workers.record import WorkerRecord
from atoll.protocol.v1 import codex_events_pb2 as events_pb2
from atoll.services.workers.desktop_deltas import DesktopDeltas
from atoll.surfaces.http.workers.desktops import offer_view
from atoll.wire.words.workers import WorkerStatus
from atoll.wiring.control.lifecycle import workers as wiring
from tests.surfaces.http.world import World, client_of, world

__all__ = ["atoll"]

PLACE = "/v1/desktops/laptop"
EVENTS = "/v1/workers/w/events"
WALL = {"level": "container", "mechanism": "bubblewrap", "degraded": ["memory: no limit"]}
BARE = {"level": "none", "mechanism": "none", "degraded": ["all: no wall was asked for"]}
ACTS = {
    "PUT /v1/desktops/{desktop}/presence": {
        "isolation.level": "test_presence_says_the_level_mechanism_and_lacks_of_a_wall",
        "isolation.mechanism": "test_presence_says_the_level_mechanism_and_lacks_of_a_wall",
        "isolation.degraded": "test_presence_says_the_level_mechanism_and_lacks_of_a_wall",
    },
    "POST /v1/workers/{worker_id}/events": {
        "epoch": "test_items_of_every_kind_are_taken_as_they_came",
        "first": "test_items_of_every_kind_are_taken_as_they_came",
        "items.event.method": "test_items_of_every_kind_are_taken_as_they_came",
        "items.event.params": "test_items_of_every_kind_are_taken_as_they_came",
        "items.event.server_request_id": "test_items_of_every_kind_are_taken_as_they_came",
        "items.response.request_id": "test_items_of_every_kind_are_taken_as_they_came",
        "items.response.result": "test_items_of_every_kind_are_taken_as_they_came",
        "items.error.request_id": "test_items_of_every_kind_are_taken_as_they_came",
        "items.error.code": "test_items_of_every_kind_are_taken_as_they_came",
        "items.error.message": "test_items_of_every_kind_are_taken_as_they_came",
        "items.error.data": "test_items_of_every_kind_are_taken_as_they_came",
        "deltas.after": "test_pieces_of_text_are_shown_with_a_heartbeat_and_kept_by_nobody",
        "deltas.pieces.method": "test_pieces_of_text_are_shown_with_a_heartbeat_and_kept_by_nobody",
        "deltas.pieces.params": "test_pieces_of_text_are_shown_with_a_heartbeat_and_kept_by_nobody",
    },
}


@pytest.fixture
async def atoll() -> AsyncIterator[World]:
    async with world() as made:
        yield made


@pytest.fixture
async def client(atoll: World) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(atoll.url, atoll.token) as opened:
        yield opened


def host_of(atoll: World) -> DialledHost:
    vault = EnvelopeVault(lambda: [MasterKey(b"m" * 32)])
    return DialledHost(atoll.ground.store, atoll.ground.bus, vault, clock=atoll.ground.clock)


async def granted(atoll: World, client: httpx.AsyncClient) -> WorkerRecord:
    """A worker `w` that the desktop `laptop` has the lease on."""
    assert (await client.put(PLACE)).status_code == 201
    now = atoll.clock.now()
    created = CreateWorker(WorkerId("w"), thread_id="t-1")
    worker = Worker(created.worker_id, status=WorkerStatus.RUNNING)
    org, owner = LOCAL_PERSON.org_id, PrincipalId(LOCAL_PERSON.id)
    record = WorkerRecord(WorkerKey("wk_a"), org, owner, created, worker, Lease(1, now), now)
    async with atoll.ground.store.begin() as rows:
        await rows.workers.put(record)
        (laptop,) = await rows.desktops.of(org, owner)
    await host_of(atoll).grant(record, laptop)
    return record


async def frames(client: httpx.AsyncClient, count: int) -> list[tuple[str, dict[str, Any]]]:
    """The first frames of the desktop's offers."""
    found: list[tuple[str, dict[str, Any]]] = []
    kind = ""
    async with client.stream("GET", f"{PLACE}/offers") as answer:
        assert answer.status_code == 200
        async for line in answer.aiter_lines():
            kind = line[7:] if line.startswith("event: ") else kind
            if line.startswith("data: "):
                found.append((kind, json.loads(line[6:])))
                if len(found) == count:
                    break
    return found


async def test_desktop_is_linked_shown_and_unlinked(client: httpx.AsyncClient) -> None:
    made = await client.put(PLACE)
    assert (made.status_code, made.json()["present"]) == (201, False)
    assert made.json()["heard_at"] is None
    assert (await client.put(PLACE)).status_code == 200
    there = await client.put(f"{PLACE}/presence", json={"isolation": BARE})
    told = there.json()
    assert (told["present"], told["isolation"]["weak"]) == (True, True)
    assert told["heard_at"] >= told["linked_at"]
    assert told["isolation"]["degraded"] == BARE["degraded"]
    (listed,) = (await client.get("/v1/desktops")).json()["desktops"]
    assert listed == told
    assert (await client.delete(f"{PLACE}/presence")).status_code == 204
    (listed,) = (await client.get("/v1/desktops")).json()["desktops"]
    assert listed["present"] is False
    assert (await client.delete(PLACE)).status_code == 204
    for method, path in (("DELETE", ""), ("GET", "/offers"), ("DELETE", "/presence")):
        assert (await client.request(method, f"{PLACE}{path}")).status_code == 404


async def test_presence_says_the_level_mechanism_and_lacks_of_a_wall(
    client: httpx.AsyncClient,
) -> None:
    """Each is what the desktop's workers are shown with, and what routes judge."""
    await client.put(PLACE)
    for wall, weak in ((WALL, True), (BARE, True), ({**WALL, "degraded": []}, False)):
        told = await client.put(f"{PLACE}/presence", json={"isolation": wall})
        found = told.json()["isolation"]
        assert [found[name] for name in ("level", "mechanism", "degraded")] == [*wall.values()]
        assert found["weak"] is weak


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"isolation": None},
        {"isolation": {"level": "strong", "mechanism": "x"}},
        {"isolation": {**WALL, "degraded": ["x" * 201]}},
        {"isolation": {**WALL, "degraded": ["x"] * 33}},
        {"isolation": {**WALL, "weak": False}},
        {"isolation": {**WALL, "mechanism": 1}},
    ],
)
async def test_presence_that_is_wrong_is_invalid(client: httpx.AsyncClient, body: Any) -> None:
    await client.put(PLACE)
    assert (await client.put(f"{PLACE}/presence", json=body)).status_code == 422


@pytest.mark.parametrize("name", ["Laptop", "-x", "a" * 41, "a%2Fb", "%20"])
async def test_name_that_no_desktop_has_is_refused(client: httpx.AsyncClient, name: str) -> None:
    assert (await client.put(f"/v1/desktops/{name}")).status_code in (404, 405, 422)


async def test_offers_parse_strictly_and_the_token_is_beside_them(
    atoll: World, client: httpx.AsyncClient
) -> None:
    await granted(atoll, client)
    (lease, told), (kind, offer) = await frames(client, 2)
    for _ in range(2):
        assert await frames(client, 2) == [(lease, told), (kind, offer)]
        assert (lease, kind) == ("lease", "offer")
        assert sorted(told) == ["epoch", "reattachable", "token", "worker_id"]
        parsed = json_format.ParseDict(offer, events_pb2.HostOffer())
        assert (parsed.worker_id, parsed.epoch) == ("w", 1)
        assert parsed.provision.thread_id == "t-1"
        assert told["token"] not in json.dumps(offer)
    started = {"request_id": "host start", "result": '{"agent_id":"a"}'}
    taken = await delivered(atoll, told["token"], {"response": started})
    json_format.ParseDict(taken.json(), events_pb2.IngestResponse())
    async with atoll.ground.store.read() as rows:
        assert await rows.host_offers.everything() == []


@pytest.mark.parametrize(
    ("command", "member"),
    [
        (StartOffer("t"), "provision"),
        (WorkerRequest("r", "turn/start", {"n": 2**53 + 1}), "request"),
        (StopOffer(), "stop"),
        (RemoveOffer(), "remove"),
        (HoldOffer("t1"), "hold"),
        (ReturnOffer("t1"), "give_back"),
        (FollowOffer(), "follow"),
    ],
)
def test_every_offer_parses_strictly(command: Any, member: str) -> None:
    offer = HostOffer(7, CreateWorker(WorkerId("w")), 1, "r", command)
    parsed = json_format.ParseDict(offer_view(offer), events_pb2.HostOffer())
    assert (parsed.WhichOneof("offer"), parsed.number) == (member, 7)
    if member == "request":
        assert parsed.request.params == '{"n":9007199254740993}'


async def delivered(
    atoll: World, token: str, *items: Any, first: int = 1, epoch: int = 1
) -> httpx.Response:
    async with client_of(atoll.url, token) as host:
        return await host.post(EVENTS, json={"epoch": epoch, "first": first, "items": [*items]})


async def token_of(atoll: World, client: httpx.AsyncClient) -> str:
    await granted(atoll, client)
    ((_, lease),) = await frames(client, 1)
    return str(lease["token"])


async def test_items_of_every_kind_are_taken_as_they_came(
    atoll: World, client: httpx.AsyncClient
) -> None:
    token = await token_of(atoll, client)
    params = '{"n": 9007199254740993, "f":1.0,"é":"\\u2028"}'
    items: list[dict[str, Any]] = [
        {"event": {"method": "item/started", "params": params, "server_request_id": "7"}},
        {"response": {"request_id": "r1", "result": "[1.0]"}},
        {"error": {"request_id": "r2", "code": "timeout", "message": "late", "data": "{}"}},
        {"heartbeat": {"heartbeat_state": "fresh", "heartbeat_age_ms": 1}},
    ]
    for one in items:
        json_format.ParseDict(one, events_pb2.IngestItem())
    first = await delivered(atoll, token, *items)
    assert (first.status_code, first.json()) == (200, {"expected": 5, "taken": 4})
    again = await delivered(atoll, token, *items)
    assert again.json() == {"expected": 5, "taken": 0}
    gap = await delivered(atoll, token, items[0], first=9)
    assert gap.json() == {"expected": 5, "taken": 0}
    async with atoll.ground.store.read() as rows:
        found = await rows.host_entries.page(WorkerKey("wk_a"), 1, 0, 10)
    assert found[0].line == f'{{"method":"item/started","params":{params},"id":"7"}}'
    assert [one.request_id for one in found] == ["", "r1", "r2", ""]
    result, error = found[1].receipt, found[2].receipt
    assert result == Response("[1.0]")
    assert isinstance(error, RequestRefusal)
    assert (error.code, error.message, error.data) == ("timeout", "late", "{}")
    stale = await delivered(atoll, token, items[0], epoch=2)
    assert (stale.status_code, stale.json()["code"]) == (409, "stale_lease")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"epoch": 0, "first": 1},
        {"epoch": 1, "first": 0},
        {"epoch": 1, "first": 2**60},
        {"epoch": "1", "first": 1},
        {"epoch": 1, "first": 1, "items": [{}]},
        {"epoch": 1, "first": 1, "items": [{"event": {"method": "a"}, "heartbeat": {}}]},
        {"epoch": 1, "first": 1, "items": [{"event": {"method": "a", "params": "{"}}]},
        {"epoch": 1, "first": 1, "items": [{"event": {"method": "a", "params": '1,"id":2'}}]},
        {"epoch": 1, "first": 1, "items": [{"event": {"method": "a b", "params": "{}"}}]},
        {"epoch": 1, "first": 1, "items": [{"event": {"method": "a", "params": {}}}]},
        {"epoch": 1, "first": 1, "items": [{"response": {"request_id": "r r", "result": "1"}}]},
        {"epoch": 1, "first": 1, "items": [{"response": {"request_id": "r", "result": "x"}}]},
        {"epoch": 1, "first": 1, "items": [{"error": {"request_id": "r", "code": "oops",
                                                     "message": ""}}]},
        {"epoch": 1, "first": 1, "items": [{"heartbeat": {"heartbeat_age_ms": -1}}]},
        {"epoch": 1, "first": 1, "items": [{"heartbeat": {}}] * 501},
        {"epoch": 1, "first": 1, "items": [{"event": {"method": "a", "params": "[" * 100_000}}]},
        {"epoch": 1, "first": 1, "more": 1},
        {"epoch": 1, "first": 1, "deltas": [{"after": -1, "pieces": []}]},
        {"epoch": 1, "first": 1, "deltas": [{"after": 0}]},
        {"epoch": 1, "first": 1, "deltas": [{"after": 0, "pieces": []}] * 101},
        {"epoch": 1, "first": 1, "deltas": [{"after": 0, "pieces": [{"method": "a"}] * 1001}]},
        {"epoch": 1, "first": 1, "deltas": [{"after": 0, "pieces": [{"method": "a",
                                                                     "params": "{"}]}]},
        {"epoch": 1, "first": 1, "deltas": [{"after": 0, "pieces": [{"method": "a",
                                                                     "params": '1,"id":2'}]}]},
        {"epoch": 1, "first": 1, "deltas": [{"after": 0, "pieces": [{"method": "a", "params":
                                                                     '"' + "x" * 65536 + '"'}]}]},
    ],
)  # fmt: skip
async def test_batch_that_is_wrong_is_invalid_and_takes_nothing(
    atoll: World, client: httpx.AsyncClient, body: Any
) -> None:
    token = await token_of(atoll, client)
    async with client_of(atoll.url, token) as host:
        answer = await host.post(EVENTS, json=body)
        assert answer.status_code == 422, answer.text
        following = await host.post(EVENTS, json={"epoch": 1, "first": 1})
        assert following.json() == {"expected": 1, "taken": 0}


async def test_pieces_of_text_are_shown_with_a_heartbeat_and_kept_by_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    channels = InProcessChannels()
    monkeypatch.setattr(wiring, "DesktopDeltas", lambda _: DesktopDeltas(channels))
    async with world() as atoll, client_of(atoll.url, atoll.token) as client:
        token = await token_of(atoll, client)
        piece = {"method": "item/agentMessage/delta", "params": '{"n": 9007199254740993}'}
        deltas = {"after": 3, "pieces": [piece]}
        json_format.ParseDict(deltas, events_pb2.IngestDeltas())
        body = {"epoch": 1, "first": 1, "deltas": [deltas]}
        with channels.subscribe(LOCAL_PERSON.org_id, "worker-deltas:wk_a:1") as heard:
            async with client_of(atoll.url, token) as host:
                answer = await host.post(EVENTS, json=body)
                stale = await host.post(EVENTS, json={**body, "epoch": 2})
            message = await heard.receive()
        assert (answer.json(), stale.status_code) == ({"expected": 1, "taken": 0}, 409)
        line = '{"method":"item/agentMessage/delta","params":{"n": 9007199254740993}}'
        assert isinstance(message, bytes) and json.loads(message) == [3, [line]]
        async with atoll.ground.store.read() as rows:
            assert await rows.host_entries.page(WorkerKey("wk_a"), 1, 0, 10) == []


async def test_line_of_four_mebibytes_is_taken_and_a_batch_is_bounded(
    atoll: World, client: httpx.AsyncClient
) -> None:
    token = await token_of(atoll, client)
    event = {"event": {"method": "a", "params": json.dumps("x" * 4 * 2**20)}}
    assert (await delivered(atoll, token, event)).json()["taken"] == 1
    refused = await delivered(atoll, token, *[event] * 5, first=2)
    assert refused.status_code == 413
