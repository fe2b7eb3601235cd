"""Dashboards: the comments on them, and their history."""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.fields import FIRST_PAGE, ItemId, JsonObject, Paging, Position
from atoll.wire.api.operation import Answer, Area, Request, operation
from atoll.wire.words.dashboards import MAX_COMMENT_BYTES, MAX_MENTIONS

PersonId = Annotated[str, Meta(min_length=1, max_length=128)]


class DashboardCommentBody(Request):
    """A comment to write on an item. `mentions` are ids of people who see the dashboard."""

    item_id: Annotated[str, Meta(min_length=1, max_length=40)]
    text: Annotated[str, Meta(min_length=1, max_length=MAX_COMMENT_BYTES)]
    mentions: Annotated[tuple[PersonId, ...], Meta(max_length=MAX_MENTIONS)] = ()


class DashboardCommentChangeBody(Request):
    """A change of a comment."""

    resolved: bool


class DashboardCommentView(Answer):
    """A comment. `author` is an id; `author_name` is how they were called then, null where they had
    no name."""

    id: str
    item_id: str
    author: str
    author_name: str | None
    text: str
    mentions: list[str]
    at: str
    resolved: bool


class DashboardCommentList(Answer):
    """The comments of a dashboard, oldest first."""

    comments: list[DashboardCommentView]
    next: str | None


class HistorySummary(Answer):
    """The counts of items by their kind."""

    added: dict[str, int]
    changed: dict[str, int]
    removed: dict[str, int]


class HistoryEntryView(Answer):
    """Changes of one person (`actor` is an id) within a minute, up to update `seq`."""

    seq: int
    at: str
    actor: str
    summary: HistorySummary


class HistoryPage(Answer):
    """A page, newest first; `next` is the following `before`, null on the last."""

    entries: list[HistoryEntryView]
    next: int | None


class FormerItems(Answer):
    """The items as they were. A text with attributes is `text`, and `delta` with them: runs of
    `insert` and `attributes`."""

    items: list[JsonObject]


class DashboardComments(Area):
    """The comments on a dashboard's items. Whoever sees the dashboard may comment."""

    tag = "dashboards"
    needs = "dashboard.read"

    @operation(
        "GET /v1/dashboards/{dashboard}/comments", name="list_dashboard_comments", problems=(404,)
    )
    def list(self, dashboard: ItemId, *, page: Paging = FIRST_PAGE) -> DashboardCommentList:
        """Return the comments of a dashboard."""

    @operation(
        "POST /v1/dashboards/{dashboard}/comments",
        name="comment_on_dashboard",
        status=201,
        problems=(404, 409, 413),
    )
    def write(self, dashboard: ItemId, body: DashboardCommentBody) -> DashboardCommentView:
        """Comment on an item."""

    @operation(
        "PATCH /v1/dashboards/{dashboard}/comments/{comment}",
        name="resolve_dashboard_comment",
        problems=(404, 413),
    )
    def resolve(
        self, dashboard: ItemId, comment: ItemId, body: DashboardCommentChangeBody
    ) -> DashboardCommentView:
        """Resolve a comment, or open it again: its author may, and who edits the dashboard."""

    @operation(
        "DELETE /v1/dashboards/{dashboard}/comments/{comment}",
        name="delete_dashboard_comment",
        status=204,
        problems=(404,),
    )
    def delete(self, dashboard: ItemId, comment: ItemId) -> None:
        """Delete a comment: its author may, and who manages the dashboard."""


class DashboardHistory(Area):
    """The history of a dashboard."""

    tag = "dashboards"
    needs = "dashboard.read"

    @operation(
        "GET /v1/dashboards/{dashboard}/history", name="list_dashboard_history", problems=(404,)
    )
    def list(
        self,
        dashboard: ItemId,
        *,
        before: Position | None = None,
        limit: Annotated[int, Meta(ge=1, le=200)] = 100,
    ) -> HistoryPage:
        """Return what was done on a dashboard, newest first."""

    @operation(
        "GET /v1/dashboards/{dashboard}/history/{seq}",
        name="read_dashboard_history",
        problems=(404,),
    )
    def read(self, dashboard: ItemId, seq: Position) -> FormerItems:
        """Return the items as they were after an entry."""
