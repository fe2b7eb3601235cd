"""Routes of the owners of dashboards: to whom one belongs, and which wait for a new owner."""

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from atoll.domain.dashboard.dashboard import Dashboard
from atoll.domain.dashboard.owner import WAITS
from atoll.domain.people.capability import Capability
from atoll.surfaces.http.body.answers import Json, instant, no_content
from atoll.surfaces.http.body.fields import ItemId, ResponseModel
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.body.pages import Paged, PageModel
from atoll.surfaces.http.people.ownership import OwnerBody
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

router = APIRouter(prefix="/v1", tags=["dashboards"], route_class=JsonRoute)


class WaitingDashboardView(ResponseModel):
    """A dashboard whose owner is gone: its name and size, nothing of what is on it. It is removed
    at `removed_at`, null before that is known."""

    id: str
    name: str
    owner: str
    updated_at: str
    items: int
    removed_at: str | None


class WaitingDashboardList(PageModel):
    """The dashboards that wait for a new owner, oldest first."""

    dashboards: list[WaitingDashboardView]


@router.post("/dashboards/{dashboard}/owner", status_code=204, responses=problems(404, 409, 413))
@needs(Capability.DASHBOARD_MANAGE)
async def give_dashboard(
    atoll: Atoll, caller: Caller, *, dashboard: ItemId, body: OwnerBody
) -> Response:
    """Give the dashboard to another member. Its owner may, and an administrator once the owner is
    gone. Its home sandbox stays the former owner's, and is linked."""
    await atoll.dashboards.owners.give(caller, dashboard, body.member)
    return no_content()


@router.get(
    "/organizations/{organization}/waiting-dashboards",
    response_model=WaitingDashboardList,
    responses=problems(404, 409),
)
@needs(Capability.ORG_MANAGE)
async def list_waiting_dashboards(
    atoll: Atoll, caller: Caller, *, organization: ItemId, page: Paged
) -> Response:
    """Return the dashboards whose owner is gone and that nobody else edits. An administrator gives
    them to somebody; the others are removed after two weeks."""
    found = await atoll.dashboards.owners.waiting(caller, organization, page.rows())
    return Json(page.of_rows(found, name="dashboards", view=_waiting))


def _waiting(dashboard: Dashboard) -> dict[str, Any]:
    left = dashboard.left_at
    removed = None if left is None else instant(left + WAITS)
    return WaitingDashboardView.of(dashboard, removed_at=removed)
