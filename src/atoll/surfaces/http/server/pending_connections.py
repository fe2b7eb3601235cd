"""Connections of the HTTP server before authentication, and a bound on them.

A connection counts here until a request on it was authenticated. The bounds are in all and by
address, with those of this machine apart from the rest. Past a bound the oldest one is closed and
never the newest: a client that fills the bound cannot keep a person out.
"""

from collections import defaultdict
from ipaddress import ip_address
from typing import Final, Protocol

KNOWN: Final = "atoll.known"
"""The ASGI extension by which the guard reports that a request was authenticated."""

MAX_FAR: Final = 128
MAX_OF_ADDRESS: Final = 32
MAX_NEAR: Final = 256
MAX_KNOWN: Final = 512


class Guest(Protocol):
    """A connection that can be closed."""

    def give_up(self) -> None:
        """Close it at once."""


class Crowd:
    """The connections of one server. Those of this machine (loopback, unix sockets) are `near`."""

    def __init__(self) -> None:
        self._near: dict[Guest, None] = {}
        self._far: dict[Guest, str] = {}
        self._of: defaultdict[str, dict[Guest, None]] = defaultdict(dict)
        self._known: set[Guest] = set()

    def enter(self, guest: Guest, address: str | None) -> None:
        """Count a new connection; `address` is None for a unix socket. May close another."""
        if address is None or _is_near(address):
            self._bound(self._near, MAX_NEAR)
            self._near[guest] = None
            return
        self._bound(self._of[address], MAX_OF_ADDRESS)
        self._bound(self._far, MAX_FAR)
        self._far[guest] = address
        self._of[address][guest] = None

    def know(self, guest: Guest) -> bool:
        """Record that a request on it was authenticated: it is counted separately, as long as there
        is room. Returns whether it is known now."""
        if guest not in self._known and len(self._known) < MAX_KNOWN:
            self.leave(guest)
            self._known.add(guest)
        return guest in self._known

    def leave(self, guest: Guest) -> None:
        """Remove a connection that is closed or handed over. Repeating it is harmless."""
        self._near.pop(guest, None)
        self._known.discard(guest)
        address = self._far.pop(guest, None)
        if address is not None:
            of_address = self._of[address]
            del of_address[guest]
            if not of_address:
                del self._of[address]

    def _bound(self, guests: "dict[Guest, None] | dict[Guest, str]", most: int) -> None:
        if len(guests) >= most:
            oldest = next(iter(guests))
            self.leave(oldest)
            oldest.give_up()


def _is_near(address: str) -> bool:
    try:
        parsed = ip_address(address)
    except ValueError:
        return True  # the peer of a unix socket has no address
    mapped = getattr(parsed, "ipv4_mapped", None)
    return bool((mapped or parsed).is_loopback)
