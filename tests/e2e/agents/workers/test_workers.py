"""Real agents as workers: a thread, a turn that writes a file, a stream without a gap, a stop."""

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import httpx
import pytest
from google.protobuf import json_format
from google.protobuf.message import Message

from atoll.domain.agents.registry import find
from atoll.protocol.v1 import codex_events_pb2 as events_pb2
from atoll.protocol.v1 import codex_workers_pb2 as workers_pb2
from atoll.testing.server import TestServer
from tests.e2e.agents.agent_world import TOOLS, World, first_here, run
from tests.e2e.conftest import CACHE
from tests.peers.api import Pauses
from tests.places import ROOT

pytestmark = [
    pytest.mark.agents,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
]

STOP = "/v1/workers/first/stop"
FIXTURES = ROOT / "tests" / "fixtures" / "workers"
ASKS = (
    'exec_command {"cmd":"echo asked > asked.txt","sandbox_permissions":"require_escalated",'
    '"justification":"May I?"}'
)
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
        pauses = Pauses()
        while (shown := await snapshot(w, name))["status"] != status:
            assert shown["status"] != "failed", shown["reason"]
            await pauses.wait()
    return shown


async def asked(w: World, name: str, number: str, method: str, **params: Any) -> dict[str, Any]:
    body = {"request": {"request_id": number, "method": method, "params": params}}
    answer = await w.api.post(f"/v1/workers/{name}/requests", json={**body, "wait_ms": 30_000})
    assert answer.status_code == 200, answer.text
    receipt = strict(workers_pb2.WorkerReceipt, answer.json())
    assert receipt.HasField("response"), receipt
    result: dict[str, Any] = json.loads(receipt.response.result)
    return result


async def frames(w: World, name: str) -> AsyncGenerator[dict[str, Any], None]:
    """The events of a stream from its beginning, without a gap. Deltas have no `id`."""
    numbered, last = False, 0
    async with asyncio.timeout(120), w.api.stream("GET", f"/v1/workers/{name}/stream") as answer:
        async for line in answer.aiter_lines():
            numbered = bool(line) and (numbered or line.startswith("id: "))
            if line.startswith("data: ") and not numbered:
                strict(events_pb2.WorkerDelta, json.loads(line[6:]))
            elif line.startswith("data: "):
                event = json.loads(line[6:])
                strict(events_pb2.WorkerEvent, event)
                last += 1
                assert event["seq"] == last
                yield event


async def stream(w: World, name: str, ends: str, count: int = 1) -> list[dict[str, Any]]:
    """Every event of the stream, until one of this kind or method has come so often."""
    found = []
    async with aclosing(frames(w, name)) as events:
        async for event in events:
            found.append(event)
            count -= ends in (event["event_type"], event["payload"].get("event", {}).get("method"))
            if not count:
                break
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


async def test_codex_as_a_worker_asks_before_it_acts_and_no_request_undoes_that(
    w: World, provide_agent: Callable[[TestServer, str], None]
) -> None:
    provide_agent(w.server, "codex")
    made = await w.api.post("/v1/workers", json={"worker_id": "asks", "permissions": "ask"})
    assert made.status_code == 201, made.text
    await until(w, "asks", "running")
    bad = {"request_id": "r0", "method": "thread/start", "params": {"approvalPolicy": "never"}}
    refused = await w.api.post("/v1/workers/asks/requests", json={"request": bad})
    told = refused.json()
    assert (refused.status_code, told["code"]) == (422, "invalid_request"), refused.text
    assert told["field"] == "request.params.approvalPolicy"
    thread = (await asked(w, "asks", "r1", "thread/start"))["thread"]["id"]
    words = [{"type": "text", "text": f"[[tool {ASKS}]]"}]
    await asked(w, "asks", "r2", "turn/start", threadId=thread, input=words)
    question = (await stream(w, "asks", "item/commandExecution/requestApproval"))[-1]
    sandbox = (await w.api.get("/v1/sandboxes")).json()["sandboxes"][0]["sandbox_id"]
    assert (await run(w, sandbox, "test", "-e", "asked.txt"))[0] == 1
    respond = {"server_request_id": question["payload"]["event"]["server_request_id"]}
    await asked(w, "asks", "r3", "serverRequest/respond", **respond, result={"decision": "accept"})
    await stream(w, "asks", "turn/completed")
    assert await run(w, sandbox, "cat", "asked.txt") == (0, b"asked\n")


async def test_codex_as_a_worker_is_stopped_amid_a_turn(
    w: World, provide_agent: Callable[[TestServer, str], None]
) -> None:
    provide_agent(w.server, "codex")
    made = await w.api.post("/v1/workers", json={"worker_id": "busy"})
    assert made.status_code == 201, made.text
    await until(w, "busy", "running")
    thread = (await asked(w, "busy", "r1", "thread/start"))["thread"]["id"]
    command = TOOLS["codex"].format(command="echo begun > begun.txt; sleep 600")
    words = [{"type": "text", "text": f"[[tool {command}]]"}]
    await asked(w, "busy", "r2", "turn/start", threadId=thread, input=words)
    await stream(w, "busy", "item/started")
    stopped = await w.api.post("/v1/workers/busy/stop", json={"reason": "enough"})
    assert stopped.status_code == 202, stopped.text
    shown = await until(w, "busy", "stopped")
    assert (shown["reason"], shown["pending"]["request_ids"]) == ("enough", [])
    again = await w.api.post("/v1/workers", json={"worker_id": "busy"})
    assert again.json()["reattached"] is True
    await until(w, "busy", "running")
    listed = await asked(w, "busy", "r3", "thread/list")
    assert thread in [one["id"] for one in listed["data"]]


