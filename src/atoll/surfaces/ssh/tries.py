"""Bounds on who tries to come in: refusals by address, and connections that have not logged in."""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from ipaddress import IPv6Address, ip_address
from typing import Final, Protocol

WINDOW_SECONDS: Final = 60.0
MAX_FAILURES: Final = 60
"""The refused keys of one address in a minute; beyond them all its keys are refused unseen."""

MAX_ADDRESSES: Final = 10_000
MAX_WAITING: Final = 200
"""The connections that have not logged in yet."""

MAX_WAITING_PER_ADDRESS: Final = 20
MAX_SILENT: Final = 1000
"""The connections that have sent nothing yet: of each there is a socket, and nothing else."""

MAX_SILENT_PER_ADDRESS: Final = 500


class Tries:
    """Refused keys by address, of the last minute."""

    def __init__(self) -> None:
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()

    def failed(self, peer: str) -> None:
        """Count a refusal."""
        place = network_of(peer)
        failures = self._failures.setdefault(place, deque(maxlen=MAX_FAILURES))
        failures.append(asyncio.get_running_loop().time())
        self._failures.move_to_end(place)
        while len(self._failures) > MAX_ADDRESSES:
            self._failures.popitem(last=False)

    def exceeded(self, peer: str) -> bool:
        """Report whether an address has been refused too often."""
        failures = self._failures.get(network_of(peer))
        if failures is None or len(failures) < MAX_FAILURES:
            return False
        return asyncio.get_running_loop().time() - failures[0] < WINDOW_SECONDS


class Progress(IntEnum):
    """Progress of a client on its way in. Half-open connections stay at the first."""

    CONNECTED = 0
    GREETED = 1
    """A version came."""

    PROVING = 2
    """Keys are exchanged, and it asked to log in."""


class Candidate(Protocol):
    """A connection that has not logged in yet."""

    @property
    def peer(self) -> str:
        """The client's address."""
        ...

    @property
    def progress(self) -> Progress:
        """Progress on its way in."""
        ...

    def drop(self) -> None:
        """End it."""
        ...


class Waiting:
    """Connections that have not logged in yet. Where there are too many, the newest is let in and
    another is dropped: the one that has come least far, of such ones one of the party that has the
    most, and of those the oldest. So who floods the gateway drops their own. There are at most
    `most`, and `most_of_party` of one party."""

    def __init__(
        self, most: int = MAX_WAITING, most_of_party: int = MAX_WAITING_PER_ADDRESS
    ) -> None:
        self._most = most
        self._most_of_party = most_of_party
        self._candidates: list[tuple[str, Candidate]] = []
        self._counts: Counter[str] = Counter()

    def __len__(self) -> int:
        """Count all of them."""
        return len(self._candidates)

    def enter(self, candidate: Candidate) -> None:
        """Count a connection, and drop another where there are too many."""
        party = network_of(candidate.peer)
        if self._counts[party] >= self._most_of_party:
            self._drop({party})
        elif len(self) >= self._most:
            self._drop(set(self._counts))
        self._candidates.append((party, candidate))
        self._counts[party] += 1

    @contextmanager
    def hold(self, candidate: Candidate) -> Iterator[None]:
        """Count a connection for a while."""
        self.enter(candidate)
        try:
            yield
        finally:
            self.leave(candidate)

    def leave(self, candidate: Candidate) -> None:
        """Count it no more; one that was dropped is not counted already."""
        for place, (party, each) in enumerate(self._candidates):
            if each is candidate:
                self._remove(place, party)
                return

    def _drop(self, parties: set[str]) -> None:
        places = [place for place, (party, _) in enumerate(self._candidates) if party in parties]
        place = min(places, key=self._standing)
        party, dropped = self._candidates[place]
        self._remove(place, party)
        dropped.drop()

    def _standing(self, place: int) -> tuple[Progress, int]:
        party, candidate = self._candidates[place]
        return candidate.progress, -self._counts[party]

    def _remove(self, place: int, party: str) -> None:
        del self._candidates[place]
        self._counts[party] -= 1
        if not self._counts[party]:
            del self._counts[party]


def network_of(peer: str) -> str:
    """Return what stands for one party: an address, or its /64 where it has many of them."""
    try:
        address = ip_address(peer.partition("%")[0])
    except ValueError:
        return peer
    if isinstance(address, IPv6Address):
        mapped = address.ipv4_mapped
        return str(mapped) if mapped else str(address.exploded[:19])
    return str(address)
