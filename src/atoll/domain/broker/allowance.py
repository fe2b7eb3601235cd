"""The allowance of one sandbox at its broker: requests, concurrency, bytes, money.

Pure: seconds of a steady clock come in as values. Money is what responses report as their cost. So
each request reserves its possible cost beforehand, and a cap is passed by at most what is under
way.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from atoll.domain.broker.price import PRICES

REQUESTS_PER_MINUTE = 3000
CONCURRENT = 256
BYTES_PER_HOUR = 64 * 1024**3
LEAST_RESERVE_MICROS = 10_000
_LEASED = "lease:"
"""The beginning of the names under which leases are counted beside providers."""


@dataclass(frozen=True, slots=True)
class LeasedMoney:
    """The micros that all models may cost by one lease, and the sentence for a client then."""

    id: str
    micros: int
    refusal: str


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds in force; `spend_micros` by provider name, millionths of a US dollar. `leases` are
    for all providers whose cost is known together."""

    requests_per_minute: int = REQUESTS_PER_MINUTE
    concurrent: int = CONCURRENT
    bytes_per_hour: int = BYTES_PER_HOUR
    spend_micros: Mapping[str, int] = field(default_factory=dict)
    leases: tuple[LeasedMoney, ...] = ()

    def counts(self, provider: str) -> bool:
        """Report whether the cost of a provider is bounded."""
        return provider in self.spend_micros or (provider in PRICES and bool(self.leases))


@dataclass(slots=True)
class _Spending:
    """The cost of one provider: spent, the most that one response cost, responses under way."""

    spent: int = 0
    dearest: int = LEAST_RESERVE_MICROS
    open: int = 0


class Allowance:
    """The counts of one sandbox, and its bounds."""

    __slots__ = ("_at", "_bytes", "_bytes_at", "_left", "_open", "_spending", "bounds")

    def __init__(self, now: float, spent: Mapping[str, int] | None = None) -> None:
        """Begin with `spent`, the cost of the sandbox's earlier lives by provider."""
        self.bounds = Bounds()
        self._at = now
        self._left = float(REQUESTS_PER_MINUTE)
        self._bytes_at = now
        self._bytes = 0.0
        self._open = 0
        self._spending = {name: _Spending(micros) for name, micros in (spent or {}).items()}

    def apply(self, bounds: Bounds) -> None:
        """Use other bounds from now on; the counts stay."""
        self.bounds = bounds

    @property
    def spent(self) -> dict[str, int]:
        """The micros spent by provider: in all lives, as far as they were reported."""
        return {name: spending.spent for name, spending in self._spending.items()}

    def enter(self, provider: str, now: float) -> str | None:
        """Count a request in, or return which bound it exceeds: a sentence for the client."""
        bounds = self.bounds
        self._flow(now)
        spending = self._spending.get(provider)
        if spending is None:
            spending = self._spending[provider] = _Spending()
        cap = bounds.spend_micros.get(provider)
        if self._open >= bounds.concurrent:
            return f"{bounds.concurrent} requests are under way; wait for one to end"
        if self._left < 1:
            return f"more than {bounds.requests_per_minute} requests a minute; slow down"
        if self._bytes >= bounds.bytes_per_hour:
            return f"more than {bounds.bytes_per_hour} bytes an hour; wait, or ask the owner"
        if cap is not None and spending.spent + spending.open * spending.dearest >= cap:
            spent = spending.spent / 1_000_000
            return f"{provider} has cost ${spent:.4f} of the ${cap / 1_000_000:.4f} it may cost"
        spent_lease = self._find_spent(provider)
        if spent_lease is not None:
            return spent_lease.refusal
        self._left -= 1
        self._open += 1
        spending.open += 1
        return None

    def leave(self, provider: str, micros: int) -> None:
        """Count a request out, with its cost."""
        self._open -= 1
        spending = self._spending[provider]
        spending.open -= 1
        spending.spent += micros
        spending.dearest = max(spending.dearest, micros)
        for lease in self.bounds.leases:
            self._count_leased(lease).spent += micros

    def took(self, count: int) -> bool:
        """Count bytes, in either direction. Returns False when the hour's bytes are used up."""
        self._bytes += count
        return self._bytes < self.bounds.bytes_per_hour

    def _find_spent(self, provider: str) -> LeasedMoney | None:
        """Return the first lease that, less what may be under way, is spent."""
        if provider not in PRICES:
            return None
        reserved = sum(each.open * each.dearest for each in self._spending.values())
        for lease in self.bounds.leases:
            if self._count_leased(lease).spent + reserved >= lease.micros:
                return lease
        return None

    def _count_leased(self, lease: LeasedMoney) -> _Spending:
        return self._spending.setdefault(f"{_LEASED}{lease.id}", _Spending())

    def _flow(self, now: float) -> None:
        limit = self.bounds.requests_per_minute
        self._left = min(limit, self._left + (now - self._at) * limit / 60)
        self._at = now
        drained = (now - self._bytes_at) * self.bounds.bytes_per_hour / 3600
        self._bytes = max(0.0, self._bytes - drained)
        self._bytes_at = now
