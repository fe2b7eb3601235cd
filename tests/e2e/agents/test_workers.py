"""Real agents as workers: a thread, a turn that writes a file, a stream without a gap, a stop."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from google.protobuf import json_format
from google.protobuf.message import Message

from atoll.protocol.v1 import codex_events_pb2 as events_pb2
from atoll.protocol.v1 import codex_workers_pb2 as workers_pb2
from atoll.testing.server import TestServer
from tests.e2e.agents.agent_world import TOOLS, World, run

pytestmark = [
    pytest.mark.agents,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
]

STOP = "/v1/workers/first/stop"
WRITE = TOOLS["codex"].format(command="echo made > made.txt")


def strict(kind: type[Message], document: Any) -> Any:
    """Parse an answer by a generated class, which refuses what it does not know."""
    return json_format.ParseDict(document, kind())


async def snapshot(w: World, name: str) -> dict[str, Any]:
    answer = await w.api.get(f"/v1/workers/{name}/snapshot")
    assert answer.status_code == 200, answer.text
    shown: dict[str, Any] = answer.json()
    strict(workers_pb2.WorkerSnapshot, shown)
    return shown


async def until(w: World, name: str, status: str) -> dict[str, Any]:
    async with asyncio.timeout(120):
        while (shown := await snapshot(w, name))["status"] != status:
            assert shown["status"] != "failed", shown["reason"]
            await asyncio.sleep(0.2)
    return shown


async def asked(w: World, name: str, number: str, method: str, **params: Any) -> dict[str, Any]:
    body = {"request": {"request_id": number, "method": method, "params": params}}
    answer = await w.api.post(f"/v1/workers/{name}/requests", json={**body, "wait_ms": 30_000})
    assert answer.status_code == 200, answer.text
    receipt = strict(workers_pb2.WorkerReceipt, answer.json())
    assert receipt.HasField("response"), receipt
    result: dict[str, Any] = json.loads(receipt.response.result)
    return result


async def stream(w: World, name: str, ends: str) -> list[dict[str, Any]]:
    """Every event of the stream, until one of this kind or method."""
    found = []
    async with asyncio.timeout(120), w.api.stream("GET", f"/v1/workers/{name}/stream") as answer:
        async for line in answer.aiter_lines():
            if line.startswith("data: "):
                found.append(json.loads(line[6:]))
                strict(events_pb2.WorkerEvent, found[-1])
                said = found[-1]["payload"].get("event", {})
                if ends in (found[-1]["event_type"], said.get("method")):
                    break
    assert [one["seq"] for one in found] == list(range(1, len(found) + 1))
    return found


async def test_codex_as_a_worker_writes_a_file_and_is_stopped(
    w: World, provide_agent: Callable[[TestServer, str], None]
) -> None:
    provide_agent(w.server, "codex")
    made = await w.api.post("/v1/workers", json={"worker_id": "first"})
    assert made.status_code == 201, made.text
    await until(w, "first", "running")
    thread = (await asked(w, "first", "r1", "thread/start"))["thread"]["id"]
    words = [{"type": "text", "text": f"[[tool {WRITE}]]"}]
    await asked(w, "first", "r2", "turn/start", threadId=thread, input=words)
    events = await stream(w, "first", "turn/completed")
    kinds = [one["event_type"] for one in events]
    assert kinds.count("worker.response") == 2
    shown = strict(workers_pb2.WorkerSnapshot, await snapshot(w, "first"))
    assert (shown.extension, shown.sandbox.isolation.mechanism) == ("ext.namespaces", "bubblewrap")
    assert shown.route.chosen.host == "local"
    sandbox = (await w.api.get("/v1/sandboxes")).json()["sandboxes"][0]["sandbox_id"]
    assert await run(w, sandbox, "cat", "made.txt") == (0, b"made\n")
    again = await w.api.post("/v1/workers", json={"worker_id": "first"})
    assert (again.status_code, again.json()["reattached"]) == (200, True)
    await asyncio.to_thread(w.server.kill)
    await asyncio.to_thread(w.server.start)
    w.api.base_url = httpx.URL(w.server.url)
    listed = await asked(w, "first", "r3", "thread/list")
    assert thread in [one["id"] for one in listed["data"]]
    for _ in range(2):
        stopped = await w.api.post(STOP)
        assert stopped.status_code == 202, stopped.text
    await until(w, "first", "stopped")
    events = await stream(w, "first", "worker.stopped")
    assert events[-1]["payload"]["stopped"]["markers"]["last_seq"] == len(events) - 1
    ended = strict(workers_pb2.StopWorkerResponse, (await w.api.post(STOP)).json())
    assert ended.markers.workspace_ref == f"sandbox:{sandbox}/workspace"
