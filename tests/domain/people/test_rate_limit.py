import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.people.rate_limit import Bucket, RateLimit, client_block, request

LIMIT = RateLimit(3, 60)


def test_requests_run_out_and_come_back_evenly() -> None:
    bucket, permit = request(None, LIMIT, 0.0)
    assert (permit.remaining, permit.full_in, permit.refused) == (2, 20, False)
    bucket, _ = request(bucket, LIMIT, 0.0)
    bucket, permit = request(bucket, LIMIT, 0.0)
    assert (permit.remaining, permit.full_in) == (0, 60)
    bucket, permit = request(bucket, LIMIT, 0.0)
    assert (permit.refused, permit.retry_in) == (True, 20)
    bucket, permit = request(bucket, LIMIT, 20.0)
    assert not permit.refused


def test_clock_that_stands_or_goes_back_gives_nothing() -> None:
    assert request(Bucket(0.5, 100.0), LIMIT, 50.0)[1].refused


def test_bucket_is_never_fuller_than_its_limit() -> None:
    assert request(Bucket(3.0, 0.0), LIMIT, 1e9)[1].remaining == 2


@given(
    st.integers(1, 1000),
    st.integers(1, 3600),
    st.lists(st.floats(0, 10_000, allow_nan=False), max_size=50),
)
def test_who_waits_as_told_comes_in(requests: int, seconds: int, waits: list[float]) -> None:
    limit, bucket, now = RateLimit(requests, seconds), None, 0.0
    for wait in waits:
        now += wait
        bucket, permit = request(bucket, limit, now)
        if permit.refused:
            now += permit.retry_in
            bucket, permit = request(bucket, limit, now)
            assert not permit.refused
        assert 0 <= permit.remaining < requests


@pytest.mark.parametrize(
    ("address", "block"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("a local socket", "a local socket"),
    ],
)
def test_client_is_an_address_or_a_network_of_ipv6(address: str, block: str) -> None:
    assert client_block(address) == block
