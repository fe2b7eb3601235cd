"""Connections of the HTTP server before authentication, and a bound on them.

A connection counts here until a request on it was authenticated. The bounds are in all and by
client (an IPv4 address, a /64 of IPv6), with those of this machine apart from the rest. Past a
bound the oldest one is closed and never the newest: a client that fills the bound cannot keep a
person out.
"""

from collections import defaultdict
from ipaddress import ip_address
from resource import RLIMIT_NOFILE, getrlimit
from typing import Final, Protocol

from atoll.domain.people.rate_limit import client_block

KNOWN: Final = "atoll.known"
"""The ASGI extension by which the guard reports that a request was authenticated."""

MAX_FAR: Final = 128
MAX_OF_CLIENT: Final = 32
MAX_NEAR: Final = 256
MAX_KNOWN: Final = 4096
LEAST_KNOWN: Final = 512
OTHER_FILES: Final = 1024
"""The open files that are left to everything but known connections."""


class PendingConnection(Protocol):
    """A connection that can be closed."""

    def give_up(self) -> None:
        """Close the connection at once."""


class PendingConnections:
    """The connections of one server. Those of this machine (loopback, unix sockets) are `near`."""

    def __init__(self) -> None:
        self._near: dict[PendingConnection, None] = {}
        self._far: dict[PendingConnection, str] = {}
        self._of: defaultdict[str, dict[PendingConnection, None]] = defaultdict(dict)
        self._known: set[PendingConnection] = set()
        soft, _ = getrlimit(RLIMIT_NOFILE)
        self._room = max(LEAST_KNOWN, soft - OTHER_FILES)

    def enter(self, connection: PendingConnection, address: str | None) -> None:
        """Count a new connection; `address` is None for a unix socket. May close another."""
        if address is None or _is_near(address):
            self._bound(self._near, MAX_NEAR)
            self._near[connection] = None
            return
        client = client_block(address)
        self._bound(self._of[client], MAX_OF_CLIENT)
        self._bound(self._far, MAX_FAR)
        self._far[connection] = client
        self._of[client][connection] = None

    def know(self, connection: PendingConnection) -> bool:
        """Record that a request on it was authenticated: it is counted separately, as long as there
        is room. Returns whether it is known now."""
        room = min(MAX_KNOWN, self._room)
        if connection not in self._known and len(self._known) < room:
            self.leave(connection)
            self._known.add(connection)
        return connection in self._known

    def leave(self, connection: PendingConnection) -> None:
        """Remove a connection that is closed or handed over. Repeating it is harmless."""
        self._near.pop(connection, None)
        self._known.discard(connection)
        client = self._far.pop(connection, None)
        if client is not None:
            of_client = self._of[client]
            del of_client[connection]
            if not of_client:
                del self._of[client]

    def _bound(
        self, connections: "dict[PendingConnection, None] | dict[PendingConnection, str]", most: int
    ) -> None:
        if len(connections) >= most:
            oldest = next(iter(connections))
            self.leave(oldest)
            oldest.give_up()


def _is_near(address: str) -> bool:
    try:
        parsed = ip_address(address)
    except ValueError:
        return True  # the peer of a unix socket has no address
    mapped = getattr(parsed, "ipv4_mapped", None)
    return bool((mapped or parsed).is_loopback)
