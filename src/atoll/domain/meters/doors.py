"""Meters of the doors: the bytes and tokens of requests, and the money that the broker counted."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from atoll.domain.event import Event
from atoll.domain.meters.pricing import Pricing
from atoll.domain.meters.state import Count, MeterState
from atoll.domain.overview.usage import MAX_COUNT, counts_of
from atoll.wire.words.meters import MeterKind

TOKENS: Final = (MeterKind.TOKENS_READ, MeterKind.TOKENS_WRITTEN, MeterKind.TOKENS_CACHED)
_MAX_NAME: Final = 128


def count_request(state: MeterState, event: Event, prices: Pricing) -> MeterState:
    """Return the state with what a request at a door counts."""
    counts = {_key(count): count for count in state.counts}
    for count in _counts(state, event, prices):
        before = counts.get(_key(count))
        counts[_key(count)] = count if before is None else _plus(before, count)
    return replace(state, counts=tuple(counts.values()))


def money_of(event: Event) -> int | None:
    """Return the micros that a request cost, and those of what it stands for; None where the door
    knew no price."""
    fields = [event.payload.get(name) for name in ("cost_micros", "unrecorded_cost_micros")]
    known = [each for each in fields if isinstance(each, int) and not isinstance(each, bool)]
    return sum(min(max(each, 0), MAX_COUNT) for each in known) if known else None


def _counts(state: MeterState, event: Event, prices: Pricing) -> Iterator[Count]:
    counted = counts_of(event)
    agent = _name(event, "agent") or state.subject.agent
    for kind, quantity in (
        (MeterKind.BYTES_IN, counted.bytes_in),
        (MeterKind.BYTES_OUT, counted.bytes_out),
    ):
        if quantity:
            yield Count(kind, agent, "", quantity)
    cached = min(counted.tokens_cached, counted.tokens_in)
    tokens = (counted.tokens_in - cached, counted.tokens_out, cached)
    money = money_of(event)
    provider, model = _name(event, "provider"), _name(event, "model")
    rates = [prices.model(provider, model, kind) for kind in TOKENS]
    weights = [
        0 if rate is None else quantity * rate.numerator * _PARTS // rate.denominator
        for quantity, rate in zip(tokens, rates, strict=True)
    ]
    shares = [None] * len(TOKENS) if money is None else _split(money, weights, tokens)
    named = f"{provider}/{model}" if model else provider
    for kind, quantity, rate, micros in zip(TOKENS, tokens, rates, shares, strict=True):
        price_id = named if rate is None else rate.price_id
        if quantity or micros:
            yield Count(kind, agent, "" if micros is None else price_id, quantity, micros)


_PARTS: Final = 10**9
"""The parts of a micro that weights are compared in."""


def _split(money: int, weights: list[int], tokens: tuple[int, ...]) -> list[int | None]:
    """Return the money of one request by kind of token, as their prices have it; without prices all
    of it is that of the tokens written, or of those that there are. The parts add up."""
    whole = sum(weights)
    if not whole:
        most = next((place for place in (1, 0, 2) if tokens[place]), 0)
        return [money if place == most else 0 for place in range(len(weights))]
    parts = [money * weight // whole for weight in weights]
    largest = max(range(len(parts)), key=lambda place: weights[place])
    parts[largest] += money - sum(parts)
    return [*parts]


def _name(event: Event, field: str) -> str:
    text = event.payload.get(field)
    return text[:_MAX_NAME] if isinstance(text, str) else ""


def _key(count: Count) -> tuple[MeterKind, str, str, bool]:
    return count.kind, count.agent, count.price_id, count.micros is None


def _plus(before: Count, more: Count) -> Count:
    micros = None if before.micros is None else before.micros + (more.micros or 0)
    return replace(before, quantity=before.quantity + more.quantity, micros=micros)
