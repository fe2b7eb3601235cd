"""How many strangers' connections the server holds, and who goes when there are more."""

import pytest

from atoll.surfaces.http.server.connections import pending_connections as crowd_module
from atoll.surfaces.http.server.connections.pending_connections import (
    MAX_FAR,
    MAX_NEAR,
    MAX_OF_CLIENT,
    PendingConnections,
)


class Link:
    def __init__(self) -> None:
        self.closed = False

    def give_up(self) -> None:
        self.closed = True


def come(pending: PendingConnections, count: int, address: str | None) -> list[Link]:
    links = [Link() for _ in range(count)]
    for link in links:
        pending.enter(link, address)
    return links


def test_address_that_opens_too_many_loses_its_oldest_and_nobody_elses() -> None:
    pending = PendingConnections()
    other = come(pending, 1, "203.0.113.9")
    links = come(pending, MAX_OF_CLIENT + 5, "198.51.100.1")
    assert [link.closed for link in links] == [True] * 5 + [False] * MAX_OF_CLIENT
    assert not other[0].closed


def test_client_with_many_addresses_of_a_network_is_one() -> None:
    pending = PendingConnections()
    links = [come(pending, 1, f"2001:db8::{low:x}")[0] for low in range(1, MAX_OF_CLIENT + 6)]
    assert [link.closed for link in links] == [True] * 5 + [False] * MAX_OF_CLIENT
    assert not come(pending, 1, "2001:db8:0:1::1")[0].closed


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "::ffff:127.0.0.1", None, "a path"])
def test_strangers_from_many_addresses_never_close_one_of_this_machine(address: str | None) -> None:
    pending = PendingConnections()
    (person,) = come(pending, 1, address)
    links = [come(pending, 1, f"10.0.{n >> 8}.{n & 255}")[0] for n in range(MAX_FAR + 7)]
    assert sum(link.closed for link in links) == 7
    assert not person.closed


def test_this_machines_own_are_bounded_too() -> None:
    pending = PendingConnections()
    links = come(pending, MAX_NEAR + 1, "127.0.0.1")
    assert [link.closed for link in links] == [True] + [False] * MAX_NEAR


def test_connection_that_is_known_is_closed_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    pending = PendingConnections()
    (person,) = come(pending, 1, "198.51.100.1")
    assert pending.know(person) and pending.know(person)
    assert not any(link.closed for link in come(pending, MAX_OF_CLIENT, "198.51.100.1"))
    assert not person.closed
    monkeypatch.setattr(crowd_module, "MAX_KNOWN", 1)
    (next_one,) = come(pending, 1, "198.51.100.2")
    assert not pending.know(next_one)  # stays with the strangers while there is no room
    pending.leave(person)
    assert pending.know(next_one)


def test_connections_that_left_make_room() -> None:
    pending = PendingConnections()
    for _ in range(3):
        links = come(pending, MAX_OF_CLIENT, "198.51.100.1")
        for link in links:
            pending.leave(link)
            pending.leave(link)
        assert not any(link.closed for link in links)
