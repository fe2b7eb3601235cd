import pytest

from atoll.domain.broker.metering import TOKENS_PER_SECOND, cut_short, model_of_path, usage_of
from atoll.domain.broker.price import PRICES, Usage, cost_micros
from atoll.domain.broker.provider import PROVIDERS


def test_prices_end_with_the_dearest_of_each_vendor() -> None:
    for provider, prices in PRICES.items():
        assert provider in PROVIDERS
        last = prices[-1]
        assert last[0] == ""
        assert all(last[1].read >= one.read for _, one in prices)
        assert all(last[1].written >= one.written for _, one in prices)


@pytest.mark.parametrize(
    ("provider", "usage", "micros"),
    [
        ("openai", Usage("gpt-5-2025-08-07", 100_000, 0), 125_000),
        ("openai", Usage("gpt-5", 100_000, 1_000_000, 100_000), 10_012_500),
        ("anthropic", Usage("claude-sonnet-4-5", 1, 0), 3),
        ("anthropic", Usage("unheard-of", 1, 1), 90),
        ("fireworks", Usage("accounts/fireworks/models/x", 1, 0), 3),
        ("openai", Usage("gpt-5-nano", 1, 0), 1),
        ("openai", Usage("gpt-5.9-pro", 1, 1), 750),
        ("openai", Usage("gpt-4o-realtime-preview", 1, 0), 150),
        ("anthropic", Usage("claude-opus-4-1-20250805", 1, 0), 15),
        ("anthropic", Usage("claude-opus-4-5-20251101", 1, 0), 5),
        ("anthropic", Usage("claude-haiku-4-5", 100, 0, surcharge=25), 125),
        ("mistral", Usage("codestral-latest", 10, 0), 3),
        ("gemini", Usage("gemini-2.5-pro-preview-05-06", 100_000, 1000), 135_000),
        ("gemini", Usage("gemini-2.5-pro", 300_000, 1000), 765_000),
        ("deepgram", Usage("nova", 1, 1), None),
    ],
)
def test_cost_is_rounded_up_and_a_name_nobody_listed_is_dear(
    provider: str, usage: Usage, micros: int | None
) -> None:
    assert cost_micros(provider, usage) == micros


@pytest.mark.parametrize(
    ("counts", "usage"),
    [
        ({"prompt_tokens": 7, "completion_tokens": 3, "cached_tokens": 2}, Usage("m", 7, 3, 2)),
        (
            {"input_tokens": 7, "output_tokens": 3, "cache_read_input_tokens": 90,
             "cache_creation_input_tokens": 12, "ephemeral_1h_input_tokens": 4},
            Usage("m", 109, 3, 90, surcharge=6),
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


def test_usage_of_an_answer_cut_short_counts_what_was_asked_and_may_have_been_written() -> None:
    told = Usage("m", read=5, written=1)
    assert cut_short(told, bytes_in=400, seconds=2.5) == Usage(
        "m", 100, int(2.5 * TOKENS_PER_SECOND), estimated=True
    )
    assert cut_short(Usage("m", 900, 700), bytes_in=4, seconds=0.1) == Usage(
        "m", 900, 700, estimated=True
    )


def test_model_of_path_is_the_one_the_vendor_will_take() -> None:
    assert model_of_path("/v1beta/models/gemini-2.5-pro:generateContent?x") == "gemini-2.5-pro"
    assert model_of_path("/v1/responses") == ""
