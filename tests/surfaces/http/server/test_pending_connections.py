"""How many strangers' connections the server holds, and who goes when there are more."""

import pytest

from atoll.surfaces.http.server.connections import pending_connections as crowd_module
from atoll.surfaces.http.server.connections.pending_connections import (
    MAX_ANSWERED_OF_CLIENT,
    MAX_BURST,
    MAX_FAR,
    MAX_NEAR,
    MAX_OF_CLIENT,
    NEW_SECONDS,
    PendingConnections,
)


class Link:
    def __init__(self) -> None:
        self.closed = self.unread = False

    def is_unread(self) -> bool:
        return self.unread

    def give_up(self) -> None:
        self.closed = True


class Clock:
    """Seconds that pass between connections, so that those before are new no more."""

    def __init__(self, step: float = 2 * NEW_SECONDS) -> None:
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def slowly() -> PendingConnections:
    return PendingConnections(seconds=Clock())


def come(pending: PendingConnections, count: int, address: str | None) -> list[Link]:
    links = [Link() for _ in range(count)]
    for link in links:
        pending.enter(link, address)
    return links


def test_address_that_opens_too_many_loses_its_oldest_and_nobody_elses() -> None:
    pending = slowly()
    other = come(pending, 1, "203.0.113.9")
    links = come(pending, MAX_OF_CLIENT + 5, "198.51.100.1")
    assert [link.closed for link in links] == [True] * 5 + [False] * MAX_OF_CLIENT
    assert not other[0].closed


def test_client_with_many_addresses_of_a_network_is_one() -> None:
    pending = slowly()
    links = [come(pending, 1, f"2001:db8::{low:x}")[0] for low in range(1, MAX_OF_CLIENT + 6)]
    assert [link.closed for link in links] == [True] * 5 + [False] * MAX_OF_CLIENT
    assert not come(pending, 1, "2001:db8:0:1::1")[0].closed


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "::ffff:127.0.0.1", None, "a path"])
def test_strangers_from_many_addresses_never_close_one_of_this_machine(address: str | None) -> None:
    pending = slowly()
    (person,) = come(pending, 1, address)
    links = [come(pending, 1, f"10.0.{n >> 8}.{n & 255}")[0] for n in range(MAX_FAR + 7)]
    assert sum(link.closed for link in links) == 7
    assert not person.closed


def test_this_machines_own_are_bounded_too() -> None:
    pending = slowly()
    links = come(pending, MAX_NEAR + 1, "127.0.0.1")
    assert [link.closed for link in links] == [True] + [False] * MAX_NEAR


def test_connection_that_is_known_is_closed_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    pending = slowly()
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
    pending = slowly()
    for _ in range(3):
        links = come(pending, MAX_OF_CLIENT, "198.51.100.1")
        for link in links:
            pending.leave(link)
            pending.leave(link)
        assert not any(link.closed for link in links)


@pytest.mark.parametrize("address", ["127.0.0.1", "198.51.100.1"])
def test_burst_is_spared_and_what_waits_longer_is_not(address: str) -> None:
    clock = Clock(step=0)
    pending = PendingConnections(seconds=clock)
    links = come(pending, MAX_BURST, address)
    assert not any(link.closed for link in links)
    come(pending, 1, address)
    assert [link.closed for link in links] == [True] + [False] * (MAX_BURST - 1)
    clock.now = 2 * NEW_SECONDS
    (last,) = come(pending, 1, address)
    most = MAX_NEAR if address == "127.0.0.1" else MAX_OF_CLIENT
    assert sum(not link.closed for link in links) == most - 2 and not last.closed


def test_connection_whose_bytes_nobody_read_yet_is_spared() -> None:
    pending = slowly()
    links = come(pending, MAX_OF_CLIENT, "198.51.100.1")
    links[0].unread = True
    come(pending, 1, "198.51.100.1")
    assert [link.closed for link in links[:3]] == [False, True, False]


def test_request_that_was_read_whole_is_closed_for_nobody() -> None:
    pending = slowly()
    links = come(pending, MAX_OF_CLIENT, "198.51.100.1")
    for link in links:
        pending.answer(link)
        pending.answer(link)
    assert not any(link.closed for link in come(pending, MAX_OF_CLIENT, "198.51.100.1") + links)
    pending.enter(links[0], "198.51.100.1")  # it was answered
    come(pending, MAX_OF_CLIENT, "198.51.100.1")
    assert links[0].closed and not any(link.closed for link in links[1:])


def test_client_with_too_many_requests_comes_back_later_and_others_do_not() -> None:
    pending = PendingConnections()
    links = come(pending, MAX_ANSWERED_OF_CLIENT, "198.51.100.1")
    assert not pending.is_full(links[-1])
    for link in links:
        pending.answer(link)
    (more, other) = come(pending, 1, "198.51.100.1") + come(pending, 1, "198.51.100.2")
    assert pending.is_full(more) and not pending.is_full(other)
    pending.leave(links[0])
    assert not pending.is_full(more)


def test_connections_of_a_proxy_count_as_the_clients_that_it_names() -> None:
    pending = PendingConnections(lambda address: address == "10.0.0.6", seconds=Clock())
    links = come(pending, 3 * MAX_OF_CLIENT, "10.0.0.6")
    assert not any(link.closed for link in links)
    for link in links[: MAX_OF_CLIENT + 1]:
        pending.name(link, "198.51.100.1")
    assert [link.closed for link in links[: MAX_OF_CLIENT + 1]] == [True] + [False] * MAX_OF_CLIENT
    assert not any(link.closed for link in links[MAX_OF_CLIENT + 1 :])
