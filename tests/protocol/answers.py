"""The generated class of each answer about workers, by which clients in tests read it strictly:
a member or a word that a message does not have fails the test that received it."""

import json
import re
from collections.abc import Iterator

import httpx
from google.protobuf import json_format
from google.protobuf.message import Message

from atoll.protocol.v1 import codex_admin_pb2 as admin
from atoll.protocol.v1 import codex_auth_pb2 as auth
from atoll.protocol.v1 import codex_events_pb2 as events
from atoll.protocol.v1 import codex_sandbox_pb2 as sandbox
from atoll.protocol.v1 import codex_workers_pb2 as workers

ANSWERS: dict[str, type[Message]] = {
    "POST /v1/workers": workers.CreateWorkerResponse,
    "GET /v1/workers": workers.ListWorkersResponse,
    "GET /v1/workers/{worker_id}/snapshot": workers.WorkerSnapshot,
    "POST /v1/workers/{worker_id}/requests": workers.WorkerReceipt,
    "POST /v1/workers/{worker_id}/stop": workers.StopWorkerResponse,
    "POST /v1/workers/{worker_id}/take": workers.TakeWorkerResponse,
    "POST /v1/workers/{worker_id}/give-back": workers.WorkerSnapshot,
    "POST /v1/workers/{worker_id}/events": events.IngestResponse,
    "DELETE /v1/workers/{worker_id}/stream": workers.EraseWorkerResponse,
    "GET /v1/projections/worker_summaries": admin.ListWorkerSummariesResponse,
    "GET /v1/organizations/{organization}/workers/backends": admin.ListBackendHealthResponse,
    "POST /internal/executions/{worker_id}/artifacts": workers.WorkerArtifact,
    "GET /v1/desktops": sandbox.ListDesktopsResponse,
    "PUT /v1/desktops/{desktop}": sandbox.Desktop,
    "PUT /v1/desktops/{desktop}/presence": sandbox.Desktop,
    "GET /v1/agent-logins": auth.ListAgentLoginsResponse,
    "POST /v1/agent-logins": auth.AgentLogin,
    "GET /v1/agent-logins/{login}": auth.AgentLogin,
    "DELETE /v1/agent-logins/{login}": auth.AgentLogin,
    "POST /v1/agent-logins/{login}/redirect": auth.AgentLogin,
    "PUT /v1/agent-logins/{login}/use": auth.AgentLogin,
    "PUT /v1/agent-logins/{login}/exposure": auth.AgentLogin,
}
FRAMES: dict[str, dict[str, type[Message]]] = {
    "GET /v1/workers/{worker_id}/stream": {
        "worker.delta": events.WorkerDelta,
        "": events.WorkerEvent,
    },
    "GET /v1/desktops/{desktop}/offers": {"offer": events.HostOffer},
    "GET /v1/projections/worker_summaries/stream": {"": admin.ListWorkerSummariesResponse},
}
"""The class of each server-sent event by its name; "" is every other one. The frame `lease` has a
token, and no message holds one."""
_ALIKE = re.compile(r"^/(?:internal/v1|api/runtime)/codex/workers")


def _pattern(route: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\{\w+\}", "[^/]+", route) + r"\Z")


_ANSWERS = [(_pattern(route), kind) for route, kind in ANSWERS.items()]
_FRAMES = [(_pattern(route), kinds) for route, kinds in FRAMES.items()]


async def read_strictly(response: httpx.Response) -> None:
    """Parse an answer about workers: a hook of `httpx` clients. A stream that does not end by
    itself is left alone."""
    if not response.is_success:
        return
    request = response.request
    called = f"{request.method} {_ALIKE.sub('/v1/workers', request.url.path)}"
    if response.headers.get("content-type", "").startswith("application/json"):
        for pattern, kind in _ANSWERS:
            if pattern.match(called):
                json_format.Parse(await response.aread(), kind())
    elif "tail_ms" in request.url.params:
        for pattern, kinds in _FRAMES:
            if pattern.match(called):
                await response.aread()
                parse_frames(response.text, kinds)


def parse_frames(text: str, kinds: dict[str, type[Message]]) -> None:
    """Parse the server-sent events of a stream."""
    for name, data in _frames(text):
        json_format.ParseDict(json.loads(data), kinds.get(name, kinds.get(""))())  # type: ignore[misc]


def _frames(text: str) -> Iterator[tuple[str, str]]:
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
        if "data" in lines:
            yield lines.get("event", ""), lines["data"]
