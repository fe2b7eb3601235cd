"""An attacker inside who calls for the person, by every way there is: how often they are told."""

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from atoll.domain.agents.status import CALLS
from atoll.domain.people.push import PER_WINDOW
from atoll.testing.server import TestServer, test_server
from tests.peers.api import Pauses

pytestmark = [pytest.mark.agents, pytest.mark.timeout(300)]

KEYS = '[openai]\nkey = "sk-nothing"\nbase_url = "http://127.0.0.1:9"\n'
HOOKS = r"""
until pipe=$(find /tmp -maxdepth 1 -name '.atoll-t_*' -type p | grep .); do sleep 0.05; done
say() { printf '{"hook_event_name":"%s","tool_name":"PAY ME"}\n' "$1" >"$pipe"; }
"""
QUESTION = HOOKS + "say UserPromptSubmit; say PermissionRequest"
# A minute has more than enough of each; the flood itself takes a few seconds.
FLOOD = (
    HOOKS
    + r"""
say PostToolUse; say Stop
for n in $(seq 40); do
  say UserPromptSubmit; say PermissionRequest; sleep 0.05; say PostToolUse; say Stop
  curl -s -o /dev/null -m 2 "https://pay-me-$n.example.com/"
done
true
"""
)


def test_flood_of_calls_tells_the_person_ten_times_a_minute_and_in_fixed_words(
    provide_agent: Callable[[TestServer, str], None],
) -> None:
    env: dict[str, str] = {}
    with test_server(env, keys=KEYS, start=False) as server:
        told = _notified(server, env)
        server.start()
        provide_agent(server, "codex")
        asyncio.run(_flooded(server))
        words = Counter(told.read_text().splitlines())
    assert set(words) <= {f"{word} box" for word in ("needs-you", "done", "failed")}
    assert words["needs-you box"] > 0 and words.total() <= PER_WINDOW


def _notified(server: TestServer, env: dict[str, str]) -> Path:
    """Set the person's command. Returns the file in which it writes down what it was given."""
    folder = server.home.parent / "told"
    folder.mkdir()
    folder.chmod(0o777)  # The server's own user writes there.
    command = folder / "notify"
    command.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >>{folder}/words\n')
    command.chmod(0o755)
    env["ATOLL_NOTIFY_COMMAND"] = str(command)
    server.env = env
    return folder / "words"


async def _questions(api: httpx.AsyncClient, sandbox: str) -> list[dict[str, Any]]:
    """Return the beginnings of questions that the log tells of."""
    events = (await api.get(f"/v1/events?stream=sandbox:{sandbox}&limit=1000")).json()["events"]
    return [
        entry
        for entry in events
        if entry["event_type"] == "agent.status"
        and entry["payload"].get("status") == "needs_you"
        and entry["payload"].get("begins")
    ]


async def _flooded(server: TestServer) -> None:
    headers = {"Authorization": f"Bearer {server.token}"}
    async with httpx.AsyncClient(base_url=server.url, headers=headers, timeout=120) as api:
        body = {"agent": "codex", "name": "box"}
        sandbox = (await api.post("/v1/sandboxes?wait=true", json=body)).json()["sandbox_id"]
        one = f"/v1/sandboxes/{sandbox}"
        assert (await api.post(f"{one}/agents", json={"agent": "codex"})).is_success
        # One that stands is listed; those of the flood may come and go between two looks.
        asked_once = await api.post(f"{one}/exec", json={"argv": ["bash", "-c", QUESTION]})
        assert asked_once.json()["exit_code"] == 0, asked_once.text
        pauses = Pauses()
        async with asyncio.timeout(60):
            while not (await api.get("/v1/inbox")).json()["items"]:
                await pauses.wait()
        async with asyncio.TaskGroup() as tasks:
            flood = {"argv": ["bash", "-c", FLOOD]}
            running = tasks.create_task(api.post(f"{one}/exec", json=flood))
            most = 0
            while not running.done():
                items = (await api.get("/v1/inbox")).json()["items"]
                most = max(most, len(items))
                await asyncio.wait([running], timeout=0.1)
        ran = running.result()
        assert ran.json()["exit_code"] == 0, ran.text
        async with asyncio.timeout(60):  # the log learns of them from the runtime's journal
            while not (asked := await _questions(api, sandbox)):
                await pauses.wait()
        assert len(asked) <= CALLS
        assert most <= PER_WINDOW
