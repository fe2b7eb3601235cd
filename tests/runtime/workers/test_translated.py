"""A worker whose agent speaks its own protocol: threads in processes, questions, what is kept."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from atoll.ports.runtime_boot import Agent
from atoll.runtime.agents import machine
from tests.runtime.stage import runtime
from tests.runtime.workers.claude_program import ODD
from tests.runtime.workers.stage import Served, claude

PATIENCE = 30


class Threads:
    """The worker `w1` in Codex's words."""

    def __init__(self, worker: Served) -> None:
        self.worker = worker
        self._asked = 0

    async def asked(self, method: str, **params: Any) -> Any:
        self._asked += 1
        status, answer = await self.worker.request(f"r{self._asked}", method, **params)
        assert status == 200, answer
        return answer["receipt"]["data"]

    async def started(self) -> str:
        return str((await self.asked("thread/start"))["thread"]["id"])

    async def turn(self, thread: str, words: str) -> Any:
        given = [{"type": "text", "text": words}]
        return await self.asked("turn/start", threadId=thread, input=given)

    async def heard(self, method: str, count: int = 1) -> list[Any]:
        """The params of all messages with this method, once there are so many."""
        async with asyncio.timeout(PATIENCE):
            while True:
                page = await self.worker.page()
                events = [one["data"] for one in page["entries"] if one["kind"] == "event"]
                found = [one for one in events if one["method"] == method]
                if len(found) >= count:
                    return found
                await self.worker.page(after=page["last"], wait=5)


@asynccontextmanager
async def served(home: Path, *agents: Agent, **more: Any) -> AsyncIterator[Threads]:
    async with runtime(agents=agents or (claude(home),), kept=home / "workers", **more) as rt:
        yield Threads(await Served(rt, home, agents[0].name if agents else "claude").open())


def starts(home: Path) -> list[list[str]]:
    return [line.split() for line in (home / "starts").read_text().splitlines()]


async def test_each_thread_is_a_session_and_one_process_runs_at_a_time(tmp_path: Path) -> None:
    async with served(tmp_path) as threads:
        one, two = await threads.started(), await threads.started()
        await threads.turn(two, "hello")
        await threads.heard("turn/completed")
        await threads.turn(one, "there")
        await threads.heard("turn/completed", 2)
        await threads.turn(two, "again")
        ended = await threads.heard("turn/completed", 3)
        assert [each["params"]["threadId"] for each in ended] == [two, one, two]
        items = await threads.heard("item/completed", 6)
        said = [each["params"]["item"].get("text") for each in items]
        assert said[1::2] == [f"hello in {two}", f"there in {one}", f"again in {two}"]
        _, shown = await threads.worker.rt.call("GET", "/agents")
        assert [each["agent_state"] for each in shown["agents"]] == ["running"]
    fresh, resumed = "--session-id", "--resume"
    assert starts(tmp_path) == [[fresh, one], [fresh, two], [fresh, one], [resumed, two]]


async def test_thread_that_is_not_there_is_refused_and_the_worker_goes_on(tmp_path: Path) -> None:
    async with served(tmp_path) as threads:
        one = await threads.started()
        gone = await threads.asked(
            "thread/resume", threadId="9" * 8 + "-1111-4111-8111-" + "1" * 12
        )
        assert gone["code"] == "invalid_request"
        await threads.turn(one, "hello")
        await threads.heard("turn/completed")


async def test_message_is_kept_byte_for_byte_beside_what_is_made_of_it(tmp_path: Path) -> None:
    async with served(tmp_path, secrets=("hunter-2-hunter-2",)) as threads:
        one = await threads.started()
        await threads.turn(one, "it is hunter-2-hunter-2")
        await threads.heard("turn/completed")
        async with threads.worker.rt.client.get("http://runtime/workers/w1/spool") as reply:
            page = await reply.read()
        assert b'"native":' + ODD.encode() in page
        assert b"hunter" not in page
        methods = [one["data"]["method"] for one in (await threads.worker.page())["entries"]
                   if one["kind"] == "event"]  # fmt: skip
        assert methods == [
            "thread/started", "turn/started", "item/completed", "agent/message", "agent/message",
            "item/completed", "turn/completed",
        ]  # fmt: skip


@pytest.mark.parametrize("by_card", [True, False])
async def test_question_is_answered_by_request_or_card(tmp_path: Path, by_card: bool) -> None:
    async with served(tmp_path) as threads:
        one = await threads.started()
        turn = (await threads.turn(one, "ask"))["turn"]["id"]
        (question,) = await threads.heard("item/toolCall/requestApproval")
        if by_card:
            path = f"/sessions/{threads.worker.agent_id}/cards/approval:c-{turn}/answer"
            assert (await threads.worker.rt.call("POST", path, {"option": "allow"}))[0] == 200
        answer = {"requestId": question["id"], "result": {"decision": "accept"}}
        told = await threads.asked("serverRequest/respond", **answer)
        assert told == {} or (by_card and told["code"] == "conflict")
        (resolved,) = await threads.heard("serverRequest/resolved")
        assert resolved["params"]["requestId"] == question["id"]
        await threads.heard("turn/completed")
        assert (await threads.asked("serverRequest/respond", **answer))["code"] == "conflict"


async def test_turn_of_a_card_is_in_the_stream_and_is_interrupted(tmp_path: Path) -> None:
    async with served(tmp_path) as threads:
        one = await threads.started()
        path = f"/sessions/{threads.worker.agent_id}/ask"
        status, shown = await threads.worker.rt.call("POST", path, {"prompt": "wait"})
        assert status < 300, shown
        (began,) = await threads.heard("turn/started")
        turn = began["params"]["turn"]["id"]
        busy = await threads.asked("thread/start")
        assert (busy["code"], busy["retryable"]) == ("worker_unavailable", True)
        assert await threads.asked("turn/interrupt", threadId=one, turnId=turn) == {}
        (ended,) = await threads.heard("turn/completed")
        assert ended["params"]["turn"]["status"] == "interrupted"


async def acts(worker: Served, action: str) -> None:
    path = f"/sessions/{worker.agent_id}/agent"
    status, shown = await worker.rt.call("POST", path, {"action": action})
    assert status < 300, shown


async def test_process_that_stays_is_ended_and_a_stop_ends_the_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "RESTART_SECONDS", 0.5)
    (tmp_path / "stays").touch()
    async with served(tmp_path) as threads:
        await threads.started()
        await threads.started()
        worker = threads.worker
        monkeypatch.setattr(machine, "RESTART_SECONDS", PATIENCE)
        await worker.request("late", "thread/start", wait_ms=0)
        await acts(worker, "stop")
        _, answer = await worker.request("late", "thread/start")
        assert answer["receipt"]["data"]["code"] == "outcome_unknown"
    assert len(starts(tmp_path)) == 2


async def test_agent_that_is_paused_meanwhile_stays_so_in_its_next_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "RESTART_SECONDS", PATIENCE)
    (tmp_path / "stays").touch()
    async with served(tmp_path) as threads:
        await threads.turn(await threads.started(), "hello")
        await threads.heard("turn/completed")
        worker = threads.worker
        await worker.request("late", "thread/start", wait_ms=0)
        await acts(worker, "pause")
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
        assert await worker.request("late", "thread/start", wait_ms=1500) == (
            202, {"receipt": None},
        )  # fmt: skip
        await acts(worker, "resume")
        assert (await worker.request("late", "thread/start"))[0] == 200
