"""The contract of a Tracer. Subclass `TracerContract` and give it the fixtures `tracer` and
`exported`: a coroutine function that returns the finished spans."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from atoll.domain.errors import Unavailable
from atoll.ports.telemetry.tracer import SpanKind, Tracer
from atoll.wire.contract.correlation import SpanRecord, TraceParent

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@dataclass(frozen=True, slots=True)
class ExportedSpan:
    """A finished span as a collector receives it. `service` is what it is attributed to."""

    name: str
    trace_id: str
    span_id: str
    parent_id: str | None
    service: str = ""
    failed: bool = False
    attributes: dict[str, str | int] = field(default_factory=dict)


Exported = Callable[[], Awaitable[list[ExportedSpan]]]


class TracerContract:
    """Contract of a tracer: spans of one trace are each other's children."""

    async def test_span_within_another_is_its_child(
        self, tracer: Tracer, exported: Exported
    ) -> None:
        with tracer.span("outer") as outer:
            outer.note("atoll.sandbox", "sb_a")
            with tracer.span("inner") as inner:
                inner.rename("inner act")
                inner.note("atoll.count", 3)
        spans = {span.name: span for span in await exported()}
        assert set(spans) == {"outer", "inner act"}
        inner_, outer_ = spans["inner act"], spans["outer"]
        assert (inner_.trace_id, inner_.parent_id) == (outer_.trace_id, outer_.span_id)
        assert outer_.parent_id is None
        assert outer_.attributes["atoll.sandbox"] == "sb_a"
        assert inner_.attributes["atoll.count"] == 3

    async def test_span_continues_the_trace_of_a_client(
        self, tracer: Tracer, exported: Exported
    ) -> None:
        with tracer.span("GET", kind=SpanKind.SERVER, parent=TraceParent(TRACE, SPAN)):
            pass
        (span,) = await exported()
        assert (span.trace_id, span.parent_id) == (TRACE, SPAN)

    async def test_trace_that_a_client_does_not_sample_is_not_recorded(
        self, tracer: Tracer, exported: Exported
    ) -> None:
        unsampled = TraceParent(TRACE, SPAN, sampled=False)
        with tracer.span("GET", kind=SpanKind.SERVER, parent=unsampled), tracer.span("inner"):
            pass
        assert await exported() == []

    async def test_task_that_was_started_within_a_span_belongs_to_it(
        self, tracer: Tracer, exported: Exported
    ) -> None:
        async def act() -> None:
            with tracer.span("later"):
                await asyncio.sleep(0)

        async with asyncio.TaskGroup() as tasks:
            with tracer.span("outer"):
                tasks.create_task(act())
        spans = {span.name: span for span in await exported()}
        assert spans["later"].parent_id == spans["outer"].span_id

    async def test_error_that_leaves_a_span_marks_it_and_leaks_nothing(
        self, tracer: Tracer, exported: Exported
    ) -> None:
        with pytest.raises(Unavailable), tracer.span("act"):
            raise Unavailable("canary-4711")
        with tracer.span("told") as span:
            span.fail("500")
        spans = await exported()
        assert [span.failed for span in spans] == [True, True]
        assert "canary" not in repr(spans)

    async def test_span_that_ended_early_is_exported_once(
        self, tracer: Tracer, exported: Exported
    ) -> None:
        with tracer.span("act") as span:
            span.end()
            span.note("atoll.late", 1)
        (only,) = await exported()
        assert "atoll.late" not in only.attributes

    async def test_spans_of_a_runtime_are_attributed_to_it(
        self, tracer: Tracer, exported: Exported
    ) -> None:
        tracer.record([SpanRecord("GET /x", TRACE, "b" * 16, SPAN, 10, 20, 503, "mine")])
        (span,) = await exported()
        assert (span.name, span.trace_id, span.span_id) == ("GET /x", TRACE, "b" * 16)
        assert (span.parent_id, span.service, span.failed) == (SPAN, "atoll-runtime", True)
        assert span.attributes["http.response.status_code"] == 503
        assert span.attributes["atoll.request_id"] == "mine"
