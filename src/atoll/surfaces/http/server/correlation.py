"""The outermost gate: each request gets an id, a span, and a place in the metrics.

The id is the client's `X-Request-ID` where that is well-formed, else a new one. It returns with the
response, stands in problem documents and in every log line of the request, and reaches the runtime.
Metrics and spans know a request by the template of its route, never by its path.
"""

import secrets
import time
from collections import Counter
from typing import Final

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from atoll.ports.telemetry.metrics import Metric, Readings
from atoll.ports.telemetry.tracer import Span, SpanKind
from atoll.services.telemetry import Telemetry
from atoll.wire.contract.correlation import REQUEST_ID, TRACE_HEADER, TraceParent, read_trace_parent
from atoll.wire.http.request_id import HEADER, read_request_id

REQUESTS: Final = Metric(
    "atoll_http_requests_total",
    "Answered HTTP requests and WebSocket handshakes.",
    ("method", "route", "status"),
)
ANSWER_SECONDS: Final = Metric(
    "atoll_http_answer_seconds",
    "Time from a request to the head of its answer.",
    ("method", "route"),
    (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0),
)
OPEN: Final = Metric(
    "atoll_http_connections_open",
    "Open WebSockets (websocket) and server-sent event streams (sse).",
    ("kind",),
)

UNROUTED: Final = "unrouted"
"""The route of a request that was refused before it reached one."""

WEBSOCKET: Final = "websocket"
SSE: Final = "sse"
ANSWERED: Final = "answer"

_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_RAW_ID: Final = HEADER.lower().encode()
_RAW_TRACE: Final = TRACE_HEADER.encode()
_HEADS: Final = frozenset(
    {
        "http.response.start",
        "websocket.accept",
        "websocket.http.response.start",
        "websocket.close",
    }
)
_EVENT_STREAM: Final = b"text/event-stream"
_SWITCHING: Final = 101
_FORBIDDEN: Final = 403
_SERVER_FAULT: Final = 500

_log = structlog.get_logger(__name__)


class Correlation:
    """The ASGI middleware around all others."""

    def __init__(self, app: ASGIApp, *, telemetry: Telemetry) -> None:
        self._app = app
        self._telemetry = telemetry
        self._open = Counter[str]()
        telemetry.metrics.watch(OPEN, self._read_open)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        request_id = read_request_id(_header(scope, _RAW_ID)) or secrets.token_hex(16)
        scope.setdefault("state", {})["request_id"] = request_id
        tracer = self._telemetry.tracer
        with (
            structlog.contextvars.bound_contextvars(**{REQUEST_ID: request_id}),
            tracer.span(_method(scope), kind=SpanKind.SERVER, parent=_parent(scope)) as span,
        ):
            span.note("atoll.request_id", request_id)
            named = (_RAW_ID, request_id.encode())
            began, kind = time.monotonic(), ""

            async def answer(message: Message) -> None:
                nonlocal kind
                if not kind and message["type"] in _HEADS:
                    kind = _kind_of(message)
                    message = {**message, "headers": [*message.get("headers", ()), named]}
                    self._open[kind] += 1
                    self._note(scope, span, status=_status_of(message), began=began)
                    if kind in (WEBSOCKET, SSE):
                        # The opening is what took time; the connection may stay for days.
                        span.end()
                await send(message)

            try:
                await self._app(scope, receive, answer)
            finally:
                if kind:
                    self._open[kind] -= 1

    def _note(self, scope: Scope, span: Span, *, status: int, began: float) -> None:
        """Count an answer, whose head is about to be sent."""
        seconds = time.monotonic() - began
        method, route = _method(scope), _route(scope)
        self._telemetry.metrics.count(REQUESTS, method, route, str(status))
        self._telemetry.metrics.observe(ANSWER_SECONDS, seconds, method, route)
        span.rename(f"{method} {route}")
        span.note("http.request.method", method)
        span.note("http.route", route)
        span.note("http.response.status_code", status)
        if status >= _SERVER_FAULT:
            span.fail(str(status))
            _log.warning("request_answered", method=method, route=route, status=status)

    async def _read_open(self) -> Readings:
        return {(kind,): self._open[kind] for kind in (WEBSOCKET, SSE)}


def _kind_of(message: Message) -> str:
    """Return which sort of connection an answer's head begins."""
    if message["type"] == "websocket.accept":
        return WEBSOCKET
    named = dict(message.get("headers", ()))
    return SSE if named.get(b"content-type", b"").startswith(_EVENT_STREAM) else ANSWERED


def _status_of(message: Message) -> int:
    """Return the HTTP status that the client gets: a WebSocket that is closed before it is
    accepted is refused with 403."""
    usual = _SWITCHING if message["type"] == "websocket.accept" else _FORBIDDEN
    return int(message.get("status", usual))


def _method(scope: Scope) -> str:
    """Return the method; `WS` for a WebSocket, `OTHER` for a word that no route has."""
    if scope["type"] == "websocket":
        return "WS"
    method: str = scope["method"]
    return method if method in _METHODS else "OTHER"


def _route(scope: Scope) -> str:
    """Return the template of the route, such as `/v1/sandboxes/{sandbox}`."""
    return str(getattr(scope.get("route"), "path", UNROUTED))


def _parent(scope: Scope) -> TraceParent | None:
    return read_trace_parent(_header(scope, _RAW_TRACE))


def _header(scope: Scope, wanted: bytes) -> str:
    """Return a header; empty when it is missing or given twice."""
    given = [value for name, value in scope["headers"] if name == wanted]
    return given[0].decode("latin-1") if len(given) == 1 else ""
