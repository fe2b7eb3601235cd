"""Bytes per hour through a door: a bucket that refills steadily, and limits that change."""

from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.network.volume import HOUR, HourlyBytes


def test_no_limit_never_ends() -> None:
    assert HourlyBytes(None, 0.0).spend(10**15, 0.0)


def test_spent_bytes_come_back_over_the_hour_and_never_beyond_the_limit() -> None:
    door = HourlyBytes(3600, 0.0)
    assert door.spend(3600, 0.0)
    assert not door.spend(1, 0.0)
    assert door.spend(10, 10.0)
    assert not door.spend(1, 10.0)
    assert door.spend(3600, 10.0 + 2 * HOUR)
    assert not door.spend(1, 10.0 + 2 * HOUR)


def test_refused_bytes_are_not_taken() -> None:
    door = HourlyBytes(100, 0.0)
    assert not door.spend(101, 0.0)
    assert door.spend(100, 0.0)


def test_other_limit_keeps_what_was_spent() -> None:
    door = HourlyBytes(100, 0.0)
    assert door.spend(80, 0.0)
    door.limit(100, HOUR)
    door.limit(200, 0.0)
    assert not door.spend(121, 0.0)
    assert door.spend(120, 0.0)
    door.limit(50, 0.0)
    assert not door.spend(1, 0.0)
    door.limit(None, 0.0)
    assert door.spend(10**9, 0.0)
    door.limit(10, 0.0)
    assert door.spend(10, 0.0)


@given(
    st.integers(1, 10**6),
    st.lists(st.tuples(st.integers(0, 10**6), st.floats(0, HOUR)), max_size=30),
)
def test_door_never_lets_more_pass_than_a_full_bucket_and_what_refilled(
    limit: int, asked: list[tuple[int, float]]
) -> None:
    door, now, passed = HourlyBytes(limit, 0.0), 0.0, 0
    for count, wait in asked:
        now += wait
        passed += count if door.spend(count, now) else 0
    assert passed <= limit + now * limit / HOUR + 1
