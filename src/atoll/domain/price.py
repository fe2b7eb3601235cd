"""What model tokens cost, as data: enough to stop a loop that burns money, not an invoice.

Prices are US dollars for a million tokens, which is millionths of a dollar (micros) for one.
Vendors change them; a model that is not listed counts as its vendor's dearest, so that a cap
holds. Pure.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Price:
    """Micros for one token read, written, and read from the vendor's cache."""

    read: float
    written: float
    cached: float


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one answer. `read` counts those from the cache too; `estimated` when the answer
    told none and bytes were counted instead."""

    model: str = ""
    read: int = 0
    written: int = 0
    cached: int = 0
    estimated: bool = False


PRICES: dict[str, tuple[tuple[str, Price], ...]] = {
    "anthropic": (
        ("claude-opus-4-5", Price(5, 25, 0.5)),
        ("claude-opus-4-6", Price(5, 25, 0.5)),
        ("claude-opus", Price(15, 75, 1.5)),
        ("claude-sonnet", Price(3, 15, 0.3)),
        ("claude-haiku-4", Price(1, 5, 0.1)),
        ("claude-3-5-haiku", Price(0.8, 4, 0.08)),
        ("claude-3-haiku", Price(0.25, 1.25, 0.03)),
        ("", Price(15, 75, 1.5)),
    ),
    "openai": (
        ("gpt-5-nano", Price(0.05, 0.4, 0.005)),
        ("gpt-5-mini", Price(0.25, 2, 0.025)),
        ("gpt-5-pro", Price(15, 120, 15)),
        ("gpt-5", Price(1.25, 10, 0.125)),
        ("gpt-4.1-nano", Price(0.1, 0.4, 0.025)),
        ("gpt-4.1-mini", Price(0.4, 1.6, 0.1)),
        ("gpt-4.1", Price(2, 8, 0.5)),
        ("gpt-4o-mini", Price(0.15, 0.6, 0.075)),
        ("gpt-4o", Price(2.5, 10, 1.25)),
        ("o3", Price(2, 8, 0.5)),
        ("o4-mini", Price(1.1, 4.4, 0.275)),
        ("text-embedding-3-small", Price(0.02, 0, 0.02)),
        ("text-embedding-3-large", Price(0.13, 0, 0.13)),
        ("", Price(15, 120, 15)),
    ),
    "gemini": (
        ("gemini-2.5-flash-lite", Price(0.1, 0.4, 0.025)),
        ("gemini-2.5-flash", Price(0.3, 2.5, 0.075)),
        ("gemini-2.5-pro", Price(2.5, 15, 0.625)),
        ("gemini-2.0-flash", Price(0.1, 0.4, 0.025)),
        ("", Price(4, 18, 1)),
    ),
    "groq": (("", Price(1, 3, 1)),),
    "together": (("", Price(3.5, 7, 3.5)),),
    "fireworks": (("", Price(3, 8, 3)),),
    "mistral": (
        ("mistral-small", Price(0.1, 0.3, 0.1)),
        ("codestral", Price(0.3, 0.9, 0.3)),
        ("mistral-embed", Price(0.1, 0, 0.1)),
        ("", Price(2, 6, 2)),
    ),
    "cohere": (
        ("command-r7b", Price(0.0375, 0.15, 0.0375)),
        ("embed", Price(0.12, 0, 0.12)),
        ("", Price(2.5, 10, 2.5)),
    ),
    "huggingface": (("", Price(3.5, 7, 3.5)),),
}
PRICES["google"] = PRICES["gemini"]
"""By provider: prices by the beginning of the model's name, the last for all others. Providers
that do not count in tokens (speech, pictures, seconds of a machine) are not here."""


def cost_micros(provider: str, usage: Usage) -> int | None:
    """What an answer cost in millionths of a dollar, rounded up; None where it is not known."""
    prices = PRICES.get(provider)
    if prices is None:
        return None
    model = usage.model.rpartition("/")[2]
    price = next(one for start, one in prices if model.startswith(start))
    cached = min(usage.cached, usage.read)
    micros = (usage.read - cached) * price.read + cached * price.cached
    return -int(-(micros + usage.written * price.written) // 1)
