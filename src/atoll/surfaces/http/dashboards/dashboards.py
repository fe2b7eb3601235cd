"""Routes of dashboards: make, find, rename, share, copy, delete, restore and give them.

A dashboard that the caller may not see answers like one that does not exist.
"""

from collections.abc import Iterable

from atoll.domain.dashboards.dashboard import Dashboard, DashboardPerson
from atoll.domain.dashboards.owner import WAITS
from atoll.services.dashboards.dashboards import SeenDashboard
from atoll.surfaces.http.body.answers import instant
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.dashboards import dashboards as api
from atoll.wire.api.dashboards.dashboards import Dashboards
from atoll.wire.api.fields import FIRST_PAGE, Paging

operations = Operations()


@operations.serves(Dashboards.list)
async def list_dashboards(
    context: RequestContext, *, page: Paging = FIRST_PAGE
) -> api.DashboardList:
    requested = context.page(page)
    found = await context.atoll.dashboards.boards.list(context.caller, requested.rows())
    dashboards, following = requested.rows_and_next(found, dashboard_view)
    return api.DashboardList(dashboards=dashboards, next=following)


@operations.serves(Dashboards.create)
async def create_dashboard(context: RequestContext, body: api.DashboardBody) -> api.DashboardView:
    made = await context.atoll.dashboards.boards.create(
        context.caller, body.name, scope=body.scope, template=body.template
    )
    return dashboard_view(made)


@operations.serves(Dashboards.get)
async def get_dashboard(context: RequestContext, dashboard: str) -> api.DashboardView:
    return dashboard_view(await context.atoll.dashboards.boards.get(context.caller, dashboard))


@operations.serves(Dashboards.change)
async def change_dashboard(
    context: RequestContext, dashboard: str, body: api.DashboardChangeBody
) -> api.DashboardView:
    changed = await context.atoll.dashboards.boards.change(
        context.caller, dashboard, name=body.name, scope=body.scope
    )
    return dashboard_view(changed)


@operations.serves(Dashboards.delete)
async def delete_dashboard(context: RequestContext, dashboard: str) -> None:
    await context.atoll.dashboards.boards.delete(context.caller, dashboard)


@operations.serves(Dashboards.restore)
async def restore_dashboard(context: RequestContext, dashboard: str) -> api.DashboardView:
    boards = context.atoll.dashboards.boards
    return dashboard_view(await boards.restore(context.caller, dashboard))


@operations.serves(Dashboards.copy)
async def copy_dashboard(
    context: RequestContext, dashboard: str, body: api.DashboardCopyBody
) -> api.DashboardView:
    boards = context.atoll.dashboards.boards
    return dashboard_view(await boards.copy(context.caller, dashboard, body.name))


@operations.serves(Dashboards.people)
async def list_dashboard_people(context: RequestContext, dashboard: str) -> api.DashboardPeople:
    return _people(await context.atoll.dashboards.boards.people(context.caller, dashboard))


@operations.serves(Dashboards.share)
async def share_dashboard(
    context: RequestContext, dashboard: str, subject: str, body: api.DashboardRoleBody
) -> api.DashboardPeople:
    boards = context.atoll.dashboards.boards
    return _people(await boards.share(context.caller, dashboard, subject, body.role))


@operations.serves(Dashboards.unshare)
async def unshare_dashboard(context: RequestContext, dashboard: str, subject: str) -> None:
    await context.atoll.dashboards.boards.unshare(context.caller, dashboard, subject)


@operations.serves(Dashboards.give)
async def give_dashboard(context: RequestContext, dashboard: str, body: api.OwnerBody) -> None:
    await context.atoll.dashboards.owners.give(context.caller, dashboard, body.member)


@operations.serves(Dashboards.waiting)
async def list_waiting_dashboards(
    context: RequestContext, organization: str, *, page: Paging = FIRST_PAGE
) -> api.WaitingDashboardList:
    requested = context.page(page)
    owners = context.atoll.dashboards.owners
    found = await owners.waiting(context.caller, organization, requested.rows())
    dashboards, following = requested.rows_and_next(found, _waiting_dashboard_view)
    return api.WaitingDashboardList(dashboards=dashboards, next=following)


def dashboard_view(seen: SeenDashboard) -> api.DashboardView:
    """Return a dashboard as answers show it."""
    present = [
        api.PresentPersonView(id=one, name=name or one)
        for one, name in sorted(seen.present.items())
    ]
    return answer_of(api.DashboardView, seen.dashboard, role=seen.role, present=present)


def _people(found: Iterable[DashboardPerson]) -> api.DashboardPeople:
    return api.DashboardPeople(people=[answer_of(api.DashboardPersonView, one) for one in found])


def _waiting_dashboard_view(dashboard: Dashboard) -> api.WaitingDashboardView:
    left = dashboard.left_at
    removed = None if left is None else instant(left + WAITS)
    return answer_of(api.WaitingDashboardView, dashboard, removed_at=removed)
