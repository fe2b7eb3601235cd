"""Dashboards, who may see them, their documents, and what was done by whom.

A document is a snapshot and the updates since.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from atoll.domain.dashboards.dashboard import Dashboard
from atoll.domain.dashboards.history import HistoryEntry, StoredUpdate
from atoll.domain.ids import DashboardId, OrgId, PrincipalId, SandboxId
from atoll.domain.paging import PageQuery, RowPage


class DashboardRows(Protocol):
    """Dashboards, without links to sandboxes that were destroyed. Whoever reads one decides who may
    see it; `visible` alone does so itself."""

    async def put(self, dashboard: Dashboard) -> None:
        """Add a dashboard, or replace it with its people. When it changed last, and how many items
        it has, stay as `note_change` wrote them."""
        ...

    async def get(self, dashboard_id: DashboardId) -> Dashboard | None:
        """Return one, also while it can be restored only."""
        ...

    async def visible(
        self, org_id: OrgId, owner: PrincipalId, subjects: Collection[str], page: PageQuery
    ) -> RowPage[Dashboard]:
        """Return a page, newest first: those of `owner`, those that name one of `subjects`, and
        those shared in the organization; no deleted ones."""
        ...

    async def owned(self, org_id: OrgId, owner: PrincipalId) -> list[Dashboard]:
        """Return the dashboards of an owner; no deleted ones."""
        ...

    async def ownerless(self, org_id: OrgId | None, page: PageQuery) -> RowPage[Dashboard]:
        """Return a page, oldest first, of the dashboards of an organization (None: of all that
        have members) whose owner is none of its members; no deleted ones."""
        ...

    async def showing(self, sandbox_id: SandboxId) -> list[Dashboard]:
        """Return the dashboards whose home a sandbox is, or that link it; no deleted ones."""
        ...

    async def count(self, org_id: OrgId, owner: PrincipalId) -> int:
        """Return how many this owner has, deleted ones among them."""
        ...

    async def note_change(self, dashboard_id: DashboardId, at: datetime, items: int) -> None:
        """Write when the document changed, and how many items it has."""
        ...

    async def deleted(self, before: datetime, limit: int) -> list[DashboardId]:
        """Return dashboards that were deleted before a moment."""
        ...

    async def erase(self, dashboard_id: DashboardId) -> None:
        """Remove a dashboard with its document and its history; a missing one is not an error."""
        ...


@dataclass(frozen=True, slots=True)
class DocumentSnapshot:
    """A document as of update `seq`, as one update. `types` are its shared types, as the service
    that compacts spells them."""

    seq: int
    data: bytes
    types: bytes


@dataclass(frozen=True, slots=True)
class KeptHistory:
    """An entry of the history with its updates, and the whole document after it where `whole` is
    given."""

    entry: HistoryEntry
    updates: bytes
    whole: bytes | None = None


class DocumentRows(Protocol):
    """Documents. An update has a number, `seq`, which counts from 1 in the order of commits."""

    async def snapshot(self, dashboard_id: DashboardId) -> DocumentSnapshot | None:
        """Return the last snapshot."""
        ...

    async def updates(
        self, dashboard_id: DashboardId, after: int, limit: int
    ) -> list[StoredUpdate]:
        """Return updates after a number, in their order, that no snapshot has replaced."""
        ...

    async def append(
        self, dashboard_id: DashboardId, at: datetime, actor: PrincipalId, parts: Sequence[bytes]
    ) -> int:
        """Store updates of one actor and return their number."""
        ...

    async def head(self, dashboard_id: DashboardId) -> int:
        """Return the number of the last update, 0 where there is none."""
        ...

    async def compact(
        self, dashboard_id: DashboardId, snapshot: DocumentSnapshot, *, before: int
    ) -> bool:
        """Replace the snapshot of number `before` (0: none) and the updates up to the new one.
        Returns False, and changes nothing, where another one did so meanwhile."""
        ...

    async def grown(self, updates: int, before: datetime, limit: int) -> list[DashboardId]:
        """Return documents with at least so many updates since their snapshot, or with one from
        before a moment."""
        ...


class DocumentAuthorRows(Protocol):
    """The people in whose name each client of a document writes."""

    async def of(self, dashboard_id: DashboardId) -> Mapping[int, PrincipalId]:
        """Return the person of each client."""
        ...

    async def claim(
        self, dashboard_id: DashboardId, person: PrincipalId, clients: Collection[int]
    ) -> bool:
        """Give clients to a person. Returns False, and changes nothing, where one of them is
        somebody else's."""
        ...


class DashboardHistoryRows(Protocol):
    """The history of documents."""

    async def add(self, kept: Sequence[KeptHistory]) -> None:
        """Add entries of one document."""
        ...

    async def page(
        self, dashboard_id: DashboardId, before: int | None, limit: int
    ) -> list[HistoryEntry]:
        """Return entries before an update's number (None: the last ones), newest first."""
        ...

    async def way_to(self, dashboard_id: DashboardId, seq: int) -> list[KeptHistory]:
        """Return the entries by which the document of entry `seq` can be made, oldest first: the
        first of them has the whole document, or is the first of all. Empty without such an
        entry."""
        ...

    async def since_whole(self, dashboard_id: DashboardId) -> int | None:
        """Return how many entries follow the last one that has the whole document; None where none
        has it."""
        ...

    async def cut(self, dashboard_id: DashboardId, entries: int, max_bytes: int) -> None:
        """Remove the oldest entries so that at most so many, and so many bytes, are left. The first
        that is left has the whole document, or is the last one."""
        ...
