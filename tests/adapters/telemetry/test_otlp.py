"""Traces by OTLP, judged by a collector that decodes the protobuf."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator

import pytest
import structlog

from atoll.adapters.telemetry.otlp import OtlpTracer
from atoll.ports.telemetry.tracer import SpanKind
from atoll.testing import FakeTracer, TracerContract
from atoll.testing.contracts.telemetry.tracer import SPAN, TRACE, Exported, ExportedSpan
from atoll.wire.contract.correlation import TraceParent, read_trace_parent
from tests.peers.monitoring.collector import Collector, collector


@pytest.fixture
def peer() -> Iterator[Collector]:
    with collector() as kept:
        yield kept


class TestOtlpTracer(TracerContract):
    @pytest.fixture
    async def tracer(self, peer: Collector) -> AsyncIterator[OtlpTracer]:
        made = OtlpTracer(peer.url + "/")
        async with made.running():
            yield made

    @pytest.fixture
    def exported(self, tracer: OtlpTracer, peer: Collector) -> Exported:
        async def read() -> list[ExportedSpan]:
            assert await asyncio.to_thread(tracer._processor.force_flush)
            return peer.spans

        return read


class TestFakeTracer(TracerContract):
    @pytest.fixture
    def tracer(self) -> FakeTracer:
        return FakeTracer()

    @pytest.fixture
    def exported(self, tracer: FakeTracer) -> Exported:
        async def read() -> list[ExportedSpan]:
            return tracer.spans

        return read


async def test_end_sends_what_waits_and_the_collectors_headers_come_from_the_environment(
    peer: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-team=blue")
    tracer = OtlpTracer(peer.url)
    async with tracer.running():
        with tracer.span("act"):
            pass
    assert [one.name for one in peer.spans] == ["act"]
    assert peer.spans[0].service == "atoll-control"
    assert peer.paths == ["/v1/traces"] and peer.headers[0]["x-team"] == "blue"


async def test_context_of_a_span_names_it_to_the_log_and_to_those_it_calls(
    peer: Collector,
) -> None:
    tracer = OtlpTracer(peer.url)
    async with tracer.running():
        with tracer.span("GET", kind=SpanKind.SERVER, parent=TraceParent(TRACE, SPAN)):
            known = structlog.contextvars.get_contextvars()
    assert known["trace_id"] == TRACE
    place = read_trace_parent(known["traceparent"])
    assert place is not None and place.sampled and place.span_id == peer.spans[0].span_id
    assert structlog.contextvars.get_contextvars() == {}


@pytest.mark.parametrize("parent", [None, TraceParent(TRACE, SPAN)])
async def test_share_of_nothing_records_nothing_whatever_a_client_wants(
    peer: Collector, parent: TraceParent | None
) -> None:
    tracer = OtlpTracer(peer.url, share=0)
    async with tracer.running():
        with tracer.span("GET", parent=parent), tracer.span("inner"):
            told = structlog.contextvars.get_contextvars()["traceparent"]
    assert peer.spans == [] and told.endswith("-00")


async def test_collector_that_is_away_holds_nothing_up(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "opentelemetry")
    tracer = OtlpTracer("http://127.0.0.1:9")
    async with asyncio.timeout(10), tracer.running():
        for _ in range(10_000):
            with tracer.span("act"):
                pass
