import pytest

from atoll.domain.metering import usage_of
from atoll.domain.price import PRICES, Usage, cost_micros
from atoll.domain.provider import PROVIDERS


def test_prices_end_with_the_dearest_of_each_vendor() -> None:
    for provider, prices in PRICES.items():
        assert provider in PROVIDERS
        last = prices[-1]
        assert last[0] == ""
        assert all(last[1].read >= one.read for _, one in prices)


@pytest.mark.parametrize(
    ("provider", "usage", "micros"),
    [
        ("openai", Usage("gpt-5-2025-08-07", 1_000_000, 0), 1_250_000),
        ("openai", Usage("gpt-5", 1_000_000, 1_000_000, 1_000_000), 10_125_000),
        ("anthropic", Usage("claude-sonnet-4-5", 1, 0), 3),
        ("anthropic", Usage("unheard-of", 1, 1), 90),
        ("fireworks", Usage("accounts/fireworks/models/x", 1, 0), 3),
        ("openai", Usage("gpt-5-nano", 1, 0), 1),
        ("deepgram", Usage("nova", 1, 1), None),
    ],
)
def test_cost_is_rounded_up_by_the_longest_fitting_name(
    provider: str, usage: Usage, micros: int | None
) -> None:
    assert cost_micros(provider, usage) == micros


@pytest.mark.parametrize(
    ("counts", "usage"),
    [
        ({"prompt_tokens": 7, "completion_tokens": 3, "cached_tokens": 2}, Usage("m", 7, 3, 2)),
        (
            {"input_tokens": 7, "output_tokens": 3, "cache_read_input_tokens": 90,
             "cache_creation_input_tokens": 10},
            Usage("m", 107, 3, 90),
        ),
        (
            {"promptTokenCount": 7, "candidatesTokenCount": 3, "thoughtsTokenCount": 4},
            Usage("m", 7, 7, 0),
        ),
        ({}, Usage("m", 25, 10, 0, estimated=True)),
    ],
)  # fmt: skip
def test_usage_of_vendors_own_names(counts: dict[str, int], usage: Usage) -> None:
    assert usage_of(counts, model="m", bytes_in=100, bytes_out=40) == usage
