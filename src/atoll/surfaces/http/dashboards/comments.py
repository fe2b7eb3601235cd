"""Routes of the comments on a dashboard's items: write, read, resolve and delete them.

Whoever sees the dashboard may comment.
"""

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field
from starlette.responses import Response

from atoll.domain.dashboard.comment import MAX_COMMENT_BYTES, MAX_MENTIONS, DashboardComment
from atoll.domain.people.capability import Capability
from atoll.surfaces.http.body.answers import Json, no_content
from atoll.surfaces.http.body.fields import Body, ItemId, ResponseModel
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.body.pages import Paged, PageModel
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

router = APIRouter(
    prefix="/v1/dashboards/{dashboard}/comments", tags=["dashboards"], route_class=JsonRoute
)

PersonId = Annotated[str, Field(min_length=1, max_length=128, strict=True)]


class DashboardCommentBody(Body):
    """A comment to write on an item. `mentions` are ids of people who see the dashboard."""

    item_id: Annotated[str, Field(min_length=1, max_length=40, strict=True)]
    text: Annotated[str, Field(min_length=1, max_length=MAX_COMMENT_BYTES, strict=True)]
    mentions: Annotated[tuple[PersonId, ...], Field(max_length=MAX_MENTIONS)] = ()


class DashboardCommentChangeBody(Body):
    """A change of a comment."""

    resolved: Annotated[bool, Field(strict=True)]


class DashboardCommentView(ResponseModel):
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


class DashboardCommentList(PageModel):
    """The comments of a dashboard, oldest first."""

    comments: list[DashboardCommentView]


@router.get("", response_model=DashboardCommentList, responses=problems(404))
@needs(Capability.DASHBOARD_READ)
async def list_dashboard_comments(
    atoll: Atoll, caller: Caller, *, dashboard: ItemId, page: Paged
) -> Response:
    """Return the comments of a dashboard."""
    found = await atoll.dashboards.comments.list(caller, dashboard, page.rows())
    return Json(page.of_rows(found, name="comments", view=_view))


@router.post("", status_code=201, response_model=DashboardCommentView,
             responses=problems(404, 409, 413))  # fmt: skip
@needs(Capability.DASHBOARD_READ)
async def comment_on_dashboard(
    atoll: Atoll, caller: Caller, *, dashboard: ItemId, body: DashboardCommentBody
) -> Response:
    """Comment on an item."""
    made = await atoll.dashboards.comments.add(
        caller, dashboard, body.item_id, body.text, mentions=body.mentions
    )
    return Json(_view(made), 201)


@router.patch("/{comment}", response_model=DashboardCommentView, responses=problems(404, 413))
@needs(Capability.DASHBOARD_READ)
async def resolve_dashboard_comment(
    atoll: Atoll,
    caller: Caller,
    *,
    dashboard: ItemId,
    comment: ItemId,
    body: DashboardCommentChangeBody,
) -> Response:
    """Resolve a comment, or open it again: its author may, and who edits the dashboard."""
    changed = await atoll.dashboards.comments.resolve(
        caller, dashboard, comment, resolved=body.resolved
    )
    return Json(_view(changed))


@router.delete("/{comment}", status_code=204, responses=problems(404))
@needs(Capability.DASHBOARD_READ)
async def delete_dashboard_comment(
    atoll: Atoll, caller: Caller, *, dashboard: ItemId, comment: ItemId
) -> Response:
    """Delete a comment: its author may, and who manages the dashboard."""
    await atoll.dashboards.comments.remove(caller, dashboard, comment)
    return no_content()


def _view(comment: DashboardComment) -> dict[str, Any]:
    return DashboardCommentView.of(comment, author_name=comment.author_name or None)
