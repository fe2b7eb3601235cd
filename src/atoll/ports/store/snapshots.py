"""Snapshots, and what replicas ask of the one that has their disks."""

from datetime import datetime
from typing import Protocol

from atoll.domain.ids import OrgId, PrincipalId, SandboxId, SnapshotId
from atoll.domain.paging import PageQuery, RowPage
from atoll.domain.snapshots.disk_order import DiskOrder, DiskOrderId
from atoll.domain.snapshots.snapshot import Snapshot
from atoll.ports.store.records import OwnedRecords, Records


class SnapshotRows(OwnedRecords[Snapshot, SnapshotId], Protocol):
    """Snapshots, each with the sandbox that it is of."""

    async def named(self, org_id: OrgId, owner: PrincipalId, name: str) -> Snapshot | None:
        """Return the newest snapshot of this name that a person has, of those that lists show."""
        ...

    async def count(self, org_id: OrgId, owner: PrincipalId) -> int:
        """Return how many a person has taken, without those of forks, profiles and set-ups."""
        ...

    async def disk_use(self, org_id: OrgId) -> int:
        """Return the bytes that all snapshots of an organization take, of every kind; one that is
        being made counts once it is ready."""
        ...

    async def largest(self, org_id: OrgId, owner: PrincipalId) -> Snapshot | None:
        """Return a person's snapshot that takes the most bytes, of those that lists show."""
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
        sandboxes that were shared in the organization; without those of forks and set-ups."""
        ...

    async def automatic(self, sandbox_id: SandboxId) -> list[Snapshot]:
        """Return those that the profile of a sandbox had taken, oldest first."""
        ...

    async def orphans(self) -> list[Snapshot]:
        """Return those that profiles had taken of sandboxes which are destroyed since, and which
        are ready and have no end yet."""
        ...

    async def prebuilds(
        self, org_id: OrgId | None = None, owner: PrincipalId | None = None
    ) -> list[Snapshot]:
        """Return those that were taken after a set-up, of one person, or of all."""
        ...

    async def unsettled(self, before: datetime) -> list[Snapshot]:
        """Return those that are being made or removed since `before`, those whose time is over by
        then, and those of forks."""
        ...


class DiskOrderRows(Records[DiskOrder, DiskOrderId], Protocol):
    """Orders to the leader."""

    async def everything(self) -> list[DiskOrder]:
        """Return all orders, oldest first."""
        ...
