"""Routes of commands: run one and wait, follow its output, write to it, signal it, forget it."""

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from starlette.responses import Response

from atoll.domain.people.capability import Capability
from atoll.surfaces.http.body.answers import Json, no_content
from atoll.surfaces.http.body.contract import request_body, shown
from atoll.surfaces.http.body.fields import CommandId
from atoll.surfaces.http.body.json_body import JsonRoute, bounded
from atoll.surfaces.http.body.pages import at_most
from atoll.surfaces.http.body.streams import JSON, NDJSON, ForwardedStream, stream_of
from atoll.surfaces.http.server.context import Atoll, CallerSandbox
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems
from atoll.surfaces.http.terminals.runtime_bodies import (
    ExecBody,
    SignalBody,
)
from atoll.wire.contract import execs
from atoll.wire.contract.files import CREATED

router = APIRouter(prefix="/v1/sandboxes/{sandbox}/exec", tags=["exec"], route_class=JsonRoute)

MAX_STDIN_BYTES = 4 * 1024 * 1024 * 1024
"""The bound on standard input in one request; it streams through and is never held."""

_FAILURES: dict[int | str, dict[str, Any]] = problems(404, 409, 413, 502)
_DONE: dict[str, Any] = {"status_code": 204, "responses": _FAILURES}
_LINES = "One JSON object per line: output in base64 with its offset; the last line is `exit`."
_RAW_BODY = {
    "requestBody": {
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    }
}

Offset = Annotated[int | None, Query(ge=0, le=2**53)]


@router.post(
    "",
    response_model=shown(execs.ExecWithOutput),
    responses={
        200: {
            "description": "The command's result; or a stream of its output, when accepted.",
            "content": {NDJSON: {"schema": {"type": "string", "format": "binary"}}},
        },
        201: {"model": shown(execs.ExecWithOutput), "description": "Started in the background."},
        **_FAILURES,
    },
)
@needs(Capability.EXEC_USE)
async def run_command(
    atoll: Atoll,
    at: CallerSandbox,
    *,
    body: ExecBody,
    accept: Annotated[str, Header(include_in_schema=False)] = "",
) -> Response:
    """Run a command.

    It waits for the end, or with `background` answers at once. With `Accept: application/x-ndjson`
    the output comes as it is written.
    """
    command = request_body(body, execs.ExecBody)
    if body.background:
        return Json(await atoll.runtime_calls.run(*at, command), CREATED)
    lines = NDJSON in accept.lower()
    # The output is not held here, however much it is.
    opened = atoll.runtime_calls.run_streamed(*at, command, lines=lines)
    return ForwardedStream(opened, media_type=NDJSON if lines else JSON)


@router.get(
    "", response_model=shown(execs.ExecList), responses=_FAILURES, openapi_extra=at_most(164)
)
@needs(Capability.EXEC_USE)
async def list_commands(atoll: Atoll, at: CallerSandbox) -> Response:
    """Return the commands that run, and those that ended lately; without their output."""
    return Json(await atoll.runtime_calls.call(*at, execs.list_execs()))


@router.get("/{command}", response_model=shown(execs.ExecWithOutput), responses=_FAILURES)
@needs(Capability.EXEC_USE)
async def get_command(atoll: Atoll, at: CallerSandbox, *, command: CommandId) -> Response:
    """Return one command with its output so far."""
    opened = atoll.runtime_calls.stream(*at, execs.show_exec(command))
    return ForwardedStream(opened, media_type=JSON)


@router.delete("/{command}", **_DONE)
@needs(Capability.EXEC_USE)
async def forget_command(atoll: Atoll, at: CallerSandbox, *, command: CommandId) -> Response:
    """Forget a command and its output.

    A running command is killed with all it started; processes that an ended one left running live
    on.
    """
    await atoll.runtime_calls.call(*at, execs.forget_exec(command))
    return no_content()


@router.get(
    "/{command}/output",
    response_model=None,
    responses={**stream_of(NDJSON, _LINES), **_FAILURES},
)
@needs(Capability.EXEC_USE)
async def follow_output(
    atoll: Atoll,
    at: CallerSandbox,
    *,
    command: CommandId,
    stdout: Offset = None,
    stderr: Offset = None,
) -> Response:
    """Follow a command's output from two offsets until its end.

    A stream whose offset lies beyond its output is sent from 0, as the `offset` of its lines says.
    """
    offsets = (("stdout", stdout), ("stderr", stderr))
    query = tuple((name, str(at)) for name, at in offsets if at is not None)
    opened = atoll.runtime_calls.stream(*at, execs.follow_exec(command, query))
    return ForwardedStream(opened, media_type=NDJSON)


@router.post("/{command}/stdin", **_DONE, openapi_extra=_RAW_BODY)
@needs(Capability.EXEC_USE)
async def write_stdin(
    atoll: Atoll,
    at: CallerSandbox,
    *,
    command: CommandId,
    close: Annotated[bool, Query(description="End the input afterwards.")] = False,
    request: Request,
) -> Response:
    """Write raw bytes to a command's standard input."""
    call = execs.feed_exec(command, bounded(request, MAX_STDIN_BYTES), close=close)
    await atoll.runtime_calls.call(*at, call, activity=True)
    return no_content()


@router.post("/{command}/signal", **_DONE)
@needs(Capability.EXEC_USE)
async def signal_command(
    atoll: Atoll, at: CallerSandbox, *, command: CommandId, body: SignalBody
) -> Response:
    """Signal a command and all its descendants."""
    call = execs.signal_exec(command, request_body(body, execs.SignalBody))
    await atoll.runtime_calls.call(*at, call)
    return no_content()
