from atoll.domain.broker.allowance import LEAST_RESERVE_MICROS, Allowance, Bounds, LeasedMoney


def test_allowance_requests_a_minute_flow_back() -> None:
    count = Allowance(0.0)
    count.apply(Bounds(requests_per_minute=60))
    assert [count.enter("x", 0.0) for _ in range(60)] == [None] * 60
    said = count.enter("x", 0.0)
    assert said is not None and "60 requests a minute" in said
    assert count.enter("x", 1.0) is None


def test_allowance_at_once_is_bounded_until_one_leaves() -> None:
    count = Allowance(0.0)
    count.apply(Bounds(concurrent=1))
    assert count.enter("x", 0.0) is None
    assert "under way" in str(count.enter("y", 0.0))
    count.leave("x", 0)
    assert count.enter("y", 0.0) is None


def test_allowance_bytes_of_an_hour_drain() -> None:
    count = Allowance(0.0)
    count.apply(Bounds(bytes_per_hour=3600))
    assert count.took(3599)
    assert not count.took(1)
    assert "bytes an hour" in str(count.enter("x", 0.0))
    assert count.enter("x", 10.0) is None


def test_allowance_money_is_reserved_for_what_is_under_way() -> None:
    count = Allowance(0.0)
    count.apply(Bounds(spend_micros={"openai": 2 * LEAST_RESERVE_MICROS}))
    assert count.enter("openai", 0.0) is None
    assert count.enter("openai", 0.0) is None
    assert "has cost" in str(count.enter("openai", 0.0))
    assert count.enter("anthropic", 0.0) is None
    count.leave("openai", 15_000)
    count.leave("openai", 0)
    assert count.enter("openai", 0.0) is None
    count.leave("openai", 5_000)
    assert "$0.0200" in str(count.enter("openai", 0.0))


def test_allowance_goes_on_with_what_earlier_lives_cost() -> None:
    count = Allowance(0.0, {"openai": 15_000})
    count.apply(Bounds(spend_micros={"openai": 2 * LEAST_RESERVE_MICROS}))
    assert count.enter("openai", 0.0) is None
    count.leave("openai", 5_000)
    assert "$0.0200" in str(count.enter("openai", 0.0))
    assert count.spent == {"openai": 20_000}


def test_allowance_of_leases_counts_all_models_together_and_refuses_by_name() -> None:
    count = Allowance(0.0)
    lease = LeasedMoney("bud_1:1", 3 * LEAST_RESERVE_MICROS, "the budget bud_1 is spent")
    count.apply(Bounds(leases=(lease,)))
    assert count.bounds.counts("openai") and not count.bounds.counts("elevenlabs")
    assert count.enter("openai", 0.0) is None
    count.leave("openai", 5_000)
    assert count.enter("anthropic", 0.0) is None
    count.leave("anthropic", 25_000)
    assert count.enter("openai", 0.0) == count.enter("gemini", 0.0) == lease.refusal
    assert count.enter("github.com", 0.0) is None
    # More of the same lease counts on; another lease begins at nothing.
    count.apply(Bounds(leases=(LeasedMoney("bud_1:1", 60_000, "spent"),)))
    assert count.enter("openai", 0.0) is None
    again = Allowance(0.0, count.spent)
    again.apply(Bounds(leases=(lease,)))
    assert again.enter("openai", 0.0) == lease.refusal
    again.apply(Bounds(leases=(LeasedMoney("bud_1:2", 1, "spent"),)))
    assert again.enter("openai", 0.0) is None
    # What is under way is reserved.
    assert again.enter("openai", 0.0) == "spent"
