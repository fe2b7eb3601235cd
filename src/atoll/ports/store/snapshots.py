"""Snapshots."""

from datetime import datetime
from typing import Protocol

from atoll.domain.ids import OrgId, PrincipalId, SandboxId, SnapshotId
from atoll.domain.paging import PageQuery, RowPage
from atoll.domain.snapshots.snapshot import Snapshot
from atoll.ports.store.records import OwnedRecords


class SnapshotRows(OwnedRecords[Snapshot, SnapshotId], Protocol):
    """Snapshots, each with the sandbox that it is of."""

    async def named(self, org_id: OrgId, owner: PrincipalId, name: str) -> Snapshot | None:
        """Return the newest snapshot of this name that a person has."""
        ...

    async def count(self, org_id: OrgId, owner: PrincipalId) -> int:
        """Return how many a person has taken, without those of forks and of profiles."""
        ...

    async def page(
        self,
        org_id: OrgId,
        owner: PrincipalId,
        page: PageQuery,
        *,
        sandbox_id: SandboxId | None = None,
    ) -> RowPage[Snapshot]:
        """Return a page of those that a person may see, newest first: their own, and those of
        sandboxes that were shared in the organization; without those of forks."""
        ...

    async def automatic(self, sandbox_id: SandboxId) -> list[Snapshot]:
        """Return those that the profile of a sandbox had taken, oldest first."""
        ...

    async def unsettled(self, before: datetime) -> list[Snapshot]:
        """Return those that are being made or removed since `before`, those whose time is over by
        then, and those of forks."""
        ...
