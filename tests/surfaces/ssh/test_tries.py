"""Bounds on who tries to come in over SSH."""

from dataclasses import dataclass
from ipaddress import ip_address

import pytest

from atoll.surfaces.ssh.tries import (
    MAX_ADDRESSES,
    MAX_FAILURES,
    MAX_WAITING,
    MAX_WAITING_PER_ADDRESS,
    Progress,
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


@dataclass(eq=False)
class Client:
    """A client that has come so far, and may be dropped."""

    peer: str
    progress: Progress = Progress.CONNECTED
    dropped: bool = False

    def drop(self) -> None:
        self.dropped = True


def enter(waiting: Waiting, *clients: Client) -> tuple[Client, ...]:
    """Let clients in, one after the other."""
    for client in clients:
        waiting.enter(client)
    return clients


def test_connections_that_wait_are_bounded_by_address_and_in_all() -> None:
    waiting = Waiting()
    own = enter(waiting, *(Client("203.0.113.9") for _ in range(10_000)))
    assert sum(not each.dropped for each in own) == len(waiting) == MAX_WAITING_PER_ADDRESS
    others = [Client(f"10.0.{number >> 8}.{number & 255}") for number in range(1000)]
    enter(waiting, *others)
    assert len(waiting) == MAX_WAITING > MAX_WAITING_PER_ADDRESS
    for each in (*own, *others):
        waiting.leave(each)
    assert len(waiting) == 0


def test_flood_drops_its_own_and_keeps_nobody_out() -> None:
    """Of one party, of few parties, and of as many as there may be connections."""
    for parties in (1, 10, MAX_WAITING, 10_000):
        waiting = Waiting()
        flood = [Client(str(ip_address(1 << 24 | number % parties))) for number in range(5000)]
        enter(waiting, *flood)
        (user,) = enter(waiting, Client("203.0.113.9"))
        user.progress = Progress.GREETED
        enter(waiting, *(Client(each.peer) for each in flood))
        assert not user.dropped
        assert len(waiting) <= MAX_WAITING


def test_neighbour_of_a_flood_stays_once_it_speaks() -> None:
    """Who comes from the flood's own address is not the one that is dropped for it."""
    waiting = Waiting()
    (user,) = enter(waiting, Client("10.0.0.1", Progress.PROVING))
    (greeted,) = enter(waiting, Client("10.0.0.1", Progress.GREETED))
    enter(waiting, *(Client("10.0.0.1") for _ in range(1000)))
    assert not (user.dropped or greeted.dropped)
    enter(waiting, *(Client("10.0.0.1", Progress.GREETED) for _ in range(1000)))
    assert greeted.dropped
    assert not user.dropped


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
