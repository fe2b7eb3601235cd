"""Rows of usage: buckets of each organization, and counts of each sandbox."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Protocol

from atoll.domain.ids import OrgId, PrincipalId, SandboxId
from atoll.domain.overview.usage import (
    ConsumerUsage,
    DoorCounts,
    Gauges,
    UsageBucket,
    UsageRange,
)
from atoll.domain.sandboxes.consumer import ConsumerFilter


class UsageRows(Protocol):
    """Buckets by organization, width and beginning; counts by sandbox."""

    async def add(self, bucket: UsageBucket, width: timedelta) -> None:
        """Add counts to a bucket of a width, and raise its standing where the given one is
        higher."""
        ...

    async def count(self, org_id: OrgId, sandbox_id: SandboxId, counts: DoorCounts) -> None:
        """Add to the counts of a sandbox."""
        ...

    async def counts(self, sandbox_id: SandboxId) -> DoorCounts:
        """Return the counts of a sandbox."""
        ...

    async def consumers(
        self, org_id: OrgId, owner: PrincipalId, wanted: ConsumerFilter, *, limit: int
    ) -> list[ConsumerUsage]:
        """Return the usage of an owner's consumers that have the wanted names, of those that have
        a harness: first the one whose sandbox is the newest."""
        ...

    async def buckets(self, org_id: OrgId, span: UsageRange) -> list[UsageBucket]:
        """Return the stored buckets of a range, of the organization and of `INSTALLATION`."""
        ...

    async def standings(self) -> Mapping[OrgId, Gauges]:
        """Return what there is now, by organization; one with nothing is missing."""
        ...

    async def standing(self, org_id: OrgId) -> Gauges:
        """Return what an organization has now."""
        ...

    async def drop(self, width: timedelta, before: datetime) -> None:
        """Remove the buckets of a width that began before a moment."""
        ...
