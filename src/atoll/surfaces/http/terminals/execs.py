"""Routes of commands: run one and wait, follow its output, write to it, signal it, forget it; and
of the processes that programs left running."""

import base64
import binascii
from typing import Final

from starlette.responses import Response

from atoll.domain.errors import Invalid
from atoll.services.identifiers import checked_id
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.json_body import stream_body
from atoll.surfaces.http.body.streams import ForwardedStream
from atoll.surfaces.http.serving.answers import runtime_body
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.execs import ExecBody, Execs
from atoll.wire.api.processes import Processes
from atoll.wire.api.terminals import SignalBody
from atoll.wire.contract import execs
from atoll.wire.contract.call import PathId
from atoll.wire.contract.execs import LeftList, end_left_running, list_left_running
from atoll.wire.contract.files import CREATED
from atoll.wire.http.media_types import JSON, NDJSON

operations = Operations()

MAX_STDIN_BYTES: Final = 4 * 1024 * 1024 * 1024
"""The bound on standard input in one request; it streams through and is never held."""


@operations.forwards(Execs.run)
async def run_command(context: RequestContext, sandbox: str, body: ExecBody) -> Response:
    _check(body)
    command = runtime_body(body, execs.ExecBody)
    calls = context.atoll.runtime_calls
    if body.background:
        return Json(await calls.run(context.caller, sandbox, command), CREATED)
    lines = NDJSON in context.request.headers.get("accept", "").lower()
    # The output is not held here, however much it is.
    opened = calls.run_streamed(context.caller, sandbox, command, lines=lines)
    return ForwardedStream(opened, media_type=NDJSON if lines else JSON)


@operations.serves(Execs.list)
async def list_commands(context: RequestContext, sandbox: str) -> execs.ExecList:
    calls = context.atoll.runtime_calls
    return await calls.call(context.caller, sandbox, execs.list_execs())


@operations.forwards(Execs.get)
async def get_command(context: RequestContext, sandbox: str, command: str) -> Response:
    call = execs.show_exec(_id(command))
    opened = context.atoll.runtime_calls.stream(context.caller, sandbox, call)
    return ForwardedStream(opened, media_type=JSON)


@operations.serves(Execs.forget)
async def forget_command(context: RequestContext, sandbox: str, command: str) -> None:
    call = execs.forget_exec(_id(command))
    await context.atoll.runtime_calls.call(context.caller, sandbox, call)


@operations.streams(Execs.follow)
async def follow_output(
    context: RequestContext,
    sandbox: str,
    command: str,
    *,
    stdout: int | None = None,
    stderr: int | None = None,
) -> Response:
    offsets = (("stdout", stdout), ("stderr", stderr))
    query = tuple((name, str(at)) for name, at in offsets if at is not None)
    call = execs.follow_exec(_id(command), query)
    opened = context.atoll.runtime_calls.stream(context.caller, sandbox, call)
    return ForwardedStream(opened, media_type=NDJSON)


@operations.serves(Execs.write)
async def write_stdin(
    context: RequestContext, sandbox: str, command: str, *, close: bool = False
) -> None:
    data = stream_body(context.request, MAX_STDIN_BYTES)
    call = execs.feed_exec(_id(command), data, close=close)
    await context.atoll.runtime_calls.call(context.caller, sandbox, call, activity=True)


@operations.serves(Execs.signal)
async def signal_command(
    context: RequestContext, sandbox: str, command: str, body: SignalBody
) -> None:
    call = execs.signal_exec(_id(command), runtime_body(body, execs.SignalBody))
    await context.atoll.runtime_calls.call(context.caller, sandbox, call)


@operations.serves(Processes.list)
async def list_processes(context: RequestContext, sandbox: str) -> LeftList:
    return await context.atoll.runtime_calls.call(context.caller, sandbox, list_left_running())


@operations.serves(Processes.end)
async def end_processes(context: RequestContext, sandbox: str) -> None:
    calls = context.atoll.runtime_calls
    await calls.call(context.caller, sandbox, end_left_running(), activity=True)


def _check(body: ExecBody) -> None:
    """Check what no single field says. Raises `Invalid`."""
    if body.stdin is not None:
        try:
            base64.b64decode(body.stdin, validate=True)
        except (binascii.Error, ValueError) as error:
            raise Invalid("stdin: must be base64", field="stdin") from error
    if (body.argv is None) == (body.shell is None):
        raise Invalid("the body: give either argv or shell", field="body")


def _id(command: str) -> PathId:
    return checked_id(command, noun="exec")
