"""Rows of the outbox: who publishes, and how far the log was published."""

from typing import Protocol

from atoll.domain.lease import Lease
from atoll.domain.outbox import Cursor


class LeaseRows(Protocol):
    """Leases, by name. Writing transactions take turns, so what was read decides."""

    async def get(self, name: str) -> Lease | None:
        """Return the newest lease of a name, also when it has ended."""
        ...

    async def put(self, lease: Lease) -> None:
        """Add a lease, or replace the one of its name."""
        ...


class OutboxRows(Protocol):
    """Cursors of how far the log was published, by the name of the stream that receives it."""

    async def cursor(self, stream: str) -> Cursor | None:
        """Return the cursor of a stream, None before the first one."""
        ...

    async def set_cursor(self, stream: str, cursor: Cursor) -> None:
        """Save the cursor of a stream."""
        ...
