"""A sandbox nobody uses is stopped, on the real wall; what counts as use keeps it up."""

import asyncio
import time

import aiohttp
import pytest

from tests.peers.api import Api
from tests.peers.terminal_client import attached

IDLE_SECONDS = 20
RESTING = f"""\
id: profile.resting
version: "1.0.0"
extension: ext.namespaces
ttl: {{default: 1h, max: 2h, idle_stop: {IDLE_SECONDS}s}}
"""
PROFILES = {"resting": RESTING}
KNOCK = "while sleep 1; do curl -s -o /dev/null -x http://127.0.0.1:3128 http://{host}/; done"
ASK = "while sleep 1; do curl -s -o /dev/null http://127.0.0.1:8082/broker/openai/v1/models; done"


def test_sandbox_nobody_uses_is_stopped_and_comes_back_with_its_files(api: Api) -> None:
    made = api.create(profile="resting")
    sandbox = made["sandbox_id"]
    api.run(sandbox, "echo kept > file; (setsid sleep 600 >&- 2>&- &)")
    stopped = api.until(sandbox, lambda told: told["state"] == "stopped", 120)
    assert stopped["reason"] == f"Nobody used it for {IDLE_SECONDS}s."
    assert stopped["expires_at"] == made["expires_at"]
    kinds = [event["event_type"] for event in api.events(sandbox)]
    assert "sandbox.stopped" in kinds and "sandbox.expired" not in kinds
    assert api.act(sandbox, "start")["state"] == "ready"
    assert api.run(sandbox, "cat file") == "kept\n"


@pytest.mark.parametrize("line", [KNOCK.format(host="refused.example"), ASK])
def test_requests_at_a_door_keep_it_up(api: Api, line: str) -> None:
    sandbox = api.create(profile="resting")["sandbox_id"]
    api.run(sandbox, f"(setsid sh -c '{line}' >/dev/null 2>&1 &)")
    begun = time.monotonic()
    used = api.until(
        sandbox, lambda told: time.monotonic() - begun > IDLE_SECONDS * 2.5, IDLE_SECONDS * 10
    )
    assert used["state"] in ("ready", "active")
    assert used["last_used_at"] > used["created_at"]
    api.act(sandbox, "destroy")


async def test_watching_a_terminal_is_no_use_and_does_not_keep_it_up(api: Api) -> None:
    sandbox = api.create(profile="resting")["sandbox_id"]
    program = ("/bin/sh", "-c", "while sleep 1; do echo noise; done")
    url = api.attach_url(sandbox, api.terminal(sandbox, *program))
    async with (
        aiohttp.ClientSession(headers=api.headers) as session,
        attached(session, url, "watcher") as watcher,
    ):
        await watcher.sees(b"noise")
        await asyncio.to_thread(api.until, sandbox, lambda told: told["state"] == "stopped", 120)