def schema_of_codex(folder: Path, *options: str) -> dict[str, dict[str, Any]]:
    """Params of each request, as the installed Codex describes them."""
    package = find("codex").package
    assert package is not None
    program = CACHE / "codex" / package.version / "bin" / "codex"
    out = folder / "schema"
    argv = [str(program), "app-server", "generate-json-schema", *options, "--out", str(out)]
    env = {**os.environ, "HOME": str(folder), "CODEX_HOME": str(folder)}
    subprocess.run(argv, env=env, check=True, capture_output=True)
    schema = json.loads((out / "ClientRequest.json").read_text())
    found: dict[str, dict[str, Any]] = {}
    for one in schema["oneOf"]:
        params = one["properties"].get("params", {})
        while name := params.get("$ref"):
            params = schema["definitions"][name.rpartition("/")[2]]
        found[one["properties"]["method"]["enum"][0]] = params
    return found


@pytest.mark.parametrize(
    ("fixture", "part", "options"),
    [("methods", "required", ()), ("fields", "properties", ("--experimental",))],
)
async def test_installed_codex_has_the_methods_and_fields_that_are_classified(
    w: World,
    provide_agent: Callable[[TestServer, str], None],
    tmp_path: Path,
    fixture: str,
    part: str,
    options: tuple[str, ...],
) -> None:
    provide_agent(w.server, "codex")
    found = await asyncio.to_thread(schema_of_codex, tmp_path, *options)
    known = json.loads((FIXTURES / f"codex-0.171.0-{fixture}.json").read_text())
    if fixture == "methods":
        assert sorted(found) == sorted(known)
    told = {name: sorted(found[name].get(part, {})) for name in known}
    assert told == {name: [one.rstrip("?") for one in fields] for name, fields in known.items()}


@first_here("codex", "claude-code")
async def test_person_takes_a_worker_types_to_it_and_gives_it_back(
    w: World, provide_agent: Callable[[TestServer, str], None], agent: str
) -> None:
    provide_agent(w.server, agent)
    held = f"held-{agent}"
    made = await w.api.post("/v1/workers", json={"worker_id": held, "agent": agent})
    assert made.status_code == 201, made.text
    await until(w, held, "running")
    thread = (await asked(w, held, "r1", "thread/start"))["thread"]["id"]
    begin = TOOLS[agent].format(command="echo made > made.txt")
    words = [{"type": "text", "text": f"[[tool {begin}]]"}]
    await asked(w, held, "r2", "turn/start", threadId=thread, input=words)
    await stream(w, held, "turn/completed")
    sandbox = (await snapshot(w, held))["sandbox"]["id"]
    answers = [await w.api.post(f"/v1/workers/{held}/take") for _ in range(2)]
    assert [one.status_code for one in answers] == [200, 200], answers[0].text
    taken, again = (strict(workers_pb2.TakeWorkerResponse, one.json()) for one in answers)
    assert taken == again
    assert (taken.sandbox_id, taken.thread_id) == (sandbox, thread)
    assert await trees(w, sandbox) == [("tui", taken.terminal_id)]
    assert (await snapshot(w, held))["held_by_person"] is True
    bad = {"request_id": "r3", "method": "thread/list", "params": {}}
    refused = await w.api.post(f"/v1/workers/{held}/requests", json={"request": bad})
    assert (refused.status_code, refused.json()["code"]) == (409, "held_by_person")
    typed = TOOLS[agent].format(command="echo typed > typed.txt")
    place = f"/v1/sandboxes/{sandbox}/terminals/{taken.terminal_id}"

    async def types() -> bool:
        prompt = {"prompt": f"[[tool {typed}]]"}
        return (await w.api.post(f"{place}/ask", json=prompt)).is_success

    async def is_done() -> bool:
        return await run(w, sandbox, "cat", "typed.txt") == (0, b"typed\n")

    await eventually(types)
    await eventually(is_done)
    for _ in range(2):
        given = await w.api.post(f"/v1/workers/{held}/give-back")
        assert given.status_code == 200, given.text
        assert strict(workers_pb2.WorkerSnapshot, given.json()).held_by_person is False
    (machine,) = await trees(w, sandbox)
    assert machine[0] == "machine"
    found = await asked(w, held, "r4", "thread/read", threadId=thread, includeTurns=True)
    assert len(found["thread"]["turns"]) == 2
    assert "typed.txt" in json.dumps(found)
    events = await stream(w, held, "worker.response")
    assert [one["event_type"] for one in events].count("worker.lost") == 0
    stopped = await w.api.post(f"/v1/workers/{held}/stop")
    assert stopped.status_code == 202, stopped.text
    await until(w, held, "stopped")


async def eventually(happens: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(60):
        pauses = Pauses()
        while True:
            if await happens():
                return
            await pauses.wait()


async def trees(w: World, sandbox: str) -> list[tuple[str, str]]:
    """Mode and id of each agent that runs in a sandbox."""
    found = (await w.api.get(f"/v1/sandboxes/{sandbox}/agents")).json()["agents"]
    return [(one["mode"], one["id"]) for one in found if one["agent_state"] != "stopped"]
