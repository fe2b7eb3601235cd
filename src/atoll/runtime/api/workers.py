"""Workers over HTTP: requests to calls, values to answers (docs/program/runtime-contract.md)."""

import re
from contextlib import suppress

import msgspec
from aiohttp import web

from atoll.domain.errors import Invalid
from atoll.runtime.api.parts import parts_of
from atoll.runtime.api.requests import answer, query_integer, read_json
from atoll.runtime.workers.workers import Worker
from atoll.wire.contract.workers import AcknowledgeBody, OpenWorkerBody, WorkerRequestBody
from atoll.wire.http.media_types import NDJSON

PAGE = 200
MAX_PAGE = 1000
MAX_WAIT_SECONDS = 60
QUIET_SECONDS = 5.0
"""The time without deltas after which an empty line is sent: a reader that left is noticed."""
_REQUEST_ID = re.compile(r"[!-~]{1,128}")
_METHOD = re.compile(r"[A-Za-z][A-Za-z0-9_/]{0,127}")


def routes() -> list[web.RouteDef]:
    """Return every route of workers."""
    return [
        web.post("/workers", _open_worker),
        web.get("/workers/{id}", _show),
        web.post("/workers/{id}/requests", _request),
        web.get("/workers/{id}/spool", _read),
        web.post("/workers/{id}/spool/ack", _acknowledge),
        web.get("/workers/{id}/live", _follow),
    ]


async def _open_worker(request: web.Request) -> web.Response:
    """Open a worker for an agent that runs."""
    body = await read_json(request, OpenWorkerBody)
    parts = parts_of(request)
    parts.activity.touch()
    return answer(parts.workers.open(body.worker_id, parts.agents.get(body.agent_id)).record, 201)


async def _show(request: web.Request) -> web.Response:
    return answer(_worker(request).record)


async def _request(request: web.Request) -> web.Response:
    body = await read_json(request, WorkerRequestBody)
    if not _REQUEST_ID.fullmatch(body.request_id):
        raise Invalid("a request_id is 1 to 128 visible ASCII characters", field="request_id")
    if not _METHOD.fullmatch(body.method):
        raise Invalid("a method is letters, digits, _ and /", field="method")
    if not 0 <= body.wait_ms <= MAX_WAIT_SECONDS * 1000:
        raise Invalid(f"wait_ms is 0 to {MAX_WAIT_SECONDS * 1000}", field="wait_ms")
    worker = _worker(request)
    parts_of(request).activity.touch()
    answered = await worker.request(body)
    return answer(answered, 202 if answered.receipt is None else 200)


async def _read(request: web.Request) -> web.Response:
    after = query_integer(request, "after", 0)
    limit = query_integer(request, "limit", PAGE, most=MAX_PAGE)
    wait = query_integer(request, "wait", 0, most=MAX_WAIT_SECONDS)
    return answer(await _worker(request).page(after, max(1, limit), wait))


async def _acknowledge(request: web.Request) -> web.Response:
    _worker(request).acknowledge((await read_json(request, AcknowledgeBody)).n)
    return web.Response(status=204)


async def _follow(request: web.Request) -> web.StreamResponse:
    """Send deltas as lines, until the reader leaves or the runtime ends."""
    with _worker(request).live.following() as follower:
        response = web.StreamResponse()
        response.content_type = NDJSON
        await response.prepare(request)
        encode = msgspec.json.Encoder().encode
        with suppress(ConnectionResetError):
            while not follower.ended:
                batch = await follower.next(QUIET_SECONDS)
                await response.write(b"\n" if batch is None else encode(batch) + b"\n")
            await response.write_eof()
        return response


def _worker(request: web.Request) -> Worker:
    return parts_of(request).workers.get(request.match_info["id"])
