"""Execs over HTTP: requests to calls, and values to answers (docs/program/runtime-contract.md)."""

import base64
import binascii
from contextlib import suppress

import msgspec
from aiohttp import web

from atoll.domain.errors import AtollError, Invalid
from atoll.runtime.api.parts import parts_of
from atoll.runtime.api.requests import (
    answer,
    check_argv,
    check_cwd,
    check_env,
    query_flag,
    query_integer,
    read_json,
    signal_number,
)
from atoll.runtime.execs.exec import Exec
from atoll.runtime.execs.execs import ExecRequest
from atoll.wire.contract.execs import (
    ExecBody,
    ExecList,
    Last,
    LeftList,
    LeftRecord,
    SignalBody,
)
from atoll.wire.http.media_types import NDJSON

MAX_OUTPUT_BYTES = 64 * 1024 * 1024
MAX_TIMEOUT_SECONDS = 7 * 24 * 3600.0
FEED_BYTES = 64 * 1024


def routes() -> list[web.RouteDef]:
    """Return every `/execs` route, and `/processes`."""
    return [
        web.post("/execs", _start),
        web.get("/execs", _list),
        web.get("/execs/{id}", _show),
        web.delete("/execs/{id}", _forget),
        web.get("/execs/{id}/output", _output),
        web.post("/execs/{id}/stdin", _feed),
        web.post("/execs/{id}/signal", _signal),
        web.get("/processes", _left_running),
        web.delete("/processes", _end_left_running),
    ]


async def _start(request: web.Request) -> web.StreamResponse:
    exec_request = _exec_request(await read_json(request, ExecBody), request.query.get("actor"))
    started = await parts_of(request).execs.start(exec_request)
    if not exec_request.unrecorded:
        parts_of(request).activity.touch()
    place = {"Location": f"/execs/{started.spec.id}"}
    if exec_request.background:
        return answer(started.record_with_output(), 201, place)
    if NDJSON in request.headers.get("Accept", ""):
        try:
            return await _stream(request, started, 0, 0)
        finally:
            # Also when its reader left: nobody else knows of it.
            if exec_request.unrecorded:
                with suppress(AtollError):
                    await parts_of(request).execs.forget(started.spec.id)
    await started.ended()
    return answer(started.record_with_output(), 200, place)


async def _list(request: web.Request) -> web.Response:
    return answer(ExecList(tuple(each.record() for each in parts_of(request).execs.all())))


async def _show(request: web.Request) -> web.Response:
    return answer(parts_of(request).execs.get(request.match_info["id"]).record_with_output())


async def _forget(request: web.Request) -> web.Response:
    await parts_of(request).execs.forget(request.match_info["id"])
    return web.Response(status=204)


async def _output(request: web.Request) -> web.StreamResponse:
    command = parts_of(request).execs.get(request.match_info["id"])
    stdout = query_integer(request, "stdout", 0)
    stderr = query_integer(request, "stderr", 0)
    return await _stream(request, command, stdout, stderr)


async def _feed(request: web.Request) -> web.Response:
    command = parts_of(request).execs.get(request.match_info["id"])
    close = query_flag(request, "close")
    async for data in request.content.iter_chunked(FEED_BYTES):
        await command.feed.write(data)
    if close:
        command.feed.finish()
    parts_of(request).activity.touch()
    return web.Response(status=204)


async def _signal(request: web.Request) -> web.Response:
    command = parts_of(request).execs.get(request.match_info["id"])
    body = await read_json(request, SignalBody)
    await command.signal(signal_number(body.signal))
    return web.Response(status=204)


async def _left_running(request: web.Request) -> web.Response:
    left = await parts_of(request).execs.left_running()
    listed = tuple(LeftRecord(each.pid, each.command) for each in left.processes)
    own_usage = parts_of(request).own_usage
    return answer(LeftList(listed, left.more, own_usage() if own_usage else None))


async def _end_left_running(request: web.Request) -> web.Response:
    await parts_of(request).execs.end_left_running()
    return web.Response(status=204)


async def _stream(
    request: web.Request, command: Exec, stdout: int, stderr: int
) -> web.StreamResponse:
    """Send lines of output as they come, then the exit."""
    response = web.StreamResponse(headers={"Location": f"/execs/{command.spec.id}"})
    response.content_type = NDJSON
    await response.prepare(request)
    encode = msgspec.json.Encoder().encode
    async for chunk in command.follow(stdout, stderr):
        await response.write(encode(chunk) + b"\n")
    if parts_of(request).ending.announced:
        raise ConnectionResetError("the sandbox ends: this end may not be in the log")
    await response.write(encode(Last(command.record())) + b"\n")
    await response.write_eof()
    return response


def _exec_request(body: ExecBody, actor: str | None) -> ExecRequest:
    if body.timeout is not None and not 0 < body.timeout <= MAX_TIMEOUT_SECONDS:
        raise Invalid(
            f"timeout must be over 0 and up to {MAX_TIMEOUT_SECONDS:g} seconds", field="timeout"
        )
    if not 0 <= body.max_output_bytes <= MAX_OUTPUT_BYTES:
        raise Invalid(f"max_output_bytes must be 0 to {MAX_OUTPUT_BYTES}", field="max_output_bytes")
    return ExecRequest(
        argv=_argv(body),
        cwd=None if body.cwd is None else check_cwd(body.cwd),
        env=check_env(body.env),
        stdin=None if body.stdin is None else _unpack(body.stdin),
        timeout=body.timeout,
        background=body.background,
        max_output_bytes=body.max_output_bytes,
        reap=body.reap,
        unrecorded=body.unrecorded,
        clean_env=body.clean_env,
        actor=actor,
    )


def _argv(body: ExecBody) -> tuple[str, ...]:
    if (body.argv is None) == (body.shell is None):
        raise Invalid("give either argv or a shell line", field="argv")
    if body.shell is not None:
        return check_argv(["/bin/sh", "-c", body.shell])
    return check_argv(body.argv or [])


def _unpack(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise Invalid("stdin must be base64", field="stdin") from error
