"""The way of an agent's status from its runtime to a reader of the event stream.

Each change is stamped by the runtime when it decides on it, and by the reader when its event came:
journal, long poll, store and stream lie between. Both read the one clock of this machine.
"""

import json
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import httpx

from bench.figures import Series, table, verdict
from bench.server import Server, server

CHANGES = 60
WARM = 4
PAUSE_SECONDS = 0.4
"""Between two changes, as agents make them: a poll waits already when the next one comes."""


def status() -> None:
    """Agent's change → its event at a reader of the stream."""
    ours = Series("agent's change → event stream")
    with server() as atoll:
        sandbox = atoll.create()
        agent = _opened(atoll, sandbox)
        headers = {"Authorization": f"Bearer {atoll.host.token}"}
        address = f"{atoll.host.url}/v1/events/stream"
        with httpx.stream("GET", address, headers=headers, timeout=60) as stream:
            lines = stream.iter_lines()
            for number in range(CHANGES + WARM):
                time.sleep(PAUSE_SECONDS)
                word, wanted = ("start", "working") if number % 2 == 0 else ("yield", "done")
                path = f"/v1/sandboxes/{sandbox}/terminals/{agent}/agent"
                atoll.api.post(path, json={"action": word}).raise_for_status()
                event = _next(lines, wanted)
                came = time.time()
                if number >= WARM:
                    at = datetime.fromisoformat(event["at"]).timestamp()
                    ours.samples.append((came - at) * 1000)
    table("status of an agent", ours)
    verdict("p95 of the way to the stream, in seconds", ours.p95 / 1000, 2)


def _opened(atoll: Server, sandbox: str) -> str:
    answer = atoll.api.post(f"/v1/sandboxes/{sandbox}/agents", json={"agent": "shell"})
    answer.raise_for_status()
    return str(answer.json()["id"])


def _next(lines: Iterator[str], wanted: str) -> dict[str, Any]:
    """Return the next event that reports this status."""
    for line in lines:
        if line.startswith("data: "):
            event: dict[str, Any] = json.loads(line.removeprefix("data: "))
            if event["event_type"] == "agent.status" and event["payload"]["status"] == wanted:
                return event
    raise RuntimeError("the stream ended")
