"""Rows of leases."""

from typing import Protocol

from atoll.domain.lease import Lease


class LeaseRows(Protocol):
    """Leases, by name. Writing transactions take turns, so what was read decides."""

    async def get(self, name: str) -> Lease | None:
        """Return the newest lease of a name, also when it has ended."""
        ...

    async def put(self, lease: Lease) -> None:
        """Add a lease, or replace the one of its name."""
        ...
