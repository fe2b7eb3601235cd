"""Bounds on who tries to come in: refusals by address, and connections that have not logged in."""

import asyncio
from collections import OrderedDict, deque
from ipaddress import IPv6Address, ip_address
from typing import Final

WINDOW_SECONDS: Final = 60.0
MAX_FAILURES: Final = 60
"""The refused keys of one address in a minute; beyond them all its keys are refused unseen."""

MAX_ADDRESSES: Final = 10_000
MAX_WAITING: Final = 200
"""The connections that have not logged in yet."""

MAX_WAITING_PER_ADDRESS: Final = 20


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


class Waiting:
    """Connections that have not logged in yet, by address."""

    def __init__(self) -> None:
        self._count: dict[str, int] = {}
        self._total = 0

    def enter(self, peer: str) -> bool:
        """Count a connection; False where there are too many already."""
        place = network_of(peer)
        own = self._count.get(place, 0)
        if self._total >= MAX_WAITING or own >= MAX_WAITING_PER_ADDRESS:
            return False
        self._total += 1
        self._count[place] = own + 1
        return True

    def leave(self, peer: str) -> None:
        """Count it no more."""
        place = network_of(peer)
        self._total -= 1
        self._count[place] -= 1
        if not self._count[place]:
            del self._count[place]


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
