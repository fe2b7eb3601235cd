"""Spans and request ids of what a runtime serves.

A request whose trace is sampled leaves one span in memory, which the control plane takes out by
`GET /spans` and exports. A runtime sends nothing anywhere, and without a trace nothing is kept.
"""

import os
import time
from collections import deque
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler

from atoll.wire.contract.correlation import (
    TRACE_HEADER,
    SpanList,
    SpanRecord,
    TraceParent,
    read_trace_parent,
)
from atoll.wire.http.request_id import HEADER, read_request_id

MAX_SPANS: Final = 256
"""Spans that wait to be taken out; the oldest ones are dropped."""

UNROUTED: Final = "/unrouted"
_BROKE: Final = 500
_LEFT: Final = 499
_UPGRADED: Final = 101


class SpanBuffer:
    """Finished spans, oldest first."""

    def __init__(self) -> None:
        self._spans: deque[SpanRecord] = deque(maxlen=MAX_SPANS)
        self._dropped = 0

    def add(self, span: SpanRecord) -> None:
        """Keep a span."""
        self._dropped += len(self._spans) == MAX_SPANS
        self._spans.append(span)

    def take(self) -> SpanList:
        """Return all spans, and forget them."""
        taken = SpanList(tuple(self._spans), self._dropped)
        self._spans.clear()
        self._dropped = 0
        return taken


class _OpenSpan:
    """The span of a request under way; it ends once."""

    def __init__(self, request: web.Request, parent: TraceParent, spans: SpanBuffer) -> None:
        self._request = request
        self._parent = parent
        self._spans: SpanBuffer | None = spans
        self._start_us = time.time_ns() // 1000

    def end(self, status: int) -> None:
        spans, self._spans = self._spans, None
        if spans is None:
            return
        span = SpanRecord(
            name=f"{self._request.method[:16]} {_route(self._request)}",
            trace_id=self._parent.trace_id,
            span_id=os.urandom(8).hex(),
            parent_id=self._parent.span_id,
            start_us=self._start_us,
            end_us=time.time_ns() // 1000,
            status=status,
            request_id=request_id_of(self._request),
        )
        spans.add(span)


_OPEN: Final = web.RequestKey("open_span", _OpenSpan)


def request_id_of(request: web.Request) -> str:
    """Return the id that the control plane gave a request; empty when it gave none."""
    return read_request_id(request.headers.get(HEADER)) or ""


async def trace_request(
    request: web.Request, handler: Handler, spans: SpanBuffer
) -> web.StreamResponse:
    """Serve a request, as a span when its trace is sampled."""
    given = request.headers.get(TRACE_HEADER)
    parent = None if given is None else read_trace_parent(given)
    if parent is None or not parent.sampled:
        return await handler(request)
    span = _OpenSpan(request, parent, spans)
    request[_OPEN] = span
    try:
        response = await handler(request)
    except ConnectionError:
        span.end(_LEFT)
        raise
    except BaseException:
        span.end(_BROKE)
        raise
    span.end(response.status)
    return response


async def end_at_upgrade(request: web.Request, response: web.StreamResponse) -> None:
    """End the span of a connection that is upgraded: what took time is the opening, and it may stay
    for days."""
    span: _OpenSpan | None = request.get(_OPEN)
    if span is not None and response.status == _UPGRADED:
        span.end(_UPGRADED)


def _route(request: web.Request) -> str:
    resource = request.match_info.route.resource
    return UNROUTED if resource is None else resource.canonical
