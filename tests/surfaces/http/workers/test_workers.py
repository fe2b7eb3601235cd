"""Routes of workers: three prefixes for one service, every bad input with its code, and whose they
are."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from ipaddress import ip_network
from typing import Any

import httpx
import msgspec
import pytest
from google.protobuf import json_format
from google.protobuf.message import Message

from atoll.domain.workers.artifact import WorkerArtifact
from atoll.domain.workers.ledger import RequestRefusal, Response
from atoll.domain.workers.lifecycle import WorkerTornDown
from atoll.domain.workers.live import WorkerDelta
from atoll.domain.workers.record import WorkerEvent, WorkerEventDraft
from atoll.domain.workers.talk import OpenQuestion, WorkerTalk, WorkerThread
from atoll.protocol.v1 import codex_events_pb2 as events_pb2
from atoll.protocol.v1 import codex_workers_pb2 as workers_pb2
from atoll.surfaces.http.server.front_end import FrontEnd
from atoll.surfaces.http.workers.views import event_view, receipt_view
from atoll.surfaces.http.workers.workers import _messages
from atoll.wire.words.workers import ErrorCode
from tests.surfaces.http.team import team_of
from tests.surfaces.http.world import World, client_of, world

__all__ = ["atoll"]

PREFIXES = ("/v1/workers", "/internal/v1/codex/workers", "/api/runtime/codex/workers")
SECRET = "s" * 40
HERE = FrontEnd((ip_network("127.0.0.0/8"),), SECRET.encode())
KNOWN = {"X-Atoll-Front-End": SECRET}
ANN, BOB = {**KNOWN, "X-OA-User-Id": "ann"}, {**KNOWN, "X-OA-User-Id": "bob"}
GUEST = {**KNOWN, "X-OA-Guest-Scope": "g-1"}


@pytest.fixture
async def atoll() -> AsyncIterator[World]:
    async with world() as made:
        yield made


@pytest.fixture
async def client(atoll: World) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(atoll.url, atoll.token) as opened:
        yield opened


def request(method: str = "thread/list", number: str = "r1", **params: Any) -> dict[str, Any]:
    return {"request": {"request_id": number, "method": method, "params": params}}


def strict(kind: type[Message], document: Any) -> Any:
    """Parse an answer by a generated class, which refuses what it does not know."""
    return json_format.ParseDict(document, kind())


async def test_answers_parse_strictly_by_the_generated_classes(client: httpx.AsyncClient) -> None:
    body = {
        "worker_id": "w",
        "backend": "namespaces",
        "metadata": {"team": "blue"},
        "repos": [{"repo_url": "https://git.example/o/r", "from_branch": "main"}],
        "teardown": {"policy": "retain", "retain_for": "90m"},
    }
    made = (await client.post(PREFIXES[1], json=body)).json()
    created = strict(workers_pb2.CreateWorkerResponse, made)
    assert (created.worker.worker_id, created.worker.extension) == ("w", "ext.namespaces")
    assert created.worker.teardown.retain_for == "1h30m"
    assert created.worker.metadata == {"team": "blue"}
    strict(workers_pb2.ListWorkersResponse, (await client.get(PREFIXES[1])).json())
    shown = (await client.get(f"{PREFIXES[1]}/w/snapshot")).json()
    assert strict(workers_pb2.WorkerSnapshot, shown).HasField("created_at")
    stopped = (await client.post(f"{PREFIXES[1]}/w/stop", json={})).json()
    assert strict(workers_pb2.StopWorkerResponse, stopped).worker_id == "w"


AT = datetime(2026, 1, 2, tzinfo=UTC)
PAYLOADS: list[tuple[str, dict[str, Any]]] = [
    ("worker.started", {"worker_id": "w", "epoch": 1, "reattached": False}),
    ("worker.request.received", {"worker_id": "w", "request_id": "r", "method": "turn/start"}),
    ("worker.response", {"worker_id": "w", "request_id": "r", "result": '{"n":9007199254740993}'}),
    ("worker.error", {"request_id": "r", "code": "timeout", "message": "late", "retryable": False}),
    ("worker.event", {"method": "item/started", "params": '{"f":1.0}', "server_request_id": "1"}),
    ("worker.lost", {"epoch": 1, "reason": "gone"}),
    ("worker.recovered", {"epoch": 1, "delivered": 0}),
    ("worker.handed_over", {"holder": "person", "thread_id": "t"}),
    ("worker.stopped", {"status": "stopped", "reason": None, "markers": {"last_seq": 7}}),
    ("worker.torn_down", {"policy": "immediate", "removed": ["sandbox:sb_1"], "leftovers": []}),
]


@pytest.mark.parametrize(("event_type", "payload"), PAYLOADS, ids=[kind for kind, _ in PAYLOADS])
def test_frames_parse_strictly_by_the_generated_classes(
    event_type: str, payload: dict[str, Any]
) -> None:
    frame = event_view("w", WorkerEvent(3, event_type, 1, AT, payload))
    parsed = strict(events_pb2.WorkerEvent, frame)
    member = parsed.payload.WhichOneof("payload")
    assert (parsed.worker_id, parsed.seq, parsed.event_type) == ("w", 3, event_type)
    assert member == event_type.removeprefix("worker.").replace(".", "_")
    if event_type == "worker.response":
        assert parsed.payload.response.result == payload["result"]


def test_receipts_parse_strictly_by_the_generated_classes() -> None:
    for receipt, outcome in (
        (None, None),
        (Response('{"n":9007199254740993}'), "response"),
        (RequestRefusal(ErrorCode.OUTCOME_UNKNOWN, "died", "{}"), "error"),
        (RequestRefusal(ErrorCode.WORKER_UNAVAILABLE, "not sent"), "error"),
    ):
        document = msgspec.to_builtins(receipt_view("w", "r", receipt))
        parsed = strict(workers_pb2.WorkerReceipt, document)
        assert parsed.WhichOneof("outcome") == outcome


async def test_three_prefixes_are_one_service(client: httpx.AsyncClient) -> None:
    for prefix in PREFIXES:
        made = await client.post(prefix, json={"worker_id": "w"})
        assert made.status_code == (201 if prefix == PREFIXES[0] else 200), made.text
        shown = await client.get(f"{prefix}/w/snapshot")
        assert shown.json()["worker_id"] == "w"
        assert [one["worker_id"] for one in (await client.get(prefix)).json()["workers"]] == ["w"]
    stopped = await client.post(f"{PREFIXES[1]}/w/stop", json={"reason": "done"})
    assert stopped.status_code == 202


BAD_CREATES: list[tuple[dict[str, Any], str]] = [
    ({}, "worker_id"),
    ({"worker_id": "../x"}, "worker_id"),
    ({"worker_id": "w", "agent": "nobody"}, "agent"),
    ({"worker_id": "w", "agent": "aider"}, "agent"),
    ({"worker_id": "w", "backend": "desktop", "execution_mode": "sandbox"}, "execution_mode"),
    ({"worker_id": "w", "execution_mode": "elsewhere"}, "execution_mode"),
    ({"worker_id": "w", "workspace_ref": "/root"}, "workspace_ref"),
    ({"worker_id": "w", "codex_home_ref": "sandbox:sb_1/agent-home"}, "codex_home_ref"),
    ({"worker_id": "w", "thread_id": "a b"}, "thread_id"),
    ({"worker_id": "w", "permissions": "everything"}, "permissions"),
    ({"worker_id": "w", "teardown": {"policy": "never"}}, "teardown.policy"),
    (
        {"worker_id": "w", "teardown": {"policy": "immediate", "retain_for": "1h"}},
        "teardown.retain_for",
    ),
    ({"worker_id": "w", "metadata": {"a": "x" * 513}}, "metadata.a"),
    ({"worker_id": "w", "backend": "No Such"}, "backend"),
    ({"worker_id": "w", "backend": "ext./etc"}, "backend"),
    ({"worker_id": "w", "selection": {"allow": ["no such"]}}, "selection.allow"),
    ({"worker_id": "w", "selection": {"allow": ["ext.UP"]}}, "selection.allow"),
    ({"worker_id": "w", "selection": {"allow": ["docker"] * 33}}, "selection.allow"),
    ({"worker_id": "w", "selection": {"region": ""}}, "selection.region"),
    ({"worker_id": "w", "selection": {"strategy": "cheapest"}}, "selection.strategy"),
    ({"worker_id": "w", "selection": {"strategy": "explicit"}}, "selection.strategy"),
    ({"worker_id": "w", "selection": {"max_ready_ms": 0}}, "selection.max_ready_ms"),
    ({"worker_id": "w", "selection": {"max_ready_ms": "9"}}, "selection.max_ready_ms"),
    ({"worker_id": "w", "selection": {"min_success": 1.1}}, "selection.min_success"),
    ({"worker_id": "w", "selection": {"require_isolation": "all"}}, "selection.require_isolation"),
    (
        {
            "worker_id": "w",
            "selection": {"max_cost_per_hour": {"amount": "1e9", "currency": "USD"}},
        },
        "selection.max_cost_per_hour.amount",
    ),
    (
        {"worker_id": "w", "selection": {"max_cost_per_hour": {"amount": "1", "currency": "us"}}},
        "selection.max_cost_per_hour.currency",
    ),
    ({"worker_id": "w", "selection": {"gpu": "any"}}, "selection.gpu"),
    ({"worker_id": "w", "unheard": 1}, "unheard"),
]


@pytest.mark.parametrize("prefix", PREFIXES)
async def test_wrong_create_names_its_field(client: httpx.AsyncClient, prefix: str) -> None:
    for body, field in BAD_CREATES:
        answer = await client.post(prefix, json=body)
        assert (answer.status_code, answer.json()["field"]) == (422, field), answer.text
    assert (await client.get(prefix)).json()["workers"] == []


@pytest.mark.parametrize("prefix", PREFIXES)
async def test_worker_that_no_backend_takes_is_refused(
    client: httpx.AsyncClient, prefix: str
) -> None:
    for more, code, field in (
        ({"backend": "openagents_gcp"}, "no_route", "backend"),
        ({"backend": "cloudflare_sandbox"}, "no_route", "backend"),
        ({"backend": "in_memory"}, "no_route", "backend"),
        ({"backend": "desktop"}, "no_route", "backend"),
        ({"execution_mode": "desktop"}, "no_route", "selection"),
        ({"selection": {"allow": ["daytona"]}}, "no_route", "selection"),
        ({"selection": {"require_isolation": "microvm"}}, "no_route", "selection"),
    ):
        answer = await client.post(prefix, json={"worker_id": "w", **more})
        told = answer.json()
        assert (answer.status_code, told["code"], told["field"]) == (409, code, field), told
    assert (await client.get(prefix)).json()["workers"] == []


@pytest.mark.parametrize("prefix", PREFIXES)
async def test_repeated_create_is_the_same_worker_or_a_conflict(
    client: httpx.AsyncClient, prefix: str
) -> None:
    body = {"worker_id": "again", "agent": "codex", "permissions": "ask"}
    assert (await client.post(prefix, json=body)).status_code == 201
    for same in ({}, {"agent": "codex"}, {"permissions": "ask"}, {"profile": "codex"}):
        answer = await client.post(prefix, json={"worker_id": "again", **same})
        assert (answer.status_code, answer.json()["reattached"]) == (200, True), answer.text
    for other in (
        {"agent": "claude-code"},
        {"permissions": "allow"},
        {"metadata": {"a": "b"}},
        {"thread_id": "t-nobody"},
        {"teardown": {"policy": "immediate"}},
        {"backend": "docker"},
    ):
        answer = await client.post(prefix, json={"worker_id": "again", **other})
        (field,) = other
        assert (answer.status_code, answer.json()["code"]) == (409, "conflict"), answer.text
        assert answer.json()["field"] == field


@pytest.mark.parametrize("prefix", PREFIXES)
async def test_conversation_that_nobody_can_know_makes_no_worker(
    client: httpx.AsyncClient, prefix: str
) -> None:
    answer = await client.post(prefix, json={"worker_id": "w", "thread_id": "0199-nobody"})
    assert (answer.status_code, answer.json()["field"]) == (422, "thread_id"), answer.text
    assert "0199-nobody" in answer.json()["detail"]
    assert (await client.get(prefix)).json()["workers"] == []


async def test_selection_is_a_message_of_the_protocol(client: httpx.AsyncClient) -> None:
    body = {
        "worker_id": "w",
        "selection": {
            "allow": ["namespaces"],
            "region": "local",
            "require_isolation": "container",
            "strategy": "desktop_preferred",
        },
    }
    strict(workers_pb2.CreateWorkerRequest, body)
    made = await client.post(PREFIXES[0], json=body)
    assert made.status_code == 201, made.text


BAD_REQUESTS: list[tuple[dict[str, Any], str, str]] = [
    (request("config/read"), "unsupported_method", "request.method"),
    (request("nothing/at/all"), "unsupported_method", "request.method"),
    (request("thread/read"), "invalid_request", "request.params.threadId"),
    (request("thread/start", config={}), "invalid_request", "request.params.config"),
    (request("thread/start", cwd="/"), "invalid_request", "request.params.cwd"),
    ({**request(), "wait_ms": 60_001}, "invalid", "wait_ms"),
    ({**request(), "wait_ms": -1}, "invalid", "wait_ms"),
    (request(number=""), "invalid", "request.request_id"),
    (request(number="a b"), "invalid", "request.request_id"),
    (request(number="x" * 129), "invalid", "request.request_id"),
    ({"request": {"request_id": "r"}}, "invalid", "request.method"),
    ({}, "invalid", "request"),
]


async def test_wrong_request_has_its_code_and_its_field(client: httpx.AsyncClient) -> None:
    await client.post(PREFIXES[0], json={"worker_id": "w"})
    for body, code, field in BAD_REQUESTS:
        answer = await client.post(f"{PREFIXES[1]}/w/requests", json=body)
        told = answer.json()
        assert (answer.status_code, told["code"], told["field"]) == (422, code, field), told
    assert (await client.get(f"{PREFIXES[0]}/w/snapshot")).json()["pending"]["request_ids"] == []


async def test_stream_is_resumed_by_one_number(client: httpx.AsyncClient) -> None:
    await client.post(PREFIXES[0], json={"worker_id": "w"})
    place = f"{PREFIXES[2]}/w/stream"
    differing = await client.get(place, params={"cursor": 3}, headers={"Last-Event-ID": "4"})
    assert (differing.status_code, differing.json()["field"]) == (422, "cursor")
    for wrong in ({"cursor": -1}, {"cursor": "x"}):
        assert (await client.get(place, params=wrong)).status_code == 422
    assert (await client.get(place, headers={"Last-Event-ID": "x"})).status_code == 422


async def made_with_events(
    atoll: World, client: httpx.AsyncClient, count: int, removed: int = 0
) -> None:
    """The worker `w`, which failed to start, with so many events, of which the first are no longer
    kept."""
    await client.post(PREFIXES[0], json={"worker_id": "w"})
    with atoll.ground.bus.listen() as listener:
        while (await client.get(f"{PREFIXES[0]}/w/snapshot")).json()["status"] == "starting":
            await listener.wait()
    said = {"worker_id": "w", "method": "item/started", "params": "{}"}
    async with atoll.ground.store.begin() as rows:
        (key,) = [one.key for one in await rows.workers.unsettled()]
        drafts = [WorkerEventDraft("worker.event", AT, said)] * (count - 1)
        await rows.worker_events.append(key, drafts)
        await rows.worker_events.remove(key, removed + 1)


@pytest.mark.parametrize("prefix", PREFIXES)
async def test_phone_that_polls_has_what_is_there(
    atoll: World, client: httpx.AsyncClient, prefix: str
) -> None:
    """By `tail_ms`."""
    await made_with_events(atoll, client, 250)
    for cursor, expected in ((0, 250), (247, 3), (250, 0)):
        polled = await client.get(f"{prefix}/w/stream?cursor={cursor}&tail_ms=0")
        assert polled.headers["content-type"].startswith("text/event-stream")
        assert polled.text.count("event: worker.") == expected
        ids = [line for line in polled.text.splitlines() if line.startswith("id: ")]
        assert ids[-1] == "id: 250"
    for wrong in ("-1", "60001", "1.5", "x"):
        refused = await client.get(f"{prefix}/w/stream?tail_ms={wrong}")
        assert (refused.status_code, refused.json()["field"]) == (422, "tail_ms")


@pytest.mark.parametrize("prefix", PREFIXES)
async def test_cursor_whose_events_are_gone_names_where_to_resume(
    atoll: World, client: httpx.AsyncClient, prefix: str
) -> None:
    await made_with_events(atoll, client, 5, removed=3)
    for query, headers in (("cursor=2", {}), ("", {"Last-Event-ID": "2"}), ("", {})):
        gone = await client.get(f"{prefix}/w/stream?{query}", headers=headers)
        assert gone.status_code == 410
        told = gone.json()
        assert (told["code"], told["resume_after"]) == ("stale_cursor", 3)
        stale = {name: told[name] for name in ("code", "resume_after")}
        assert strict(events_pb2.StaleCursor, stale).resume_after == 3
    polled = await client.get(f"{prefix}/w/stream?cursor=3&tail_ms=0")
    assert polled.text.count("event: worker.event") == 2
    ahead = await client.get(f"{prefix}/w/stream?cursor=5000")
    assert (ahead.status_code, ahead.json()["code"]) == (410, "stale_cursor")
    resumed = ahead.json()["resume_after"]
    assert (await client.get(f"{prefix}/w/stream?cursor={resumed}&tail_ms=0")).status_code == 200


@pytest.mark.parametrize("prefix", PREFIXES)
async def test_owner_deletes_what_was_said(
    atoll: World, client: httpx.AsyncClient, prefix: str
) -> None:
    await made_with_events(atoll, client, 5)
    erased = await client.delete(f"{prefix}/w/stream")
    assert (erased.status_code, erased.json()) == (200, {"removed": 4, "resume_after": 4})
    assert (await client.get(f"{prefix}/w/stream?tail_ms=0")).status_code == 410
    polled = await client.get(f"{prefix}/w/stream?cursor=4&tail_ms=0")
    assert polled.text.count("event: worker.") == 1
    assert (await client.delete(f"{prefix}/x/stream")).status_code == 404


async def test_snapshot_of_a_stopped_worker_says_when_it_is_removed_and_what_was_left(
    atoll: World, client: httpx.AsyncClient
) -> None:
    await made_with_events(atoll, client, 1)
    place = f"{PREFIXES[1]}/w/snapshot"
    shown = (await client.get(place)).json()
    assert strict(workers_pb2.WorkerSnapshot, shown).HasField("remove_at")
    assert shown["torn_down"] is None
    torn_down = WorkerTornDown(("sandbox:sb_1",), ("volume v: busy",))
    async with atoll.ground.store.begin() as rows:
        (record,) = await rows.workers.unsettled()
        gone = replace(record.worker, torn_down=torn_down, remove_at=AT)
        await rows.workers.put(replace(record, worker=gone))
    shown = (await client.get(place)).json()
    parsed = strict(workers_pb2.WorkerSnapshot, shown)
    assert [*parsed.torn_down.removed] == ["sandbox:sb_1"]
    assert [*parsed.torn_down.leftovers] == ["volume v: busy"]
    assert shown["remove_at"] == "2026-01-02T00:00:00.000Z"


async def test_snapshot_with_everything_parses_strictly(
    atoll: World, client: httpx.AsyncClient
) -> None:
    await made_with_events(atoll, client, 2)
    talk = WorkerTalk((WorkerThread("t", "u", "One"), WorkerThread("t2")), (OpenQuestion("7", 2),))
    async with atoll.ground.store.begin() as rows:
        (record,) = await rows.workers.unsettled()
        await rows.workers.put(replace(record, talk=talk))
        artifact = WorkerArtifact("a", "text/plain", 2**32 - 1, "a" * 64)
        await rows.worker_artifacts.put(record.key, artifact, AT)
    shown = (await client.get(f"{PREFIXES[1]}/w/snapshot")).json()
    parsed = strict(workers_pb2.WorkerSnapshot, shown)
    assert [one.thread_id for one in parsed.threads] == ["t", "t2"]
    assert (parsed.threads[0].turn_id, parsed.threads[1].HasField("turn_id")) == ("u", False)
    (question,) = parsed.pending.server_requests
    assert (question.server_request_id, question.params) == ("7", "{}")
    assert (parsed.artifacts[0].size, parsed.usage.requests) == (2**32 - 1, 0)
    created = (await client.post(PREFIXES[1], json={"worker_id": "w"})).json()
    assert strict(workers_pb2.CreateWorkerResponse, created).events_kept_for == "30d"


async def test_delta_is_a_frame_without_an_id() -> None:
    async def said() -> AsyncIterator[list[WorkerEvent | WorkerDelta]]:
        payload = {"method": "item/started", "params": "{}"}
        yield [WorkerEvent(3, "worker.event", 1, AT, dict(payload))]
        yield []
        yield [WorkerDelta("w", "x/delta", '{"n":9007199254740993}', t) for t in ("t", None)]

    event, deltas = [message async for message in _messages("w", said())]
    assert event.startswith(b"id: 3\nevent: worker.event\ndata: {")
    frames = deltas.split(b"\n\n")
    assert len(frames) == 3 and frames[-1] == b""
    for frame, thread in zip(frames[:2], ("t", ""), strict=True):
        name, data = frame.split(b"\n")
        assert name == b"event: worker.delta"
        parsed = strict(events_pb2.WorkerDelta, json.loads(data.removeprefix(b"data: ")))
        assert (parsed.worker_id, parsed.thread_id) == ("w", thread)
        assert parsed.params == '{"n":9007199254740993}'


async def test_foreign_and_missing_workers_answer_alike_and_guests_have_their_own() -> None:
    async with world(front_end=HERE) as atoll:
        await team_of(atoll, ann="member", bob="member")
        async with httpx.AsyncClient(base_url=atoll.url, trust_env=False) as client:
            for headers in (ANN, GUEST):
                made = await client.post(PREFIXES[1], json={"worker_id": "w"}, headers=headers)
                assert made.status_code == 201, made.text
            for prefix in PREFIXES:
                listed = await client.get(prefix, headers=BOB)
                assert listed.json().get("workers") == [], listed.text
                for method, rest, body in (
                    ("GET", "snapshot", None),
                    ("POST", "requests", request()),
                    ("POST", "stop", {}),
                    ("POST", "take", {"thread_id": "t"}),
                    ("POST", "give-back", None),
                    ("GET", "stream", None),
                    ("DELETE", "stream", None),
                ):
                    told = []
                    for name in ("w", "x"):
                        place = f"{prefix}/{name}/{rest}"
                        answer = await client.request(method, place, json=body, headers=BOB)
                        assert answer.status_code == 404
                        told.append(answer.json()["detail"].replace(f"'{name}'", "…"))
                    assert told[0] == told[1]
                both = {**ANN, "X-OA-Guest-Scope": "g-1"}
                for headers in (both, KNOWN, {"X-OA-User-Id": "ann"}, {}):
                    refused = await client.get(f"{prefix}/w/snapshot", headers=headers)
                    assert refused.status_code in (401, 403)
