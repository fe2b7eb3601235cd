"""The runtime's HTTP application: who may speak, and which route is whose.

The routes themselves stand beside what they serve; the contract is
docs/program/runtime-contract.md.
"""

import hmac

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware
from msgspec.structs import replace

from atoll.domain.errors import Unauthenticated
from atoll.runtime.api.agents import routes as agent_routes
from atoll.runtime.api.announced_end import is_noted, is_use
from atoll.runtime.api.approvals import routes as ask_routes
from atoll.runtime.api.exec_pipe import routes as exec_pipe_routes
from atoll.runtime.api.execs import routes as exec_routes
from atoll.runtime.api.files import routes as file_routes
from atoll.runtime.api.parts import Parts, parts_of
from atoll.runtime.api.policy import routes as policy_routes
from atoll.runtime.api.ports import routes as port_routes
from atoll.runtime.api.problems import problems
from atoll.runtime.api.recordings import routes as reading_routes
from atoll.runtime.api.requests import MAX_JSON_BYTES, answer, query_integer, read_json
from atoll.runtime.api.terminals import routes as terminal_routes
from atoll.runtime.api.tracing import end_at_upgrade, trace_request
from atoll.runtime.api.workers import routes as worker_routes
from atoll.runtime.health import Counts
from atoll.wire.contract.journal import AckBody, HealthRecord, RestBody

JOURNAL_PAGE = 200
MAX_JOURNAL_PAGE = 1000
MAX_JOURNAL_WAIT = 60
"""Seconds a reader may wait for something urgent."""
MAX_AWAY_SECONDS = 3600


def build(*, token: str | None) -> web.Application:
    """Return the whole application, which `promise_parts` connects to what it serves. With a
    `token` every request must bear it."""
    middlewares: list[Middleware] = [_watch, _redact, problems]
    if token is not None:
        middlewares.append(_bearing(token))
    middlewares.append(_until_ending)
    app = web.Application(middlewares=middlewares, client_max_size=MAX_JSON_BYTES)
    app.on_response_prepare.append(end_at_upgrade)
    for routes in (
        agent_routes,
        worker_routes,
        terminal_routes,
        reading_routes,
        exec_pipe_routes,
        exec_routes,
        file_routes,
        policy_routes,
        port_routes,
        ask_routes,
        _own_routes,
    ):
        app.add_routes(routes())
    return app


def _own_routes() -> list[web.RouteDef]:
    return [
        web.get("/health", _health),
        web.post("/rest", _rest),
        web.get("/journal", _read),
        web.post("/journal/ack", _acknowledge),
        web.get("/spans", _take_spans),
    ]


async def _health(request: web.Request) -> web.Response:
    return answer(_look(parts_of(request)))


async def _rest(request: web.Request) -> web.Response:
    """Begin nothing from now on, if nothing happened for as long as is asked."""
    parts = parts_of(request)
    body, health = await read_json(request, RestBody), _look(parts)
    idle = body.idle_seconds is not None and health.idle_seconds >= body.idle_seconds
    unused = health.unused_seconds or 0.0
    idle = idle or (body.unused_seconds is not None and unused >= body.unused_seconds)
    if idle and not parts.ending.in_use:
        parts.ending.rest()
    return answer(health)


def _look(parts: Parts) -> HealthRecord:
    """Return the state of this runtime."""
    terminals = parts.terminals
    counts = Counts(terminals.running, parts.execs.running, terminals.attached)
    if parts.execs.in_use or parts.agents.working or parts.ending.in_use:
        parts.activity.use()
    return parts.activity.health(counts)


async def _read(request: web.Request) -> web.Response:
    parts = parts_of(request)
    after = query_integer(request, "after", 0)
    limit = query_integer(request, "limit", JOURNAL_PAGE, most=MAX_JOURNAL_PAGE)
    wait = query_integer(request, "wait", 0, most=MAX_JOURNAL_WAIT)
    away = query_integer(request, "away", -1, most=MAX_AWAY_SECONDS)
    if away >= 0 and request.transport is not None:
        parts.control_plane.asked(request.transport, away)
    if wait:
        await parts.journal.urgent(after, wait)
    page = parts.journal.read(after, max(1, limit))
    return answer(replace(page, terminals=parts.terminals.running))


async def _acknowledge(request: web.Request) -> web.Response:
    parts_of(request).journal.acknowledge((await read_json(request, AckBody)).n)
    return web.Response(status=204)


async def _take_spans(request: web.Request) -> web.Response:
    return answer(parts_of(request).spans.take())


@web.middleware
async def _watch(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Count the requests under way, and note the end of each."""
    parts = parts_of(request)
    with parts.idle_end.request():
        try:
            return await trace_request(request, handler, parts.spans)
        finally:
            parts.settling.request_ended(request.path)


@web.middleware
async def _redact(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Remove secrets from errors, titles and arguments in answers. Files, and output that was
    redacted on its way in, pass unchanged."""
    response = await handler(request)
    if isinstance(response, web.Response) and isinstance(response.body, bytes):
        response.body = parts_of(request).redactions.lexicon.redact(response.body)
    return response


@web.middleware
async def _until_ending(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse to begin something, and to confirm it, once the sandbox's end was announced."""
    if not is_use(request.method, request.path):
        return await handler(request)
    ending = parts_of(request).ending
    ending.check_rest()
    if request.method == "GET":
        # A connection to a port is used by what passes, not by being there.
        return await handler(request)
    with ending.use():
        if not is_noted(request.method, request.path):
            return await handler(request)
        ending.check()
        response = await handler(request)
        if isinstance(response, web.Response):
            ending.check()
        return response


def _bearing(token: str) -> Middleware:
    """Let in only who bears the token; compared in constant time."""
    expected = f"Bearer {token}".encode()

    @web.middleware
    async def authenticate(request: web.Request, handler: Handler) -> web.StreamResponse:
        given = request.headers.get("Authorization", "").encode("utf-8", "surrogateescape")
        if not hmac.compare_digest(given, expected):
            raise Unauthenticated("send the runtime's token as Authorization: Bearer …")
        return await handler(request)

    return authenticate
