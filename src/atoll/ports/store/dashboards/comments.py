"""Comments on the items of dashboards."""

from typing import Protocol

from atoll.domain.dashboards.comment import CommentId, DashboardComment
from atoll.domain.ids import DashboardId
from atoll.domain.paging import PageQuery, RowPage
from atoll.ports.store.records import Records


class DashboardCommentRows(Records[DashboardComment, DashboardId, CommentId], Protocol):
    """Comments; they go with their dashboard. Whoever reads one decides who may see it."""

    async def page(self, dashboard_id: DashboardId, page: PageQuery) -> RowPage[DashboardComment]:
        """Return a page, oldest first."""
        ...

    async def count(self, dashboard_id: DashboardId) -> int:
        """Return how many comments a dashboard has."""
        ...
