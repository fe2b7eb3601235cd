"""Numbers and how they are told: samples in milliseconds, medians, ratios to a floor."""

import statistics
from dataclasses import dataclass, field


@dataclass
class Series:
    """Samples of one thing, in `unit`."""

    name: str
    unit: str = "ms"
    samples: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        """The middle sample."""
        return statistics.median(self.samples)

    @property
    def p95(self) -> float:
        """The sample that 95 % do not exceed."""
        return self._part(0.95)

    @property
    def p99(self) -> float:
        """The sample that 99 % do not exceed."""
        return self._part(0.99)

    def _part(self, part: float) -> float:
        ordered = sorted(self.samples)
        return ordered[min(len(ordered) - 1, round(part * (len(ordered) - 1)))]

    def row(self) -> str:
        """One line of the table."""
        return (
            f"  {self.name:<46} {self.median:9.2f} {self.p95:9.2f} {self.unit}"
            f"   n={len(self.samples)}"
        )


def table(title: str, *series: Series) -> None:
    """Print a heading and a row per series that has samples."""
    print(f"\n{title}\n  {'':<46} {'median':>9} {'p95':>9}")
    for one in series:
        if one.samples:
            print(one.row(), flush=True)


def ratio(text: str, value: float) -> None:
    """Say a ratio of which nothing particular is asked."""
    print(f"  -> {text}: {value:.2f}", flush=True)


def verdict(text: str, value: float, limit: float, *, at_least: bool = False) -> None:
    """Say a ratio or difference beside what is asked of it."""
    met = value >= limit if at_least else value <= limit
    word = "met" if met else "MISSED"
    sign = ">=" if at_least else "<="
    print(f"  -> {text}: {value:.2f} (asked {sign} {limit:g}): {word}", flush=True)
