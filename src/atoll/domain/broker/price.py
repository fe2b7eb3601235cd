"""Prices of model tokens, as data: enough to stop a loop that spends money, not an invoice.

Prices are US dollars for a million tokens, which is millionths of a dollar (micros) for one.
Vendors change them. A model that is not listed costs as much as its vendor's most expensive one of
today, so that a cap holds. Pure.

Anthropic, OpenAI, Gemini and Mistral are as the vendors' public lists, gathered by llm-prices.com,
had them in November 2026. The others are one high figure each, not checked.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

LONG_READ = 200_000
"""The number of tokens read above which some vendors charge more: twice for reading, half more for
writing."""

_SAME = re.compile(r"-\d{4,8}(-\d\d-\d\d)?|-latest|-preview[\w\-]*|@[\w\-]+")
"""The suffixes of a model's name that leave its price unchanged: a date, a stage."""


@dataclass(frozen=True, slots=True)
class Price:
    """The micros for one token read, written, and read from the vendor's cache."""

    read: float
    written: float
    cached: float


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one response.

    `read` includes those from the cache. `estimated`: the response reported no or not all counts,
    and an estimate was made. `surcharge` counts further tokens for writing the vendor's cache.
    """

    model: str = ""
    read: int = 0
    written: int = 0
    cached: int = 0
    estimated: bool = False
    surcharge: int = 0


PRICES: dict[str, tuple[tuple[str, Price], ...]] = {
    "anthropic": (
        ("claude-opus-5-5", Price(4, 20, 0.2)),
        ("claude-opus-5", Price(5, 25, 0.5)),
        ("claude-opus-4-8", Price(5, 25, 0.5)),
        ("claude-opus-4-7", Price(5, 25, 0.5)),
        ("claude-opus-4-6", Price(5, 25, 0.5)),
        ("claude-opus-4-5", Price(5, 25, 0.5)),
        ("claude-fable-5-1", Price(10, 50, 0.25)),
        ("claude-fable-5", Price(10, 50, 1)),
        ("claude-mythos-5", Price(10, 50, 1)),
        ("claude-sonnet-5-5", Price(2, 10, 0.2)),
        ("claude-sonnet-5", Price(2, 10, 0.2)),
        ("claude-sonnet-4-6", Price(3, 15, 0.3)),
        ("claude-sonnet-4-5", Price(3, 15, 0.3)),
        ("claude-sonnet-4", Price(3, 15, 0.3)),
        ("claude-3-7-sonnet", Price(3, 15, 0.3)),
        ("claude-3-5-sonnet", Price(3, 15, 0.3)),
        ("claude-haiku-4-5", Price(1, 5, 0.1)),
        ("claude-3-5-haiku", Price(0.8, 4, 0.08)),
        ("claude-3-haiku", Price(0.25, 1.25, 0.03)),
        ("", Price(15, 75, 1.5)),
    ),
    "openai": (
        ("gpt-5.5", Price(5, 30, 0.5)),
        ("gpt-5.4", Price(2.5, 15, 0.25)),
        ("gpt-5.4-mini", Price(0.75, 4.5, 0.075)),
        ("gpt-5.4-nano", Price(0.2, 1.25, 0.02)),
        ("gpt-5.2", Price(1.75, 14, 0.175)),
        ("gpt-5.2-pro", Price(21, 168, 21)),
        ("gpt-5.1", Price(1.25, 10, 0.125)),
        ("gpt-5.1-codex", Price(1.25, 10, 0.125)),
        ("gpt-5.1-codex-mini", Price(0.25, 2, 0.025)),
        ("gpt-5", Price(1.25, 10, 0.125)),
        ("gpt-5-codex", Price(1.25, 10, 0.125)),
        ("gpt-5-mini", Price(0.25, 2, 0.025)),
        ("gpt-5-nano", Price(0.05, 0.4, 0.005)),
        ("gpt-5-pro", Price(15, 120, 15)),
        ("gpt-4.1", Price(2, 8, 0.5)),
        ("gpt-4.1-mini", Price(0.4, 1.6, 0.1)),
        ("gpt-4.1-nano", Price(0.1, 0.4, 0.025)),
        ("gpt-4o", Price(2.5, 10, 1.25)),
        ("gpt-4o-mini", Price(0.15, 0.6, 0.075)),
        ("o1-pro", Price(150, 600, 150)),
        ("o3", Price(2, 8, 0.5)),
        ("o3-mini", Price(1.1, 4.4, 0.55)),
        ("o3-pro", Price(20, 80, 20)),
        ("o4-mini", Price(1.1, 4.4, 0.275)),
        ("text-embedding-3-small", Price(0.02, 0, 0.02)),
        ("text-embedding-3-large", Price(0.13, 0, 0.13)),
        ("", Price(150, 600, 150)),
    ),
    "gemini": (
        ("gemini-3.6-flash", Price(1.5, 7.5, 0.15)),
        ("gemini-3.5-flash", Price(1.5, 9, 0.15)),
        ("gemini-3.5-flash-lite", Price(0.3, 2.5, 0.03)),
        ("gemini-3.1-flash-lite", Price(0.25, 1.5, 0.025)),
        ("gemini-2.5-pro", Price(1.25, 10, 0.125)),
        ("gemini-2.5-flash", Price(0.3, 2.5, 0.03)),
        ("gemini-2.5-flash-lite", Price(0.1, 0.4, 0.01)),
        ("gemini-2.0-flash", Price(0.1, 0.4, 0.1)),
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
"""The prices by provider and model name; the last of a provider is for all its other models.
Providers that do not count in tokens (speech, pictures, machine seconds) are not listed."""


def cost_micros(provider: str, usage: Usage) -> int | None:
    """Return the cost of a response in millionths of a dollar, rounded up; None when unknown."""
    if provider not in PRICES:
        return None
    price = _find_price(provider, usage.model)
    cached = min(usage.cached, usage.read)
    read = (usage.read - cached + usage.surcharge) * price.read + cached * price.cached
    written = usage.written * price.written
    if usage.read > LONG_READ:
        read, written = read * 2, written * 1.5
    return -int(-(read + written) // 1)


@lru_cache(maxsize=64)
def _find_price(provider: str, model: str) -> Price:
    model = model.rpartition("/")[2]
    return next(one for name, one in PRICES[provider] if _is_model(model, name))


def _is_model(model: str, name: str) -> bool:
    """Report whether a model has this name, apart from a suffix that keeps the price."""
    if not name:
        return True
    return model.startswith(name) and (model == name or bool(_SAME.fullmatch(model[len(name) :])))
