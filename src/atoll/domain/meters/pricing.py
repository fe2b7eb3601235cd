"""Prices as meters apply them: exact micros of one unit, and what a division leaves of them."""

from dataclasses import dataclass
from typing import Protocol

from atoll.wire.words.meters import MeterKind


@dataclass(frozen=True, slots=True)
class AppliedRate:
    """A price of one unit of a kind: `numerator` micros for `denominator` units."""

    kind: MeterKind
    price_id: str
    numerator: int
    denominator: int
    currency: str


class Pricing(Protocol):
    """The prices of a moment. None where no price is known."""

    def compute(self, extension: str, kind: MeterKind) -> AppliedRate | None:
        """Return what a backend takes for a kind."""
        ...

    def model(self, provider: str, model: str, kind: MeterKind) -> AppliedRate | None:
        """Return what a model's provider takes for a kind of tokens."""
        ...


@dataclass(frozen=True, slots=True)
class Remainder:
    """The rest of a kind at one price, below a whole unit and a whole micro. `price_id` is
    empty where no price is known."""

    kind: MeterKind
    price_id: str
    quantity: int = 0
    micros: int = 0


def charge(
    left: Remainder, raw: int, divisor: int, rate: AppliedRate | None
) -> tuple[int, int | None, Remainder]:
    """Return the whole units of a raw quantity, of which `divisor` make one unit, their whole
    micros by a rate, and what is left of both. Nothing left is lost: it counts the next time."""
    quantity, quantity_left = divmod(left.quantity + raw, divisor)
    if rate is None:
        return quantity, None, Remainder(left.kind, left.price_id, quantity_left)
    micros, micros_left = divmod(left.micros + raw * rate.numerator, divisor * rate.denominator)
    return quantity, micros, Remainder(left.kind, left.price_id, quantity_left, micros_left)
