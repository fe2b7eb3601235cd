"""Rows of comments on the items of dashboards."""

from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    Table,
    Text,
    func,
    select,
    tuple_,
)

from atoll.adapters.storage.columns import metadata, to_us
from atoll.adapters.storage.records import RecordTable, SqlRecords
from atoll.domain.dashboards.comment import CommentId, DashboardComment
from atoll.domain.ids import DashboardId
from atoll.domain.paging import PageQuery, RowPage, cut_page
from atoll.ports.store.dashboards.comments import DashboardCommentRows

comments = Table(
    "dashboard_comments",
    metadata,
    Column("id", Text, primary_key=True),
    Column("dashboard_id", Text, nullable=False),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("at_us", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    Index("dashboard_comments_by_age", "dashboard_id", "at_us", "id"),
)
"""`owner` is who wrote the comment."""


class SqlDashboardCommentRows(
    SqlRecords[DashboardComment, DashboardId, CommentId], DashboardCommentRows
):
    """The `ports.store.dashboards.comments.DashboardCommentRows` on one connection."""

    records = RecordTable(
        comments,
        DashboardComment,
        lambda comment: {
            "id": comment.id,
            "dashboard_id": comment.dashboard_id,
            "org_id": comment.org_id,
            "owner": comment.author,
            "at_us": to_us(comment.at),
        },
        key=(comments.c.dashboard_id, comments.c.id),
    )

    async def page(self, dashboard_id: DashboardId, page: PageQuery) -> RowPage[DashboardComment]:
        """See the port."""
        place = (comments.c.at_us, comments.c.id)
        rows = select(comments.c.body).where(comments.c.dashboard_id == dashboard_id)
        if page.after is not None:
            rows = rows.where(tuple_(*place) > tuple_(to_us(page.after[0]), page.after[1]))
        cursor = await self._connection.execute(rows.order_by(*place).limit(page.limit + 1))
        read = [self.records.decode(body) for body in cursor.scalars()]
        return cut_page(read, page.limit, lambda comment: (comment.at, comment.id))

    async def count(self, dashboard_id: DashboardId) -> int:
        """See the port."""
        cursor = await self._connection.execute(
            select(func.count()).where(comments.c.dashboard_id == dashboard_id)
        )
        return int(cursor.scalar_one())
