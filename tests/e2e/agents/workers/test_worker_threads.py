"""Real agents as workers: two threads, a question, a file, an interrupt, a stop.

What the stream holds is compared with what the agent tells again, and with what it has written down
itself: each turn and item once, in order.
"""

import asyncio
import itertools
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import pytest

from atoll.testing.server import TestServer
from tests.e2e.agents.agent_world import CHOICES, TOOLS, World, run, until_asked
from tests.e2e.agents.workers.records import READERS, Turn, recorded, streamed
from tests.e2e.agents.workers.test_workers import ASKS, snapshot, stream, until

pytestmark = [
    pytest.mark.agents,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
]


def words(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


async def asked(w: World, name: str, number: str, method: str, **params: Any) -> dict[str, Any]:
    """The answer to a request, which is repeated for as long as it is pending."""
    body = {"request": {"request_id": number, "method": method, "params": params}}
    async with asyncio.timeout(120):
        while True:
            answer = await w.api.post(
                f"/v1/workers/{name}/requests", json={**body, "wait_ms": 30_000}
            )
            if answer.status_code != 202:
                break
    receipt = answer.json()
    assert "response" in receipt, receipt
    result: dict[str, Any] = json.loads(receipt["response"]["result"])
    return result


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


def completed(events: list[dict[str, Any]], thread: str) -> list[dict[str, Any]]:
    return [one["item"] for one in said(events, "item/completed", thread)]


def essence(items: list[dict[str, Any]], *, same: bool) -> list[tuple[str, ...]]:
    """The kind and words of each item, and its id where that is the agent's own. What a person
    said has a name of ours in the stream."""
    found = []
    for item in items:
        text = item.get("text") or item.get("command") or json.dumps(item.get("content"))
        own = same and item["type"] != "userMessage"
        found.append((item["type"], text, *([item["id"]] if own else [])))
    return found


async def read(w: World, name: str, number: str, thread: str) -> list[dict[str, Any]]:
    """The turns of a thread, as the agent has written them down."""
    shown = await asked(w, name, number, "thread/read", threadId=thread, includeTurns=True)
    turns: list[dict[str, Any]] = shown["thread"]["turns"]
    return turns


async def written(w: World, name: str, thread: str, count: int) -> list[dict[str, Any]]:
    """The items of a thread, once so many are written down: agents write after they speak."""
    async with asyncio.timeout(60):
        for number in itertools.count():
            turns = await read(w, name, f"read-{number}", thread)
            told = [item for turn in turns for item in turn["items"]]
            if len(told) >= count:
                return told
    raise AssertionError


async def whole(
    w: World, sandbox: str, events: list[dict[str, Any]], thread: str, agent: str
) -> list[Turn]:
    """What the agent has written down of a thread, once that is as much as the stream has."""
    count = sum(len(turn.items) for turn in streamed(events, agent, thread))
    async with asyncio.timeout(60):
        while True:
            found = await recorded(w, sandbox, agent, thread)
            if sum(len(turn.items) for turn in found) >= count:
                return found


@dataclass(frozen=True)
class Case:
    """An agent. `same`: its items have the ids of its own record, also when it tells them again.
    `parallel`: several of its threads work at a time. `reads`: it takes threads up again."""

    agent: str
    approval: str = "item/commandExecution/requestApproval"
    same: bool = True
    parallel: bool = True
    reads: bool = True


ASKING = {
    **{agent: TOOLS[agent].format(command="echo asked > asked.txt") for agent in TOOLS},
    "codex": ASKS,
}
"""Calls of a tool that the agent asks for."""

CASES = [
    Case("claude-code", parallel=False),
    pytest.param(Case("codex"), marks=pytest.mark.slow),
    pytest.param(Case("opencode"), marks=pytest.mark.slow),
    pytest.param(Case("gemini-cli", same=False, reads=False), marks=pytest.mark.slow),
    pytest.param(Case("qwen-code", same=False), marks=pytest.mark.slow),
]


async def made(w: World, agent: str, **more: str) -> dict[str, Any]:
    """Have a worker of the agent's name, in a sandbox with the model that a person chose."""
    body: dict[str, Any] = {"worker_id": agent, "agent": agent, "permissions": "ask", **more}
    if agent in CHOICES:
        wanted = {"profile": "shell", "agent": agent, "env": CHOICES[agent]}
        answer = await w.api.post("/v1/sandboxes?wait=ready", json=wanted)
        assert answer.is_success, answer.text
        body["workspace_ref"] = f"sandbox:{answer.json()['sandbox_id']}/workspace"
    answer = await w.api.post("/v1/workers", json=body)
    assert answer.status_code == 201, answer.text
    assert (await until(w, agent, "running"))["agent"] == agent
    return body


async def accepted(w: World, case: Case, number: str) -> dict[str, Any]:
    """Answer the agent's first question; return its params."""
    name = case.agent
    question = (await stream(w, name, case.approval))[-1]["payload"]["event"]
    respond = {"server_request_id": question["server_request_id"]}
    await asked(w, name, number, "serverRequest/respond", **respond, result={"decision": "accept"})
    params: dict[str, Any] = json.loads(question["params"])
    return params


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.agent)
async def test_agent_as_a_worker_has_two_threads_asks_and_is_interrupted(
    w: World, provide_agent: Callable[[TestServer, str], None], case: Case
) -> None:
    provide_agent(w.server, case.agent)
    await driven(w, case)


