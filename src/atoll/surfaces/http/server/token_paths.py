"""Paths open to tokens that are bound to something: a sandbox, a worker, or named streams and read
models.

A list of what is allowed, so that a route added tomorrow is closed to them. What stands in the path
is compared here by its id; the services check it again.
"""

import re
from typing import Final

from starlette.types import Scope

from atoll.domain.ids import SandboxId
from atoll.domain.people.principal import TokenAccess

EVENTS: Final = "/v1/events/stream"
AGENTS: Final = "/v1/agents"
MCP: Final = "/mcp"
"""The path of tools, which ask the token for the permission of each by themselves."""
_ME: Final = frozenset({"/auth/me", "/v1/me"})
_SANDBOX: Final = "/v1/sandboxes/"
_WORKERS: Final = ("/v1/workers", "/internal/v1/codex/workers", "/api/runtime/codex/workers")
"""The prefixes of the routes of workers."""
_INSIDE: Final = re.compile(
    "|agents|agents/[^/]+|terminals|terminals/[^/]+|exec|exec/[^/]+|processes|network|safety"
    "|changes|diff|checkpoints|files|files/(?:stat|total|content)|logs"
)
"""The paths of a sandbox that its token reads: the sandbox itself and these. Not its shares,
recordings and screens, which show what people typed, nor what leaves it."""


def token_may(scope: Scope, access: TokenAccess) -> bool:
    """Report whether a caller with this token may send this request or WebSocket."""
    if access.worker is not None:
        return _host_may(scope, access.worker.worker_id)
    if access.subscribed:
        return _subscribed_may(scope, access)
    if access.sandbox_id is not None:
        return _may_from_inside(scope, access.sandbox_id)
    return True


def _host_may(scope: Scope, worker_id: str) -> bool:
    """Report whether the host of a worker may send this: it delivers for that one alone."""
    if scope["type"] == "websocket" or scope["method"] != "POST":
        return False
    return scope["path"] in {f"{prefix}/{worker_id}/events" for prefix in _WORKERS}


def _subscribed_may(scope: Scope, access: TokenAccess) -> bool:
    live = {EVENTS: bool(access.streams), **{_model(name): True for name in access.models}}
    if scope["type"] == "websocket":
        return live.get(scope["path"], False)
    if scope["method"] not in {"GET", "HEAD"}:
        return False
    return {**live, AGENTS: "agents" in access.models}.get(scope["path"], False)


def _model(name: str) -> str:
    return f"/v1/projections/{name}/stream"


def _may_from_inside(scope: Scope, sandbox_id: SandboxId) -> bool:
    path: str = scope["path"]
    if path == MCP:
        kind: str = scope["type"]
        return kind == "http"
    if scope["type"] == "websocket" or scope["method"] not in {"GET", "HEAD"}:
        return False
    named, _, below = path.removeprefix(_SANDBOX).partition("/")
    own = path.startswith(_SANDBOX) and named == sandbox_id
    return path in _ME or (own and _INSIDE.fullmatch(below) is not None)
