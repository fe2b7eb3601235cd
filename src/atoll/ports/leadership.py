"""The Leadership port: the election of the one process that works in the background.

Several control planes may share a store. The leader provisions, tears down and watches; all of them
accept requests.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol

from atoll.ports.store.store import Transaction

Act = Callable[[], Awaitable[None]]
"""Work of the leader: it runs until it is cancelled."""


class Leadership(Protocol):
    """The part of one process in the election."""

    @property
    def shared(self) -> bool:
        """Return whether other processes take part. It never changes."""
        ...

    @property
    def leads(self) -> bool:
        """Return whether this process leads, as far as it knows. `check` makes sure."""
        ...

    async def run(self, act: Act) -> None:
        """Take part. Whenever this process leads, `act` runs, and is cancelled as soon as it no
        longer does; then it takes part again. Never returns by itself. An error of `act` is
        raised."""
        ...

    async def check(self, rows: Transaction) -> None:
        """Make sure, in the transaction of the work it guards, that no other process leads: that
        work is lost then. Raises `Conflict`."""
        ...