async def driven(w: World, case: Case, **more: str) -> None:
    """Drive a worker through its threads, a question, an interrupt, a stop and a reattachment; what
    it says is whole."""
    body, name = await made(w, case.agent, **more), case.agent
    one = (await asked(w, name, "r1", "thread/start"))["thread"]["id"]
    two = (await asked(w, name, "r2", "thread/start"))["thread"]["id"]
    assert one != two
    script = words(f"[[tool {ASKING[case.agent]}]]")
    first = (await asked(w, name, "r3", "turn/start", threadId=two, input=script))["turn"]["id"]
    question = await accepted(w, case, "r4")
    assert (question["threadId"], question["turnId"]) == (two, first)
    await stream(w, name, "turn/completed")
    sandbox = (await snapshot(w, name))["sandbox"]["id"]
    assert await run(w, sandbox, "cat", "asked.txt") == (0, b"asked\n")

    held = (await asked(w, name, "r5", "turn/start", threadId=one, input=words("[[hold gate]]")))[
        "turn"
    ]["id"]
    if case.parallel:
        await asked(w, name, "r6", "turn/start", threadId=two, input=words("[[say Meanwhile.]]"))
        await stream(w, name, "turn/completed", 2)
    await until_asked(w, "[[hold gate]]")  # before, Claude Code forgets what it was told
    await asked(w, name, "r7", "turn/interrupt", threadId=one, turnId=held)
    events = await stream(w, name, "turn/completed", 2 + case.parallel)
    (ended,) = said(events, "turn/completed", one)
    assert (ended["turn"]["id"], ended["turn"]["status"]) == (held, "interrupted")

    last = await asked(w, name, "r8", "turn/start", threadId=two, input=words("[[say Again.]]"))
    events = await stream(w, name, "turn/completed", 3 + case.parallel)
    turns = [one["turn"]["id"] for one in said(events, "turn/completed", two)]
    assert (turns[0], turns[-1]) == (first, last["turn"]["id"])
    assert turns == [one["turn"]["id"] for one in said(events, "turn/started", two)]
    if case.reads:
        done = completed(events, two)
        told = await written(w, name, two, len(done))
        assert essence(told, same=case.same) == essence(done, same=case.same)
    listed = await asked(w, name, "r10", "thread/list")
    assert {one, two} <= {one["id"] for one in listed["data"]}

    assert (await w.api.post(f"/v1/workers/{name}/stop")).status_code == 202
    await until(w, name, "stopped")
    again = await w.api.post("/v1/workers", json=body)
    assert again.json()["reattached"] is True
    await until(w, name, "running")
    if case.reads:
        await asked(w, name, "r11", "thread/resume", threadId=two)
        await asked(w, name, "r12", "turn/start", threadId=two, input=words("[[say Third.]]"))
        events = await stream(w, name, "turn/completed", 4 + case.parallel)
        assert said(events, "turn/completed", two)[-1]["turn"]["status"] == "completed"
    if case.agent in READERS:
        for thread in (one, two):
            assert await whole(w, sandbox, events, thread, name) == streamed(events, name, thread)


PIECEMEAL = "one two three four five"
TRIES = 20
"""The connection for pieces is made beside that for events: the first ones may be missed."""


async def spoken(w: World, name: str, since: int) -> AsyncGenerator[tuple[str, dict[str, Any]]]:
    """What the stream says after an event: the type of each frame, and its data."""
    url, kind = f"/v1/workers/{name}/stream?cursor={since}", ""
    async with w.api.stream("GET", url) as answer:
        async for line in answer.aiter_lines():
            if line.startswith("event: "):
                kind = line.removeprefix("event: ")
            elif line.startswith("data: "):
                yield kind, json.loads(line[6:])


async def told_in_pieces(w: World, number: int, thread: str, since: int) -> tuple[int, str, str]:
    """The last event of a turn, and its text in pieces and whole."""
    pieces: dict[str, str] = {}
    said: dict[str, Any] = {}
    async with aclosing(spoken(w, "pieces", since)) as shown, asyncio.timeout(120):
        prompt = words(f"[[say {PIECEMEAL}]]")
        await asked(w, "pieces", f"turn-{number}", "turn/start", threadId=thread, input=prompt)
        async for kind, data in shown:
            event = data if kind == "worker.delta" else data["payload"].get("event", {})
            params = json.loads(event.get("params", "{}"))
            if kind == "worker.delta":
                assert event["method"] == "item/agentMessage/delta"
                name = params["itemId"]
                pieces[name] = pieces.get(name, "") + params["delta"]
            elif params.get("item", {}).get("type") == "agentMessage":
                said = params["item"]
            elif event.get("method") == "turn/completed":
                return data["seq"], pieces.get(said["id"], ""), said["text"]
    raise AssertionError


async def test_claude_code_says_its_text_in_pieces_and_then_whole(
    w: World, provide_agent: Callable[[TestServer, str], None]
) -> None:
    provide_agent(w.server, "claude-code")
    body = {"worker_id": "pieces", "agent": "claude-code"}
    answer = await w.api.post("/v1/workers", json=body)
    assert answer.status_code == 201, answer.text
    since = (await until(w, "pieces", "running"))["latest_seq"]
    thread = (await asked(w, "pieces", "t", "thread/start"))["thread"]["id"]
    for number in range(TRIES):
        since, pieces, whole = await told_in_pieces(w, number, thread, since)
        assert whole == PIECEMEAL
        if pieces == whole:
            break
    else:
        raise AssertionError("no text came whole in pieces")
    events = await stream(w, "pieces", "item/completed", 2)
    assert not any("delta" in one["payload"].get("event", {}).get("method", "") for one in events)
