"""The bytes that a server holds for its clients: bodies and messages that are not whole yet, and
answers that nobody reads.

Each connection holds as much as its route allows, which is no bound where there are many of them.
Past a bound of all, the connection that holds most is closed: of the client that holds most.
"""

from collections import Counter
from typing import Final, Protocol

MOST_BYTES: Final = 16 * 1024 * 1024


class Holder(Protocol):
    """A connection that can be closed."""

    def held_for(self) -> str:
        """Return the client for whom it holds bytes."""
        ...

    def give_up(self) -> None:
        """Close the connection at once."""


class HeldBytes:
    """The bytes of all connections of one server."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._held: dict[Holder, int] = {}
        self._total = 0

    def note(self, connection: Holder, size: int) -> None:
        """Note how many bytes a connection holds now. May close others, and itself."""
        self._total += size - self._held.pop(connection, 0)
        if size:
            self._held[connection] = size
        while self._total > self._most:
            self._close_largest()

    def _close_largest(self) -> None:
        held_for: Counter[str] = Counter()
        for connection, size in self._held.items():
            held_for[connection.held_for()] += size
        ((client, _),) = held_for.most_common(1)
        of_client = [one for one in self._held if one.held_for() == client]
        largest = max(of_client, key=self._held.__getitem__)
        self.note(largest, 0)
        largest.give_up()
