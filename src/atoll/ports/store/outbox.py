"""Rows of the outbox: how far the log was published."""

from typing import Protocol

from atoll.domain.outbox import Cursor


class OutboxRows(Protocol):
    """Cursors of how far the log was published, by the name of the stream that receives it."""

    async def cursor(self, stream: str) -> Cursor | None:
        """Return the cursor of a stream, None before the first one."""
        ...

    async def set_cursor(self, stream: str, cursor: Cursor) -> None:
        """Save the cursor of a stream."""
        ...
