"""The Telemetry ports: figures that a monitoring system reads, and spans of a trace.

Neither raises: a monitoring system that is away must not fail a request.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from atoll.wire.contract.correlation import SpanRecord, TraceParent

MAX_SERIES = 1000
"""The combinations of labels that one metric has; what would be another counts as `OTHER`."""

OTHER = "other"


@dataclass(frozen=True, slots=True)
class Metric:
    """The declaration of a metric, named as Prometheus names it.

    A label has few values, all of them chosen by Atoll: a state, a route's template, a phase. It is
    never an id, a name or a path of anybody's. `buckets` are upper bounds in seconds.
    """

    name: str
    about: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


Readings = Mapping[tuple[str, ...], float]
"""Present values, by the values of the labels."""


class Metrics(Protocol):
    """Metrics of this process. A feature declares each metric once, as a constant of its own, and
    uses it by one of the first three methods alone. Labels are given in the declared order."""

    def count(self, metric: Metric, *labels: str, by: float = 1) -> None:
        """Add to a counter. `by` is not negative."""
        ...

    def observe(self, metric: Metric, seconds: float, *labels: str) -> None:
        """Add a duration to a histogram."""
        ...

    def watch(self, metric: Metric, read: Callable[[], Awaitable[Readings]]) -> None:
        """Have a gauge read whenever the page is made. A reading that raises or takes more than a
        few seconds leaves its gauge out. Watching a metric again replaces its reading."""
        ...

    async def page(self) -> bytes:
        """Return all metrics in Prometheus' text format 0.0.4. Readings are at most a second
        old."""
        ...


class SpanKind(StrEnum):
    """The side of a call that a span shows."""

    SERVER = "server"
    INTERNAL = "internal"


class Span(Protocol):
    """An act under way, as a part of a trace. Attributes are names and numbers of Atoll's own:
    never a command, an argument, a path of a file, or a secret."""

    def note(self, name: str, value: str | int) -> None:
        """Set an attribute."""
        ...

    def rename(self, name: str) -> None:
        """Set the name, where it is known only now."""
        ...

    def fail(self, code: str) -> None:
        """Mark the act as failed, with a stable code and no text."""
        ...

    def end(self) -> None:
        """End it before its context is left; what follows changes nothing."""
        ...


class Tracer(Protocol):
    """Spans of this process, and those that runtimes hand out."""

    def span(
        self, name: str, *, kind: SpanKind = SpanKind.INTERNAL, parent: TraceParent | None = None
    ) -> AbstractContextManager[Span]:
        """Open a span for the length of a context. Without `parent` it belongs to the span around
        it, also in a task that was started there. An error that leaves the context marks it as
        failed."""
        ...

    def record(self, spans: Iterable[SpanRecord]) -> None:
        """Take in finished spans of a runtime."""
        ...

    def running(self) -> AbstractAsyncContextManager[None]:
        """Send spans while the context lasts, and the last of them at its end, within seconds."""
        ...
