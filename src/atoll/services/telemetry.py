"""Telemetry as services use it: metrics and traces in one value, and both off.

`OFF` costs a call and keeps nothing, so no service asks whether somebody measures.
"""

import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    contextmanager,
    nullcontext,
)
from dataclasses import dataclass

from atoll.ports.telemetry.metrics import Metric, Metrics, Readings
from atoll.ports.telemetry.tracer import Span, SpanKind, Tracer
from atoll.wire.contract.correlation import SpanRecord, TraceParent


class _NoMetrics:
    """A `ports.telemetry.metrics.Metrics` that keeps nothing."""

    def count(self, metric: Metric, *labels: str, by: float = 1) -> None:
        """Drop it."""

    def observe(self, metric: Metric, seconds: float, *labels: str) -> None:
        """Drop it."""

    def watch(self, metric: Metric, read: Callable[[], Awaitable[Readings]]) -> None:
        """Never read it."""

    async def page(self) -> bytes:
        """Return an empty page."""
        return b""


class _NoSpan:
    """A `ports.telemetry.tracer.Span` that keeps nothing."""

    def note(self, name: str, value: str | int) -> None:
        """Drop it."""

    def rename(self, name: str) -> None:
        """Drop it."""

    def fail(self, code: str) -> None:
        """Drop it."""

    def end(self) -> None:
        """Do nothing."""


_NO_SPAN: AbstractContextManager[Span] = nullcontext(_NoSpan())


class _NoTracer:
    """A `ports.telemetry.tracer.Tracer` that keeps nothing."""

    def span(
        self, name: str, *, kind: SpanKind = SpanKind.INTERNAL, parent: TraceParent | None = None
    ) -> AbstractContextManager[Span]:
        """Return a span that keeps nothing."""
        del name, kind, parent
        return _NO_SPAN

    def record(self, spans: Iterable[SpanRecord]) -> None:
        """Drop them."""

    def running(self) -> AbstractAsyncContextManager[None]:
        """Send nothing."""
        return nullcontext()


@dataclass(frozen=True, slots=True)
class Telemetry:
    """Metrics and traces of one control plane. `metered` and `traced` report which are on."""

    metrics: Metrics
    tracer: Tracer
    metered: bool = False
    traced: bool = False

    @contextmanager
    def timed(self, name: str, metric: Metric, *labels: str) -> Iterator[Span]:
        """Open a span, and observe how long it took unless an error ended it."""
        began = time.monotonic()
        with self.tracer.span(name) as span:
            yield span
        self.metrics.observe(metric, time.monotonic() - began, *labels)


OFF = Telemetry(_NoMetrics(), _NoTracer())
