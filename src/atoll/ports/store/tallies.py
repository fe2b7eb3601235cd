"""Tallies of the whole installation, for monitoring: how many of what, and never whose."""

from collections.abc import Mapping
from typing import Protocol


class TallyRows(Protocol):
    """Counts over all organizations. Each is one statement that reads an index or a small table."""

    async def sandboxes(self) -> Mapping[str, int]:
        """Return how many sandboxes there are by state, without those that are destroyed. A state
        of none is missing."""
        ...

    async def agents(self) -> Mapping[str, int]:
        """Return how many agents of running sandboxes there are by status. A status of none is
        missing."""
        ...

    async def approvals(self) -> int:
        """Return how many requests wait for a person's decision."""
        ...
