"""Real agents as workers that speak their own protocol: two threads, a question, an interrupt.

What the stream holds is compared with what the agent itself has written down.
"""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf import json_format

from atoll.protocol.v1 import codex_events_pb2 as events_pb2
from atoll.testing.server import TestServer
from tests.e2e.agents.agent_world import TOOLS, World, run
from tests.e2e.agents.test_workers import asked, until

pytestmark = [
    pytest.mark.agents,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
]


def words(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


def said(events: list[dict[str, Any]], method: str, thread: str) -> list[dict[str, Any]]:
    """Params of the agent's messages with this method in a thread."""
    found = []
    for one in events:
        event = one["payload"].get("event", {})
        if event.get("method") == method:
            params = json.loads(event["params"])
            if params["threadId"] == thread:
                found.append(params)
    return found


async def heard(w: World, name: str, method: str, count: int = 1) -> list[dict[str, Any]]:
    """Every event of the stream, until this method has come so often."""
    found = []
    async with asyncio.timeout(120), w.api.stream("GET", f"/v1/workers/{name}/stream") as answer:
        async for line in answer.aiter_lines():
            if line.startswith("data: "):
                found.append(strict(json.loads(line[6:])))
                said = found[-1]["payload"].get("event", {})
                count -= method == said.get("method")
                if not count:
                    break
    assert [one["seq"] for one in found] == list(range(1, len(found) + 1))
    return found


def strict(event: dict[str, Any]) -> dict[str, Any]:
    """An event, which the generated class parses."""
    json_format.ParseDict(event, events_pb2.WorkerEvent())
    return event


def completed(events: list[dict[str, Any]], thread: str) -> list[tuple[str, str]]:
    return [
        (one["item"]["id"], one["item"]["type"]) for one in said(events, "item/completed", thread)
    ]


async def read(w: World, name: str, number: str, thread: str) -> list[dict[str, Any]]:
    """The turns of a thread, as the agent has written them down."""
    shown = await asked(w, name, number, "thread/read", threadId=thread, includeTurns=True)
    turns: list[dict[str, Any]] = shown["thread"]["turns"]
    return turns


async def test_claude_code_as_a_worker_has_two_threads_asks_and_is_interrupted(
    w: World, provide_agent: Callable[[TestServer, str], None]
) -> None:
    provide_agent(w.server, "claude-code")
    body = {"worker_id": "c", "agent": "claude", "permissions": "ask"}
    made = await w.api.post("/v1/workers", json=body)
    assert made.status_code == 201, made.text
    assert (await until(w, "c", "running"))["agent"] == "claude-code"
    one = (await asked(w, "c", "r1", "thread/start"))["thread"]["id"]
    two = (await asked(w, "c", "r2", "thread/start"))["thread"]["id"]
    assert one != two
    write = TOOLS["claude-code"].format(command="echo made > made.txt")
    turn = await asked(w, "c", "r3", "turn/start", threadId=two, input=words(f"[[tool {write}]]"))
    question = (await heard(w, "c", "item/commandExecution/requestApproval"))[-1]["payload"]
    assert json.loads(question["event"]["params"])["turnId"] == turn["turn"]["id"]
    sandbox = (await w.api.get("/v1/sandboxes")).json()["sandboxes"][0]["sandbox_id"]
    assert (await run(w, sandbox, "test", "-e", "made.txt"))[0] == 1
    respond = {"server_request_id": question["event"]["server_request_id"]}
    await asked(w, "c", "r4", "serverRequest/respond", **respond, result={"decision": "accept"})
    await heard(w, "c", "turn/completed")
    assert await run(w, sandbox, "cat", "made.txt") == (0, b"made\n")
    held = await asked(w, "c", "r5", "turn/start", threadId=one, input=words("[[hold gate]]"))
    await asked(w, "c", "r6", "turn/interrupt", threadId=one, turnId=held["turn"]["id"])
    await heard(w, "c", "turn/completed", 2)
    again = await asked(w, "c", "r7", "turn/start", threadId=two, input=words("[[say Again.]]"))
    events = await heard(w, "c", "turn/completed", 3)
    assert [one["turn"]["status"] for one in said(events, "turn/completed", one)] == ["interrupted"]
    assert [one["turn"]["id"] for one in said(events, "turn/completed", two)] == [
        turn["turn"]["id"],
        again["turn"]["id"],
    ]
    shown = await read(w, "c", "r8", two)
    assert [(item["id"], item["type"]) for turn in shown for item in turn["items"]] == completed(
        events, two
    )
    listed = await asked(w, "c", "r9", "thread/list")
    assert {one["id"] for one in listed["data"]} == {one, two}
    assert (await w.api.post("/v1/workers/c/stop")).status_code == 202
    await until(w, "c", "stopped")
    made = await w.api.post("/v1/workers", json=body)
    assert made.json()["reattached"] is True
    await until(w, "c", "running")
    await asked(w, "c", "r10", "thread/resume", threadId=two)
    await asked(w, "c", "r11", "turn/start", threadId=two, input=words("[[say Third.]]"))
    events = await heard(w, "c", "turn/completed", 4)
    assert said(events, "turn/completed", two)[-1]["turn"]["status"] == "completed"
