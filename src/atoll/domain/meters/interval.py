"""The open interval of a sandbox: how it is closed up to a moment, cut at each full hour."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from atoll.domain.meters.meter import DECLARED, Charge, Meter, meter_id
from atoll.domain.meters.pricing import AppliedRate, Pricing, Remainder, charge
from atoll.domain.meters.state import MeterState
from atoll.wire.words.meters import MeterKind, Source

HOUR: Final = timedelta(hours=1)
SECOND_US: Final = 1_000_000
MICROSECOND: Final = timedelta(microseconds=1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_GIB: Final = 1 << 30
_MIB_IN_GIB: Final = 1024
_MILLI: Final = 1000

PRICED: Final = (
    MeterKind.RUNNING,
    MeterKind.PAUSED,
    MeterKind.STOPPED,
    MeterKind.CPU,
    MeterKind.MEMORY,
    MeterKind.DISK,
    MeterKind.SNAPSHOTS,
    MeterKind.CREATION,
    MeterKind.BYTES_IN,
    MeterKind.BYTES_OUT,
)
"""The kinds that a backend may have a price for."""

Piece = tuple[datetime, datetime]
"""The beginning and the end of a part of an interval, within one hour."""


def hour_of(at: datetime) -> datetime:
    """Return the full hour (UTC) that a moment is in."""
    return _EPOCH + (at - _EPOCH) // HOUR * HOUR


def pieces(begin: datetime, end: datetime) -> Iterator[Piece]:
    """Yield the parts of a time, cut at each full hour. There is none of no time."""
    while begin < end:
        until = min(hour_of(begin) + HOUR, end)
        yield begin, until
        begin = until


def advance(state: MeterState, moment: datetime) -> tuple[MeterState, tuple[Meter, ...]]:
    """Close the interval up to a moment and open the next one there. Returns the meters of the
    closed one. A moment before the interval's own counts as that one: time never runs backwards."""
    moment = max(moment, state.moment)
    made: list[Meter] = []
    for piece in pieces(state.moment, moment):
        for kind, raw, divisor in standing(state):
            length = (piece[1] - piece[0]) // MICROSECOND
            state, meter = _charge(state, piece, kind, length * raw, divisor=divisor)
            made += [] if meter is None else [meter]
    state, counted = _settle_counts(state, (state.moment, moment))
    return replace(state, moment=moment), (*made, *counted)


def apply_prices(state: MeterState, prices: Pricing) -> MeterState:
    """Return a state whose open interval has the prices of now."""
    return replace(state, rates=rates_of(state, prices))


def rates_of(state: MeterState, prices: Pricing) -> tuple[AppliedRate, ...]:
    """Return what the backend of a sandbox takes now."""
    rates = (prices.compute(state.subject.extension, kind) for kind in PRICED)
    return tuple(rate for rate in rates if rate is not None)


def standing(state: MeterState) -> Iterator[tuple[MeterKind, int, int]]:
    """Yield what a sandbox takes while the interval is open: the kind, how much of it in each
    microsecond, and how many of that make one unit."""
    reserved = state.reserved
    if state.phase is not None:
        yield state.phase, 1, SECOND_US
        if state.phase is MeterKind.RUNNING and reserved.cpu_milli:
            yield MeterKind.CPU, reserved.cpu_milli, _MILLI * SECOND_US
        if state.phase is MeterKind.RUNNING and reserved.memory_mb:
            yield MeterKind.MEMORY, reserved.memory_mb, _MIB_IN_GIB * SECOND_US
        if reserved.workspace_mb:
            yield MeterKind.DISK, reserved.workspace_mb, _MIB_IN_GIB * SECOND_US
    stored = sum(size for _, size in state.snapshots)
    if stored:
        yield MeterKind.SNAPSHOTS, stored, _GIB * SECOND_US


def _settle_counts(state: MeterState, piece: Piece) -> tuple[MeterState, list[Meter]]:
    """Write meters of what the doors counted in the interval."""
    made: list[Meter] = []
    for count in state.counts:
        if count.micros is None:
            state, meter = _charge(
                state, piece, count.kind, count.quantity, divisor=1, agent=count.agent
            )
            made += [] if meter is None else [meter]
        else:
            price = Charge(count.price_id, count.micros, DOORS_CURRENCY)
            made.append(_meter(state, piece, count.kind, count.quantity, price, agent=count.agent))
    return replace(state, counts=()), made


DOORS_CURRENCY: Final = "USD"
"""The currency in which the doors count money."""


def _charge(
    state: MeterState,
    piece: Piece,
    kind: MeterKind,
    raw: int,
    *,
    divisor: int,
    agent: str | None = None,
) -> tuple[MeterState, Meter | None]:
    """Return the meter of a raw quantity, None for one below any whole unit and micro, and the
    state with what is left of it."""
    rate = state.rate(kind)
    price_id = "" if rate is None else rate.price_id
    left = next(
        (each for each in state.remainders if (each.kind, each.price_id) == (kind, price_id)),
        Remainder(kind, price_id),
    )
    quantity, micros, after = charge(left, raw, divisor, rate)
    others = tuple(each for each in state.remainders if each is not left)
    rest = (after,) if after.quantity or after.micros else ()
    state = replace(state, remainders=(*others, *rest))
    if not quantity and not micros:
        return state, None
    price = None if rate is None else Charge(price_id, micros or 0, rate.currency)
    return state, _meter(state, piece, kind, quantity, price, agent=agent)


def _meter(
    state: MeterState,
    piece: Piece,
    kind: MeterKind,
    quantity: int,
    price: Charge | None,
    *,
    agent: str | None,
) -> Meter:
    subject = state.subject if agent is None else replace(state.subject, agent=agent)
    parts = (subject.agent, "" if price is None else price.price_id)
    identity = meter_id(subject.sandbox_id, state.position, *piece, kind, *parts)
    source = Source.DECLARED if kind in DECLARED else Source.MEASURED
    return Meter(identity, subject, kind, quantity, *piece, price, source)
