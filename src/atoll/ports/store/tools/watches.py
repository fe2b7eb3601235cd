"""Watches of sessions of clients of tools."""

from collections.abc import Collection
from datetime import datetime
from typing import Protocol

from atoll.domain.tools.watch import Watch


class WatchRows(Protocol):
    """Watches, by session."""

    async def put(self, watch: Watch) -> None:
        """Add a watch; one of the same session and path stays as it is."""
        ...

    async def of(self, session_id: str) -> list[Watch]:
        """Return the watches of a session, by path."""
        ...

    async def among(self, session_ids: Collection[str]) -> list[Watch]:
        """Return the watches of all of these sessions."""
        ...

    async def remove(self, session_id: str, path: str) -> None:
        """Remove a watch; a missing one is not an error."""
        ...

    async def end(self, session_id: str, until: datetime) -> None:
        """Remove the watches of a session, and note until a time that it has ended."""
        ...

    async def ended(self, session_id: str) -> bool:
        """Report whether a session has ended before its time."""
        ...

    async def forget(self, before: datetime) -> None:
        """Remove the watches of sessions that ended at `before` or earlier."""
        ...
