"""Rows of the audit log. `EventRows.append` writes the entries, in the events' own transaction."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from atoll.domain.audit import AuditEntry, Checkpoint
from atoll.domain.ids import OrgId


@dataclass(frozen=True, slots=True)
class ChainHead:
    """The end of an organization's chain: the number and hash of its newest entry."""

    n: int
    hash: str


class AuditRows(Protocol):
    """Entries and checkpoints, a chain for each organization."""

    async def page(self, org_id: OrgId, *, after: int, limit: int) -> list[AuditEntry]:
        """Return at most `limit` entries with a number above `after`, in their order."""
        ...

    async def latest(
        self, org_id: OrgId, *, limit: int, before: int | None = None
    ) -> list[AuditEntry]:
        """Return the newest entries, or those with the highest numbers below `before`, in their
        order."""
        ...

    async def head(self, org_id: OrgId) -> ChainHead:
        """Return the end of a chain: that of its checkpoint when all entries were dropped, and
        number 0 for an empty one."""
        ...

    async def checkpoint(self, org_id: OrgId) -> Checkpoint | None:
        """Return the checkpoint at which the kept entries begin, None when nothing was dropped."""
        ...

    async def due(self, before: datetime) -> list[OrgId]:
        """Return the organizations with entries older than `before`."""
        ...

    async def newest_before(self, org_id: OrgId, before: datetime) -> ChainHead | None:
        """Return the newest entry older than `before`, None when there is none."""
        ...

    async def drop(self, checkpoint: Checkpoint) -> int:
        """Remove the entries up to the checkpoint's and keep it in the place of the earlier one.
        Returns how many were removed."""
        ...
