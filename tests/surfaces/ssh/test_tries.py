"""Bounds on who tries to come in over SSH."""

import pytest

from atoll.surfaces.ssh.tries import (
    MAX_ADDRESSES,
    MAX_FAILURES,
    MAX_WAITING,
    MAX_WAITING_PER_ADDRESS,
    Tries,
    Waiting,
    network_of,
)


async def test_an_address_that_was_refused_too_often_is_refused_unseen() -> None:
    tries = Tries()
    for _ in range(MAX_FAILURES):
        assert not tries.exceeded("203.0.113.9")
        tries.failed("203.0.113.9")
    assert tries.exceeded("203.0.113.9")
    assert not tries.exceeded("203.0.113.10")


async def test_addresses_that_are_remembered_are_bounded() -> None:
    tries = Tries()
    for number in range(MAX_ADDRESSES + 100):
        tries.failed(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")
    assert len(tries._failures) == MAX_ADDRESSES


def test_connections_that_wait_are_bounded_by_address_and_in_all() -> None:
    waiting = Waiting()
    admitted = [waiting.enter("203.0.113.9") for _ in range(10_000)]
    assert sum(admitted) == MAX_WAITING_PER_ADDRESS
    for number in range(1000):
        waiting.enter(f"10.0.{number >> 8}.{number & 255}")
    assert not waiting.enter("198.51.100.1")
    for _ in range(MAX_WAITING_PER_ADDRESS):
        waiting.leave("203.0.113.9")
    assert waiting.enter("198.51.100.1")
    assert MAX_WAITING > MAX_WAITING_PER_ADDRESS


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("203.0.113.9", "::ffff:203.0.113.9", True),
        ("2001:db8::1", "2001:db8::2", True),
        ("2001:db8::1", "2001:db8:1::1", False),
        ("fe80::1%eth0", "fe80::1", True),
        ("203.0.113.9", "203.0.113.8", False),
        ("unnamed", "unnamed", True),
    ],
)
def test_one_party_is_one_address_or_one_network(one: str, other: str, same: bool) -> None:
    assert (network_of(one) == network_of(other)) is same
