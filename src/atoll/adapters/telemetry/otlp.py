"""Traces by OpenTelemetry's SDK, exported to a collector by OTLP over HTTP.

Loading it takes a while and a thread of its own sends the spans, so it is imported only where a
collector is set. Spans carry names and numbers of Atoll's own: no error text, no stack.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from typing import Final

import structlog
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    SpanExporter,
    SpanExportResult,
)
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    Status,
    StatusCode,
    TraceFlags,
    format_span_id,
    format_trace_id,
    set_span_in_context,
)
from opentelemetry.trace import Span as SdkSpan
from opentelemetry.trace import SpanKind as SdkKind

import atoll
from atoll.domain.errors import AtollError
from atoll.ports.telemetry.tracer import Span, SpanKind
from atoll.wire.contract.correlation import TRACE_ID, TRACE_PARENT, SpanRecord, TraceParent

SEND_SECONDS: Final = 2
"""The longest that one attempt to send takes, and so the end of the server."""

INTERVAL_MILLISECONDS: Final = 1000
MAX_WAITING: Final = 4096
"""Spans that wait for a collector; further ones are dropped."""

_PATH: Final = "/v1/traces"
_SERVER_FAULT: Final = 500
_KINDS: Final = {SpanKind.SERVER: SdkKind.SERVER, SpanKind.INTERNAL: SdkKind.INTERNAL}


class OtlpTracer:
    """The `ports.telemetry.tracer.Tracer` that exports to `endpoint`. `share` of the traces are
    recorded, also of those that a client wants recorded; one that it does not want is not."""

    def __init__(self, endpoint: str, *, share: float = 1.0) -> None:
        url = endpoint.rstrip("/") + _PATH
        self._exporter = _EndingExporter(OTLPSpanExporter(url, timeout=SEND_SECONDS))
        self._processor = BatchSpanProcessor(
            self._exporter, max_queue_size=MAX_WAITING, schedule_delay_millis=INTERVAL_MILLISECONDS
        )
        ratio = TraceIdRatioBased(share)
        self._provider = TracerProvider(
            sampler=ParentBased(ratio, remote_parent_sampled=ratio),
            resource=_resource("atoll-control"),
            shutdown_on_exit=False,
        )
        self._provider.add_span_processor(self._processor)
        self._tracer = self._provider.get_tracer("atoll", atoll.__version__)
        self._runtime = _resource("atoll-runtime")

    def span(
        self, name: str, *, kind: SpanKind = SpanKind.INTERNAL, parent: TraceParent | None = None
    ) -> AbstractContextManager[Span]:
        """See the port."""
        return self._span(name, kind, None if parent is None else _context_of(parent))

    @contextmanager
    def _span(self, name: str, kind: SpanKind, context: Context | None) -> Iterator[Span]:
        with self._tracer.start_as_current_span(
            name,
            context=context,
            kind=_KINDS[kind],
            record_exception=False,
            set_status_on_exception=False,
            end_on_exit=False,
        ) as span:
            open_span = _OtlpSpan(span)
            try:
                with structlog.contextvars.bound_contextvars(**_names_of(span.get_span_context())):
                    yield open_span
            except AtollError as error:
                open_span.fail(error.code)
                raise
            except Exception as error:
                open_span.fail(type(error).__name__)
                raise
            finally:
                open_span.end()

    def record(self, spans: Iterable[SpanRecord]) -> None:
        """See the port."""
        for span in spans:
            self._processor.on_end(_sdk_span(span, self._runtime))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """See the port."""
        try:
            yield
        finally:
            # It sends what waits, in the thread of its own.
            self._exporter.end_within(SEND_SECONDS)
            await asyncio.to_thread(self._provider.shutdown)


class _EndingExporter(SpanExporter):
    """An exporter that gives up once its time is over: a collector that is away must not hold up
    the end of the server, batch by batch."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self._until = float("inf")

    def end_within(self, seconds: float) -> None:
        """Give up after this time."""
        self._until = time.monotonic() + seconds

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send a batch."""
        if time.monotonic() > self._until:
            return SpanExportResult.FAILURE
        return self._exporter.export(spans)

    def shutdown(self) -> None:
        """Close the connections."""
        self._exporter.shutdown()


class _OtlpSpan:
    """The `ports.telemetry.tracer.Span` on one of the SDK's, which complains about late changes."""

    def __init__(self, span: SdkSpan) -> None:
        self._span = span

    def note(self, name: str, value: str | int) -> None:
        if self._span.is_recording():
            self._span.set_attribute(name, value)

    def rename(self, name: str) -> None:
        if self._span.is_recording():
            self._span.update_name(name)

    def fail(self, code: str) -> None:
        if self._span.is_recording():
            self._span.set_status(Status(StatusCode.ERROR))
            self._span.set_attribute("error.type", code)

    def end(self) -> None:
        if self._span.is_recording():
            self._span.end()


def _resource(service: str) -> Resource:
    return Resource.create({"service.name": service, "service.version": atoll.__version__})


def _context_of(parent: TraceParent) -> Context:
    span = NonRecordingSpan(_span_context(parent.trace_id, parent.span_id, parent.sampled))
    return set_span_in_context(span)


def _span_context(trace_id: str, span_id: str, sampled: bool) -> SpanContext:
    flags = TraceFlags(TraceFlags.SAMPLED if sampled else TraceFlags.DEFAULT)
    return SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=True, trace_flags=flags)


def _names_of(context: SpanContext) -> dict[str, str]:
    """Return the place in the trace, for log lines and for those who are called from here."""
    trace_id = format_trace_id(context.trace_id)
    parent = TraceParent(trace_id, format_span_id(context.span_id), context.trace_flags.sampled)
    return {TRACE_ID: trace_id, TRACE_PARENT: str(parent)}


def _sdk_span(span: SpanRecord, resource: Resource) -> ReadableSpan:
    attributes: dict[str, str | int] = {"http.response.status_code": span.status}
    if span.request_id:
        attributes["atoll.request_id"] = span.request_id
    failed = span.status >= _SERVER_FAULT
    return ReadableSpan(
        span.name,
        context=_span_context(span.trace_id, span.span_id, sampled=True),
        parent=_span_context(span.trace_id, span.parent_id, sampled=True),
        resource=resource,
        attributes=attributes,
        kind=SdkKind.SERVER,
        status=Status(StatusCode.ERROR if failed else StatusCode.UNSET),
        start_time=span.start_us * 1000,
        end_time=span.end_us * 1000,
    )
