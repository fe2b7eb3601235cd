"""Metrics and traces that stay in memory."""

import secrets
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import TypeAlias

from atoll.ports.telemetry.metrics import MAX_SERIES, OTHER, Metric, Readings
from atoll.ports.telemetry.tracer import Span, SpanKind
from atoll.testing.contracts.telemetry.tracer import ExportedSpan
from atoll.wire.contract.correlation import SpanRecord, TraceParent

_Series: TypeAlias = tuple[Metric, tuple[str, ...]]


class FakeMetrics:
    """A `ports.telemetry.metrics.Metrics`. `counted` and `observed` hold what a test asks for."""

    def __init__(self) -> None:
        self.counted: defaultdict[_Series, float] = defaultdict(float)
        self.observed: defaultdict[_Series, list[float]] = defaultdict(list)
        self.readings: dict[str, tuple[Metric, Callable[[], Awaitable[Readings]]]] = {}

    def count(self, metric: Metric, *labels: str, by: float = 1) -> None:
        """See the port."""
        known = sum(1 for other, _ in self.counted if other == metric)
        if (metric, labels) not in self.counted and known >= MAX_SERIES:
            labels = (OTHER,) * len(labels)
        self.counted[(metric, labels)] += by

    def observe(self, metric: Metric, seconds: float, *labels: str) -> None:
        """See the port."""
        self.observed[(metric, labels)].append(seconds)

    def watch(self, metric: Metric, read: Callable[[], Awaitable[Readings]]) -> None:
        """See the port."""
        self.readings[metric.name] = (metric, read)

    async def page(self) -> bytes:
        """See the port."""
        lines = [
            _spell_sample(counter.name, counter.labels, labels, value)
            for (counter, labels), value in self.counted.items()
        ]
        for (histogram, labels), seconds in self.observed.items():
            for bound in (*histogram.buckets, float("inf")):
                spelled = "+Inf" if bound == float("inf") else str(float(bound))
                below = sum(each <= bound for each in seconds)
                named = ((*histogram.labels, "le"), (*labels, spelled))
                lines.append(_spell_sample(f"{histogram.name}_bucket", *named, below))
            lines.append(
                _spell_sample(f"{histogram.name}_count", histogram.labels, labels, len(seconds))
            )
            lines.append(
                _spell_sample(f"{histogram.name}_sum", histogram.labels, labels, sum(seconds))
            )
        for metric, read in self.readings.values():
            try:
                figures = await read()
            except Exception:  # noqa: BLE001, S112 - as the port promises
                continue
            lines += [
                _spell_sample(metric.name, metric.labels, labels, value)
                for labels, value in figures.items()
            ]
        return "".join(f"{line}\n" for line in lines).encode()


def _spell_sample(name: str, names: tuple[str, ...], labels: tuple[str, ...], value: float) -> str:
    escaped = (
        label.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n") for label in labels
    )
    pairs = ",".join(f'{key}="{text}"' for key, text in zip(names, escaped, strict=True))
    return f"{name}{{{pairs}}} {float(value)}" if pairs else f"{name} {float(value)}"


class _OpenSpan:
    def __init__(self, name: str, place: TraceParent, parent_id: str | None) -> None:
        self.name, self.place, self.parent_id = name, place, parent_id
        self.attributes: dict[str, str | int] = {}
        self.failed = self.ended = False

    def note(self, name: str, value: str | int) -> None:
        if not self.ended:
            self.attributes[name] = value

    def rename(self, name: str) -> None:
        self.name = name

    def fail(self, code: str) -> None:
        self.failed = True
        self.note("error.type", code)

    def end(self) -> None:
        self.ended = True


_current: ContextVar[TraceParent | None] = ContextVar("fake_span", default=None)


class FakeTracer:
    """A `ports.telemetry.tracer.Tracer` whose finished spans are `spans`."""

    def __init__(self) -> None:
        self._open: list[_OpenSpan] = []
        self._recorded: list[ExportedSpan] = []

    @property
    def spans(self) -> list[ExportedSpan]:
        """The finished spans."""
        own = [
            ExportedSpan(
                span.name,
                span.place.trace_id,
                span.place.span_id,
                span.parent_id,
                "atoll-control",
                span.failed,
                span.attributes,
            )
            for span in self._open
            if span.ended and span.place.sampled
        ]
        return [*own, *self._recorded]

    def span(
        self, name: str, *, kind: SpanKind = SpanKind.INTERNAL, parent: TraceParent | None = None
    ) -> AbstractContextManager[Span]:
        """See the port."""
        del kind
        return self._span(name, parent or _current.get())

    @contextmanager
    def _span(self, name: str, parent: TraceParent | None) -> Iterator[Span]:
        trace_id = secrets.token_hex(16) if parent is None else parent.trace_id
        place = TraceParent(trace_id, secrets.token_hex(8), parent is None or parent.sampled)
        span = _OpenSpan(name, place, None if parent is None else parent.span_id)
        self._open.append(span)
        before = _current.set(place)
        try:
            yield span
        except Exception as error:
            span.fail(type(error).__name__)
            raise
        finally:
            _current.reset(before)
            span.end()

    def record(self, spans: Iterable[SpanRecord]) -> None:
        """See the port."""
        for span in spans:
            attributes: dict[str, str | int] = {
                "http.response.status_code": span.status,
                "atoll.request_id": span.request_id,
            }
            self._recorded.append(
                ExportedSpan(
                    span.name,
                    span.trace_id,
                    span.span_id,
                    span.parent_id,
                    "atoll-runtime",
                    span.status >= 500,
                    attributes,
                )
            )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """See the port."""
        yield
