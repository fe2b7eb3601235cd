"""Routes of sandboxes: create, read, stop, start, recreate, destroy."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query
from pydantic import AfterValidator
from starlette.responses import Response

from atoll.domain.errors import Invalid
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.domain.sandbox.sandbox import CreateSandbox, Sandbox, State
from atoll.services.application import Application
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.fields import (
    Body,
    ResponseModel,
    SandboxRef,
    Seconds,
    Wait,
    Waiting,
)
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.body.pages import at_most
from atoll.surfaces.http.sandboxes.create_body import CreateBody
from atoll.surfaces.http.sandboxes.view import SandboxView, sandbox_view, sandbox_views
from atoll.surfaces.http.server.context import Atoll, Caller, CallerSandbox
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

router = APIRouter(prefix="/v1/sandboxes", tags=["sandboxes"], route_class=JsonRoute)


class ExtendBody(Body):
    """The time to add."""

    ttl: Seconds


class SandboxPage(ResponseModel):
    """A page, newest first; `next` is the following `cursor`."""

    sandboxes: list[SandboxView]
    next: str | None


MAX_LOG_LINES = 2000
"""The newest lines of a provisioning log that are answered."""


class LogLineView(ResponseModel):
    """A step of provisioning."""

    at: str
    text: str


class LogView(ResponseModel):
    """The log of provisioning."""

    lines: list[LogLineView]


def _printable(key: str | None) -> str | None:
    if key is not None and not (key.isascii() and key.isprintable()):
        raise ValueError("must be printable ASCII")
    return key


IdempotencyKey = Annotated[
    str | None,
    Header(
        description="Repeating a create with the same key within 24 h gives the same sandbox.",
        min_length=1,
        max_length=200,
    ),
    AfterValidator(_printable),
]
Unpulled = Annotated[
    Literal["lose", "refuse"] | None,
    Query(description="What becomes of work that nobody has outside: by default it is lost."),
]
_ONE: dict[str, Any] = {"response_model": SandboxView, "responses": problems(404, 409)}
_ACT: dict[str, Any] = {**_ONE, "status_code": 202}


@router.post(
    "",
    status_code=202,
    response_model=SandboxView,
    responses={
        201: {"model": SandboxView, "description": "Created, and ready or failed."},
        **problems(404, 409, 413, 502),
    },
)
@needs(Capability.SANDBOX_CREATE)
async def create_sandbox(
    atoll: Atoll,
    caller: Caller,
    *,
    body: CreateBody,
    wait: Waiting,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Create a sandbox.

    Answers at once with 202. `?wait=ready` answers 201 once it is ready (or has failed: see `state`
    and `reason`).
    """
    made, status = await create(atoll, caller, body.to_domain(), wait=wait, key=idempotency_key)
    view = await sandbox_view(atoll, made)
    return Json(view, status, headers={"Location": f"/v1/sandboxes/{made.id}"})


async def create(
    atoll: Application, caller: Principal, request: CreateSandbox, *, wait: Wait, key: str | None
) -> tuple[Sandbox, int]:
    """Return a new sandbox, after the requested wait, and the status to answer with."""
    made = await atoll.sandboxes.create(caller, request, idempotency_key=key)
    if wait.seconds is None:
        return made, 202
    made = await atoll.sandboxes.wait(caller, made.id, timeout_seconds=wait.seconds)
    return made, 202 if made.state in {State.REQUESTED, State.PROVISIONING} else 201


