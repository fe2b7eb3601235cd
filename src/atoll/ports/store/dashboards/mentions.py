"""Mentions of people on dashboards."""

from collections.abc import Collection
from typing import Protocol

from atoll.domain.dashboards.comment import CommentId
from atoll.domain.dashboards.mention import DashboardMention, MentionId
from atoll.domain.ids import DashboardId, OrgId, PrincipalId


class DashboardMentionRows(Protocol):
    """Mentions; they go with their dashboard. Whoever reads one decides who may see it."""

    async def put(self, mention: DashboardMention) -> None:
        """Add a mention, or replace it."""
        ...

    async def get(
        self, org_id: OrgId, person: PrincipalId, mention_id: MentionId
    ) -> DashboardMention | None:
        """Return one mention of this person."""
        ...

    async def of(self, org_id: OrgId, person: PrincipalId, limit: int) -> list[DashboardMention]:
        """Return a person's mentions that are not dismissed, newest first."""
        ...

    async def of_todos(
        self, dashboard_id: DashboardId, items: Collection[str]
    ) -> list[DashboardMention]:
        """Return the mentions that these items make as todos, dismissed ones among them."""
        ...

    async def of_comment(
        self, dashboard_id: DashboardId, comment_id: CommentId
    ) -> list[DashboardMention]:
        """Return the mentions that a comment makes."""
        ...

    async def remove(self, mention_id: MentionId) -> None:
        """Remove a mention; a missing one is not an error."""
        ...

    async def cut(self, org_id: OrgId, person: PrincipalId, most: int) -> None:
        """Remove all but a person's newest mentions."""
        ...
