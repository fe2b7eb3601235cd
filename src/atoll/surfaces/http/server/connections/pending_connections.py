"""Connections of the HTTP server before authentication, and bounds on them.

A connection waits until a request on it is whole, and then is answered. Those that wait are bounded
by client (an IPv4 address, a /64 of IPv6) and in all, with those of this machine and of trusted
proxies apart from the rest. Past a bound the oldest one that waits is closed, never the newest: a
client that fills the bound cannot keep a person out. One that is new, or whose bytes nobody has
read yet, is spared up to a higher bound, since a burst is read in turn. A request that was read
whole is always answered: past a bound of its own, with 503.
"""

import select
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from ipaddress import ip_address
from itertools import islice
from resource import RLIMIT_NOFILE, getrlimit
from typing import Any, Final, Protocol

from atoll.domain.people.rate_limit import client_block

KNOWN: Final = "atoll.known"
"""The ASGI extension by which the guard reports that a request was authenticated."""

MAX_FAR: Final = 128
MAX_OF_CLIENT: Final = 32
MAX_NEAR: Final = 256
MAX_OF_PROXIES: Final = 1024
MAX_BURST: Final = 2048
"""The bound on the connections that wait, with those that are spared: of all far ones, of this
machine, and of proxies."""

NEW_SECONDS: Final = 1.0
MAX_ANSWERED: Final = 2048
"""The bound on the requests that are answered before their caller is known, apart as above."""

MAX_ANSWERED_OF_CLIENT: Final = 256
MAX_KNOWN: Final = 4096
LEAST_KNOWN: Final = 512
OTHER_FILES: Final = 1024
"""The open files that are left to everything but known connections."""

_NEAR: Final = "near"
_FAR: Final = "far"
_PROXIES: Final = "proxies"
_LOOKS: Final = 8
"""The oldest connections among which one to close is looked for."""


class PendingConnection(Protocol):
    """A connection that can be closed."""

    def give_up(self) -> None:
        """Close the connection at once."""

    def is_unread(self) -> bool:
        """Report whether its client sent bytes that nobody has read yet."""
        ...


class PendingConnections:
    """The connections of one server. Those of this machine (loopback, unix sockets) are near, and
    those from an address for which `is_proxy` holds are a trusted proxy's."""

    def __init__(
        self,
        is_proxy: Callable[[str], bool] = lambda _: False,
        *,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._is_proxy = is_proxy
        self._seconds = seconds
        self._groups: dict[PendingConnection, tuple[str, ...]] = {}
        self._waiting: defaultdict[str, dict[PendingConnection, float]] = defaultdict(dict)
        self._answered: Counter[str] = Counter()
        self._known: set[PendingConnection] = set()
        soft, _ = getrlimit(RLIMIT_NOFILE)
        self._room = max(LEAST_KNOWN, soft - OTHER_FILES)

    def enter(self, connection: PendingConnection, address: str | None) -> None:
        """Have a connection wait for a whole request; `address` is None for a unix socket. May
        close another."""
        if address is None or _is_near(address):
            groups: tuple[str, ...] = (_NEAR,)
        else:
            groups = (client_block(address), _FAR)
        if address is not None and self._is_proxy(address):
            groups = (_PROXIES,)
        self._wait(connection, groups)

    def name(self, connection: PendingConnection, client: str) -> None:
        """Have a waiting connection of a proxy count as the client that the proxy names."""
        self._wait(connection, (client_block(client), _FAR))

    def is_full(self, connection: PendingConnection) -> bool:
        """Report whether so many requests are answered for the client of this connection that it
        has to come back later."""
        groups = self._groups.get(connection, ())
        return any(
            self._answered[group]
            >= (MAX_ANSWERED if group in (_NEAR, _FAR, _PROXIES) else MAX_ANSWERED_OF_CLIENT)
            for group in groups
        )

    def answer(self, connection: PendingConnection) -> None:
        """Record that a request was read whole: its connection is closed for nobody until it is
        answered and enters again."""
        groups = self._groups.get(connection, ())
        if groups and connection in self._waiting[groups[0]]:
            self._stop_waiting(connection, groups)
            self._answered.update(groups)

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
        self._known.discard(connection)
        groups = self._groups.pop(connection, ())
        if groups and not self._stop_waiting(connection, groups):
            self._answered.subtract(groups)
            self._answered += Counter()  # forgets those at zero

    def _wait(self, connection: PendingConnection, groups: tuple[str, ...]) -> None:
        self.leave(connection)
        for group in groups:
            self._make_room(group)
        self._groups[connection] = groups
        now = self._seconds()
        for group in groups:
            self._waiting[group][connection] = now

    def _stop_waiting(self, connection: PendingConnection, groups: tuple[str, ...]) -> bool:
        """Report whether it waited."""
        waited = False
        for group in groups:
            waited = self._waiting[group].pop(connection, None) is not None or waited
            if not self._waiting[group]:
                del self._waiting[group]
        return waited

    def _make_room(self, group: str) -> None:
        most = {_NEAR: MAX_NEAR, _FAR: MAX_FAR, _PROXIES: MAX_OF_PROXIES}.get(group, MAX_OF_CLIENT)
        while len(self._waiting.get(group, ())) >= most:
            oldest = self._dispensable(group)
            if oldest is None:
                break
            self.leave(oldest)
            oldest.give_up()

    def _dispensable(self, group: str) -> PendingConnection | None:
        """Return the oldest one that is not spared; None where all are and there is room."""
        waiting = self._waiting[group]
        old = self._seconds() - NEW_SECONDS
        for connection, since in islice(waiting.items(), _LOOKS):
            if since <= old and not connection.is_unread():
                return connection
        return None if len(waiting) < MAX_BURST else next(iter(waiting))


def is_unread(own: Any) -> bool:
    """Report whether the kernel holds bytes for a socket, or what a transport gives for one. A
    closed one has none."""
    if own is None or own.fileno() < 0:
        return False
    poll = select.poll()
    poll.register(own.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def _is_near(address: str) -> bool:
    try:
        parsed = ip_address(address)
    except ValueError:
        return True  # the peer of a unix socket has no address
    mapped = getattr(parsed, "ipv4_mapped", None)
    return bool((mapped or parsed).is_loopback)