@router.get("", response_model=SandboxPage, responses=problems())
@needs(Capability.SANDBOX_READ)
async def list_sandboxes(
    atoll: Atoll,
    caller: Caller,
    *,
    state: Annotated[list[State], Query(description="Only these states.", max_length=9)] = [],  # noqa: B006 - FastAPI copies it
    cursor: Annotated[str | None, Query(min_length=1, max_length=500)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Response:
    """Return the caller's sandboxes; destroyed ones only when requested by state."""
    page = await atoll.sandboxes.list(caller, states=tuple(state), cursor=cursor, limit=limit)
    views = await sandbox_views(atoll, page.sandboxes)
    return Json({"sandboxes": views, "next": page.next})


@router.get("/{sandbox}", response_model=SandboxView, responses=problems(404))
@needs(Capability.SANDBOX_READ)
async def get_sandbox(atoll: Atoll, at: CallerSandbox, *, wait: Waiting) -> Response:
    """Return one sandbox; `?wait=ready` waits until it is ready or can no longer become so."""
    if wait.seconds is None:
        return Json(await sandbox_view(atoll, await atoll.sandboxes.get(*at)))
    found = await atoll.sandboxes.wait(*at, timeout_seconds=wait.seconds)
    return Json(await sandbox_view(atoll, found))


@router.post("/{sandbox}/stop", **_ACT)
@needs(Capability.SANDBOX_MANAGE)
async def stop_sandbox(
    atoll: Atoll, caller: Caller, *, sandbox: SandboxRef, wait: Waiting
) -> Response:
    """End the sandbox's processes and keep its workspace; `?wait=true` waits for the end."""
    return await _settled(atoll, caller, await atoll.sandboxes.stop(caller, sandbox), wait=wait)


@router.post("/{sandbox}/start", **_ACT)
@needs(Capability.SANDBOX_MANAGE)
async def start_sandbox(
    atoll: Atoll,
    caller: Caller,
    *,
    sandbox: SandboxRef,
    wait: Waiting,
    resume_agents: Annotated[
        bool | None,
        Query(description="Whether agents that ran are resumed; left out, the profile decides."),
    ] = None,
) -> Response:
    """Start a stopped, expired or failed sandbox; its agents resume their conversations."""
    changed = await atoll.sandboxes.start(caller, sandbox, resume_agents=resume_agents)
    return await _settled(atoll, caller, changed, wait=wait)


@router.post("/{sandbox}/setup", response_model=SandboxView, responses=problems(404, 409, 503))
@needs(Capability.SANDBOX_MANAGE)
async def run_setup(atoll: Atoll, at: CallerSandbox) -> Response:
    """Run the approved set-up commands of its project, in a new terminal."""
    return Json(await sandbox_view(atoll, await atoll.sandboxes.run_setup(*at)))


@router.post("/{sandbox}/task/begin", response_model=SandboxView, responses=problems(404, 409, 503))
@needs(Capability.SANDBOX_MANAGE)
async def begin_task(atoll: Atoll, at: CallerSandbox) -> Response:
    """Begin a task that waits for the set-up, although that failed or still runs."""
    return Json(await sandbox_view(atoll, await atoll.sandboxes.begin_task(*at)))


@router.post("/{sandbox}/recreate", **_ACT)
@needs(Capability.SANDBOX_MANAGE)
async def recreate_sandbox(
    atoll: Atoll, caller: Caller, *, sandbox: SandboxRef, wait: Waiting
) -> Response:
    """Provision the sandbox anew under the same id, after saving commits nobody pulled."""
    changed = await atoll.sandboxes.recreate(caller, sandbox)
    return await _settled(atoll, caller, changed, wait=wait)


@router.post("/{sandbox}/destroy", **_ACT)
@router.delete("/{sandbox}", **_ACT)
@needs(Capability.SANDBOX_MANAGE)
async def destroy_sandbox(
    atoll: Atoll,
    caller: Caller,
    *,
    sandbox: SandboxRef,
    wait: Waiting,
    keep_worktree: Annotated[
        bool, Query(description="Write its files and new commits down on the server first.")
    ] = False,
    secrets: Annotated[
        Literal["refuse", "allow"] | None,
        Query(description="Whether files that contain a secret of the owner may be kept."),
    ] = None,
    unpulled: Unpulled = None,
) -> Response:
    """Destroy the sandbox permanently; repeating it is not an error.

    With `keep_worktree`, `kept_at` names where its files are. Nothing is destroyed when they cannot
    be kept. With `unpulled=refuse` nothing is destroyed while the sandbox holds work that nobody
    has outside (`unpulled_work`), or that cannot be listed (`unpulled_unknown`).
    """
    if secrets is not None and not keep_worktree:
        raise Invalid(
            "secrets are about files that are kept: keep_worktree keeps them", field="secrets"
        )
    if unpulled is not None and keep_worktree:
        raise Invalid("keep_worktree keeps all work: leave out unpulled", field="unpulled")
    if unpulled == "refuse":
        await atoll.home.unpulled.check_lost(caller, sandbox)
    if keep_worktree:
        allowed = secrets == "allow"
        changed = await atoll.home.kept.destroy(caller, sandbox, with_secrets=allowed)
    else:
        changed = await atoll.sandboxes.destroy(caller, sandbox)
    return await _settled(atoll, caller, changed, wait=wait)


@router.post("/{sandbox}/extend_ttl", response_model=SandboxView, responses=problems(404, 409, 413))
@needs(Capability.SANDBOX_MANAGE)
async def extend_ttl(atoll: Atoll, at: CallerSandbox, *, body: ExtendBody) -> Response:
    """Extend the sandbox's time to live, never past `max_expires_at`. An ended sandbox is kept
    longer."""
    changed = await atoll.sandboxes.extend_ttl(*at, int(body.ttl))
    return Json(await sandbox_view(atoll, changed))


@router.get(
    "/{sandbox}/logs",
    response_model=LogView,
    responses=problems(404),
    openapi_extra=at_most(MAX_LOG_LINES),
)
@needs(Capability.SANDBOX_READ)
async def sandbox_logs(atoll: Atoll, at: CallerSandbox) -> Response:
    """Return the log of provisioning, step by step."""
    lines = (await atoll.sandboxes.logs(*at))[-MAX_LOG_LINES:]
    return Json({"lines": [LogLineView.of(line) for line in lines]})


async def _settled(atoll: Atoll, caller: Caller, sandbox: Sandbox, *, wait: Wait) -> Response:
    if wait.seconds is not None:
        # By id: a destroyed sandbox gives its name away.
        sandbox = await atoll.sandboxes.wait(
            caller, sandbox.id, settled=True, timeout_seconds=wait.seconds
        )
    return Json(await sandbox_view(atoll, sandbox), 202)
