"""The Metrics port: figures that a monitoring system reads."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

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
