"""Routes of the comments on a dashboard's items: write, read, resolve and delete them.

Whoever sees the dashboard may comment.
"""

from atoll.domain.dashboards.comment import DashboardComment
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.dashboards import comments as api
from atoll.wire.api.dashboards.comments import DashboardComments
from atoll.wire.api.fields import FIRST_PAGE, Paging

operations = Operations()


@operations.serves(DashboardComments.list)
async def list_dashboard_comments(
    context: RequestContext, dashboard: str, *, page: Paging = FIRST_PAGE
) -> api.DashboardCommentList:
    asked = context.page(page)
    found = await context.atoll.dashboards.comments.list(context.caller, dashboard, asked.rows())
    comments, following = asked.rows_and_next(found, _view)
    return api.DashboardCommentList(comments=comments, next=following)


@operations.serves(DashboardComments.write)
async def comment_on_dashboard(
    context: RequestContext, dashboard: str, body: api.DashboardCommentBody
) -> api.DashboardCommentView:
    made = await context.atoll.dashboards.comments.add(
        context.caller, dashboard, body.item_id, body.text, mentions=body.mentions
    )
    return _view(made)


@operations.serves(DashboardComments.resolve)
async def resolve_dashboard_comment(
    context: RequestContext, dashboard: str, comment: str, body: api.DashboardCommentChangeBody
) -> api.DashboardCommentView:
    changed = await context.atoll.dashboards.comments.resolve(
        context.caller, dashboard, comment, resolved=body.resolved
    )
    return _view(changed)


@operations.serves(DashboardComments.delete)
async def delete_dashboard_comment(context: RequestContext, dashboard: str, comment: str) -> None:
    await context.atoll.dashboards.comments.remove(context.caller, dashboard, comment)


def _view(comment: DashboardComment) -> api.DashboardCommentView:
    return answer_of(api.DashboardCommentView, comment, author_name=comment.author_name or None)
