"""Candidates of a search in the store, whose texts are judged afterwards."""

from dataclasses import dataclass
from typing import Protocol

from atoll.domain.dashboards.dashboard import Dashboard
from atoll.domain.event import Event
from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.sandboxes.sandbox import Sandbox


@dataclass(frozen=True, slots=True)
class TextQuery:
    """The words of a search, and who searches: their own things and those that the organization
    shares. At most `limit` candidates come from each of the newest `depth` things. `subjects` are
    the names by which a dashboard may name the caller."""

    org_id: OrgId
    owner: PrincipalId
    words: tuple[str, ...]
    limit: int = 50
    depth: int = 2000
    team: bool = False
    subjects: tuple[str, ...] = ()


class SearchRows(Protocol):
    """Candidates of a search, newest first. Nothing of another organization, or of another member
    that is not shared, is ever among them."""

    async def sandboxes(self, query: TextQuery) -> list[Sandbox]:
        """Return sandboxes that are not destroyed, whose name, task, or repositories hold the
        words."""
        ...

    async def dashboards(self, query: TextQuery) -> list[Dashboard]:
        """Return dashboards whose name holds the words, of those that `DashboardRows.visible` lists
        for the caller."""
        ...

    async def events(self, query: TextQuery) -> list[Event]:
        """Return events whose kind and reason hold the words, of those that the log's reader
        sees."""
        ...
