"""Comments on the items of dashboards."""

from typing import Protocol

from atoll.domain.dashboard.comment import DashboardComment
from atoll.domain.ids import CommentId, DashboardId
from atoll.domain.paging import PageQuery, RowPage


class DashboardCommentRows(Protocol):
    """Comments; they go with their dashboard. Whoever reads one decides who may see it."""

    async def put(self, comment: DashboardComment) -> None:
        """Add a comment, or replace it."""
        ...

    async def get(
        self, dashboard_id: DashboardId, comment_id: CommentId
    ) -> DashboardComment | None:
        """Return one comment of this dashboard."""
        ...

    async def page(self, dashboard_id: DashboardId, page: PageQuery) -> RowPage[DashboardComment]:
        """Return a page, oldest first."""
        ...

    async def count(self, dashboard_id: DashboardId) -> int:
        """Return how many comments a dashboard has."""
        ...

    async def remove(self, dashboard_id: DashboardId, comment_id: CommentId) -> None:
        """Remove a comment; a missing one is not an error."""
        ...
