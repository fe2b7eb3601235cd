"""Rows of comments on the items of dashboards."""

import msgspec
from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Index,
    Table,
    Text,
    and_,
    delete,
    func,
    insert,
    select,
    tuple_,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import metadata, to_us
from atoll.domain.dashboard.comment import DashboardComment
from atoll.domain.ids import CommentId, DashboardId
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

_comments = msgspec.json.Decoder(DashboardComment)


class SqlDashboardCommentRows(DashboardCommentRows):
    """The `ports.store.dashboards.comments.DashboardCommentRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def put(self, comment: DashboardComment) -> None:
        """See the port."""
        body = msgspec.json.encode(comment).decode()
        changed = await self._connection.execute(
            update(comments).where(_is(comment.dashboard_id, comment.id)).values(body=body)
        )
        if not changed.rowcount:
            await self._connection.execute(
                insert(comments).values(
                    id=comment.id,
                    dashboard_id=comment.dashboard_id,
                    org_id=comment.org_id,
                    owner=comment.author,
                    at_us=to_us(comment.at),
                    body=body,
                )
            )

    async def get(
        self, dashboard_id: DashboardId, comment_id: CommentId
    ) -> DashboardComment | None:
        """See the port."""
        found = await self._connection.execute(
            select(comments.c.body).where(_is(dashboard_id, comment_id))
        )
        body = found.scalar_one_or_none()
        return None if body is None else _comments.decode(body)

    async def page(self, dashboard_id: DashboardId, page: PageQuery) -> RowPage[DashboardComment]:
        """See the port."""
        place = (comments.c.at_us, comments.c.id)
        rows = select(comments.c.body).where(comments.c.dashboard_id == dashboard_id)
        if page.after is not None:
            rows = rows.where(tuple_(*place) > tuple_(to_us(page.after[0]), page.after[1]))
        found = await self._connection.execute(rows.order_by(*place).limit(page.limit + 1))
        read = [_comments.decode(body) for body in found.scalars()]
        return cut_page(read, page.limit, lambda one: (one.at, one.id))

    async def count(self, dashboard_id: DashboardId) -> int:
        """See the port."""
        found = await self._connection.execute(
            select(func.count()).where(comments.c.dashboard_id == dashboard_id)
        )
        return int(found.scalar_one())

    async def remove(self, dashboard_id: DashboardId, comment_id: CommentId) -> None:
        """See the port."""
        await self._connection.execute(delete(comments).where(_is(dashboard_id, comment_id)))


def _is(dashboard_id: DashboardId, comment_id: CommentId) -> ColumnElement[bool]:
    return and_(comments.c.dashboard_id == dashboard_id, comments.c.id == comment_id)
