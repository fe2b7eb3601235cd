"""The cost of one sandbox: so far, for an hour as it is now, and up to the end of its time.

Amounts of different currencies are never added up. What has no known price is in no amount.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from atoll.domain.meters.hosts import HOUR_US, WHOLE, HostState, weights_of
from atoll.domain.meters.interval import MICROSECOND, standing
from atoll.domain.meters.meter import Meter
from atoll.domain.meters.state import MeterState
from atoll.wire.words.meters import MeterKind

Amounts = Mapping[str, int]
"""Micros by currency."""


@dataclass(frozen=True, slots=True)
class MeterTotal:
    """The sum of meters of one kind, agent and currency. `micros` and `currency` are None for those
    without a price."""

    kind: MeterKind
    agent: str
    quantity: int
    micros: int | None = None
    currency: str | None = None


@dataclass(frozen=True, slots=True)
class SandboxCost:
    """The cost of a sandbox. `totals` are those of `so_far`, by kind and agent."""

    at: datetime
    so_far: Amounts
    per_hour: Amounts
    projected: Amounts
    totals: tuple[MeterTotal, ...]


def cost_of(
    totals: Iterable[MeterTotal], per_hour: Amounts, *, now: datetime, until: datetime
) -> SandboxCost:
    """Return the cost of a sandbox whose time ends at `until`, as it goes on now."""
    whole = sum_totals(totals)
    so_far = _amounts((each.currency, each.micros) for each in whole)
    length = max(until - now, 0 * MICROSECOND) // MICROSECOND
    ahead = {currency: _up(micros * length, HOUR_US) for currency, micros in per_hour.items()}
    projected = _amounts((*so_far.items(), *ahead.items()))
    return SandboxCost(now, so_far, per_hour, projected, whole)


def total_of(meter: Meter) -> MeterTotal:
    """Return one meter as a total."""
    price = meter.charge
    if price is None:
        return MeterTotal(meter.kind, meter.subject.agent, meter.quantity)
    return MeterTotal(meter.kind, meter.subject.agent, meter.quantity, price.micros, price.currency)


def sum_totals(totals: Iterable[MeterTotal]) -> tuple[MeterTotal, ...]:
    """Return one total for each kind, agent and currency, in the order of kinds and agents."""
    sums: dict[tuple[MeterKind, str, str | None], MeterTotal] = {}
    for each in totals:
        key = each.kind, each.agent, each.currency
        before = sums.get(key, MeterTotal(each.kind, each.agent, 0, None, each.currency))
        micros = None if each.micros is None else each.micros + (before.micros or 0)
        quantity = before.quantity + each.quantity
        sums[key] = MeterTotal(each.kind, each.agent, quantity, micros, each.currency)
    order = list(MeterKind)
    return tuple(
        sorted(
            sums.values(),
            key=lambda each: (order.index(each.kind), each.agent, each.currency or ""),
        )
    )


def hourly(state: MeterState | None, host: HostState | None) -> Amounts:
    """Return what a sandbox costs in an hour as it stands now: its backend's prices, and its share
    of its host. Models are not in it: nobody knows what they will be asked."""
    amounts: list[tuple[str, int]] = []
    if state is None:
        return {}
    for kind, raw, divisor in standing(state):
        rate = state.rate(kind)
        if rate is not None:
            micros = _up(raw * HOUR_US * rate.numerator, divisor * rate.denominator)
            amounts.append((rate.currency, micros))
    if host is not None:
        for share, weight in zip(host.shares, weights_of(host), strict=True):
            if share.subject.sandbox_id == state.subject.sandbox_id:
                amounts.append((host.terms.currency, _up(host.terms.micros * weight, WHOLE)))
    return _amounts(amounts)


def _amounts(pairs: Iterable[tuple[str | None, int | None]]) -> Amounts:
    sums: dict[str, int] = {}
    for currency, micros in pairs:
        if currency is not None and micros is not None:
            sums[currency] = sums.get(currency, 0) + micros
    return dict(sorted(sums.items()))


def _up(dividend: int, divisor: int) -> int:
    """Return a quotient rounded up: a cost ahead is never shown too low."""
    return -(-dividend // divisor)
