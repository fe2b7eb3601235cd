"""Wakes in a whole runtime: whom they reach, once each, and whom they leave alone."""

import asyncio
from typing import Any

import pytest

from atoll.domain.terminals import turn
from tests.runtime.agents.test_agents import AGENTS, act, at, cards, until_cards
from tests.runtime.stage import Runtime, runtime

WAKE = {"wake_id": "wake_1", "prompt": "look", "title": "Woken", "text": "- gha.run.completed x"}


async def wake(rt: Runtime, name: str = "wake_1") -> tuple[int, Any]:
    return await rt.call("POST", "/wakes", {**WAKE, "wake_id": name})


async def open_machine(rt: Runtime) -> str:
    body = {"agent": "speaking", "mode": "machine", "permissions": "ask"}
    status, shown = await rt.call("POST", "/agents", body)
    assert status == 201, shown
    return str(shown["id"])


def told(page: Any) -> list[str]:
    return [one["text"] for one in page["cards"] if one["data"].get("role") == "person"]


async def test_idle_machine_is_asked_once_and_a_card_says_why() -> None:
    async with runtime(agents=AGENTS) as rt:
        agent_id = await open_machine(rt)
        answers = await asyncio.gather(*(wake(rt) for _ in range(3)))
        assert answers == [(200, {"id": agent_id, "agent": "speaking"})] * 3
        await until_cards(rt, agent_id, lambda all: any(c["state"] == "pending" for c in all))
        page = await cards(rt, agent_id)
        assert told(page) == ["look"]
        (card,) = [one for one in page["cards"] if one["id"] == "wake:wake_1"]
        assert (card["kind"], card["state"], card["title"]) == ("status", "done", "Woken")
        assert (card["text"], card["data"]) == (WAKE["text"], {"wake": "wake_1"})


async def test_agent_that_asks_or_is_paused_is_not_woken_and_then_is() -> None:
    async with runtime(agents=AGENTS) as rt:
        agent_id = await open_machine(rt)
        assert (await wake(rt))[0] == 200
        await until_cards(rt, agent_id, lambda all: any(c["state"] == "pending" for c in all))
        status, problem = await wake(rt, "wake_2")
        assert (status, problem["code"]) == (409, "agent_asks")
        answer = f"/sessions/{agent_id}/cards/approval:r1/answer"
        assert (await rt.call("POST", answer, {"option": "allow"}))[0] == 200
        await until_cards(rt, agent_id, lambda all: all[0]["state"] == "done")
        await act(rt, agent_id, "pause")
        status, problem = await wake(rt, "wake_2")
        assert (status, problem["code"]) == (409, "agent_paused")
        await act(rt, agent_id, "resume")
        assert await wake(rt, "wake_2") == (200, {"id": agent_id, "agent": "speaking"})
        assert told(await cards(rt, agent_id)) == ["look", "look"]


async def test_working_agent_at_a_terminal_is_not_woken() -> None:
    async with runtime(agents=AGENTS) as rt:
        _, shown = await rt.call("POST", "/agents", {"agent": "talker"})
        async with rt.attach(shown["id"], role="viewer") as watcher:
            await watcher.until_bytes(b"ready")
            assert (await wake(rt))[0] == 200
            await watcher.until_bytes(b"working-on-look")
            status, problem = await wake(rt, "wake_2")
            assert (status, problem["code"]) == (409, "agent_running")


async def test_person_at_the_terminal_is_not_disturbed(monkeypatch: pytest.MonkeyPatch) -> None:
    async with runtime(agents=AGENTS) as rt, at(rt, "talker") as (agent_id, person):
        await person.sees(b"ready")
        status, problem = await wake(rt)
        assert (status, problem["code"]) == (409, "in_use")
        assert b"look" not in person.output
        # A minute later: whoever drives without typing only looks on.
        monkeypatch.setattr(turn, "USING_SECONDS", 0.0)
        assert await wake(rt) == (200, {"id": agent_id, "agent": "talker"})
        await person.sees(b"working-on-look")


async def test_nobody_is_woken_where_no_turns_are_reported() -> None:
    async with runtime(agents=AGENTS) as rt:
        assert (await wake(rt))[1]["code"] == "no_agent"
        async with at(rt, "mute") as (_, person):
            await person.sees(b"ready")
            status, problem = await wake(rt)
            assert (status, problem["code"]) == (404, "no_agent")
            assert b"look" not in person.output
