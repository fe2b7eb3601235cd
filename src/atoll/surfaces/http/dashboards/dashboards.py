"""Routes of dashboards: make, find, rename, share, copy, delete and restore them.

A dashboard that the caller may not see answers like one that does not exist.
"""

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field
from starlette.responses import Response

from atoll.domain.dashboard.dashboard import (
    MAX_PEOPLE,
    DashboardPerson,
    DashboardRole,
    DashboardScope,
)
from atoll.domain.dashboard.template import BLANK
from atoll.domain.people.capability import Capability
from atoll.services.dashboards.dashboards import SeenDashboard
from atoll.surfaces.http.body.answers import Json, no_content
from atoll.surfaces.http.body.fields import Body, ItemId, ResponseModel
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.body.pages import Paged, PageModel, at_most
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems
from atoll.wire.words.people import MAX_NAME

router = APIRouter(prefix="/v1/dashboards", tags=["dashboards"], route_class=JsonRoute)

DashboardName = Annotated[str, Field(min_length=1, max_length=MAX_NAME, strict=True)]


class DashboardBody(Body):
    """A dashboard to make. `template` names the items it begins with: `blank`, `agent-and-notes`
    or `review`."""

    name: DashboardName
    scope: DashboardScope = DashboardScope.PRIVATE
    template: Annotated[str, Field(min_length=1, max_length=40, strict=True)] = BLANK


class DashboardChangeBody(Body):
    """A change of a dashboard; what is left out stays."""

    name: DashboardName | None = None
    scope: DashboardScope | None = None


class DashboardCopyBody(Body):
    """A copy to make."""

    name: DashboardName


class DashboardRoleBody(Body):
    """A role of a person or group: `editor` or `viewer`."""

    role: DashboardRole


class PresentPersonView(ResponseModel):
    """A person who is on a dashboard now."""

    id: str
    name: str


class DashboardView(ResponseModel):
    """A dashboard, and the caller's role on it. `sandbox_id` is its home sandbox, null before its
    first terminal; `linked` are other sandboxes shown on it. `items` counts what is on it;
    `present` are the people who are on it now, as far as this replica has it open."""

    id: str
    name: str
    owner: str
    scope: DashboardScope
    role: DashboardRole
    sandbox_id: str | None
    linked: list[str]
    created_at: str
    updated_at: str
    items: int
    present: list[PresentPersonView]


class DashboardList(PageModel):
    """The dashboards that the caller may see, newest first."""

    dashboards: list[DashboardView]


class DashboardPersonView(ResponseModel):
    """A person (by id) or a group (`group:<name>`) with a role on a dashboard."""

    subject: str
    role: DashboardRole
    since: str


class DashboardPeople(ResponseModel):
    """The people and groups with a role, the owner first."""

    people: list[DashboardPersonView]


_FAILURES: dict[int | str, dict[str, Any]] = problems(404, 409, 413)


@router.get("", response_model=DashboardList, responses=problems())
@needs(Capability.DASHBOARD_READ)
async def list_dashboards(atoll: Atoll, caller: Caller, *, page: Paged) -> Response:
    """Return the dashboards that the caller may see: own ones, those that name them or a group of
    theirs, and those shared in the organization."""
    found = await atoll.dashboards.boards.list(caller, page.rows())
    return Json(page.of_rows(found, name="dashboards", view=dashboard_view))


@router.post("", status_code=201, response_model=DashboardView, responses=problems(409, 413))
@needs(Capability.DASHBOARD_MANAGE)
async def create_dashboard(atoll: Atoll, caller: Caller, *, body: DashboardBody) -> Response:
    """Make a dashboard."""
    made = await atoll.dashboards.boards.create(
        caller, body.name, scope=body.scope, template=body.template
    )
    return Json(dashboard_view(made), 201)


@router.get("/{dashboard}", response_model=DashboardView, responses=problems(404))
@needs(Capability.DASHBOARD_READ)
async def get_dashboard(atoll: Atoll, caller: Caller, *, dashboard: ItemId) -> Response:
    """Return one dashboard."""
    return Json(dashboard_view(await atoll.dashboards.boards.get(caller, dashboard)))


@router.patch("/{dashboard}", response_model=DashboardView, responses=_FAILURES)
@needs(Capability.DASHBOARD_MANAGE)
async def change_dashboard(
    atoll: Atoll, caller: Caller, *, dashboard: ItemId, body: DashboardChangeBody
) -> Response:
    """Rename a dashboard, or say who sees it."""
    changed = await atoll.dashboards.boards.change(
        caller, dashboard, name=body.name, scope=body.scope
    )
    return Json(dashboard_view(changed))


@router.delete("/{dashboard}", status_code=204, responses=_FAILURES)
@needs(Capability.DASHBOARD_MANAGE)
async def delete_dashboard(atoll: Atoll, caller: Caller, *, dashboard: ItemId) -> Response:
    """Delete a dashboard; `…/restore` undoes it for seven days. Its sandboxes stay."""
    await atoll.dashboards.boards.delete(caller, dashboard)
    return no_content()


@router.post("/{dashboard}/restore", response_model=DashboardView, responses=_FAILURES)
@needs(Capability.DASHBOARD_MANAGE)
async def restore_dashboard(atoll: Atoll, caller: Caller, *, dashboard: ItemId) -> Response:
    """Undo a deletion."""
    return Json(dashboard_view(await atoll.dashboards.boards.restore(caller, dashboard)))


@router.post(
    "/{dashboard}/copy", status_code=201, response_model=DashboardView, responses=_FAILURES
)
@needs(Capability.DASHBOARD_MANAGE)
async def copy_dashboard(
    atoll: Atoll, caller: Caller, *, dashboard: ItemId, body: DashboardCopyBody
) -> Response:
    """Make a private dashboard with the same items, without the original's terminals."""
    return Json(
        dashboard_view(await atoll.dashboards.boards.copy(caller, dashboard, body.name)), 201
    )


@router.get(
    "/{dashboard}/people",
    response_model=DashboardPeople,
    responses=problems(404),
    openapi_extra=at_most(MAX_PEOPLE + 1),
)
@needs(Capability.DASHBOARD_READ)
async def list_dashboard_people(atoll: Atoll, caller: Caller, *, dashboard: ItemId) -> Response:
    """Return who has a role on a dashboard."""
    found = await atoll.dashboards.boards.people(caller, dashboard)
    return Json({"people": [_person_view(one) for one in found]})


@router.put("/{dashboard}/people/{subject}", response_model=DashboardPeople, responses=_FAILURES)
@needs(Capability.DASHBOARD_MANAGE)
async def share_dashboard(
    atoll: Atoll, caller: Caller, *, dashboard: ItemId, subject: ItemId, body: DashboardRoleBody
) -> Response:
    """Give a person (by id) or a group (`group:<name>`) a role. Open connections follow at once."""
    found = await atoll.dashboards.boards.share(caller, dashboard, subject, body.role)
    return Json({"people": [_person_view(one) for one in found]})


@router.delete("/{dashboard}/people/{subject}", status_code=204, responses=_FAILURES)
@needs(Capability.DASHBOARD_MANAGE)
async def unshare_dashboard(
    atoll: Atoll, caller: Caller, *, dashboard: ItemId, subject: ItemId
) -> Response:
    """Take a role away; open connections close at once."""
    await atoll.dashboards.boards.unshare(caller, dashboard, subject)
    return no_content()


def dashboard_view(seen: SeenDashboard) -> dict[str, Any]:
    """Return the fields of a `DashboardView`."""
    present = [{"id": one, "name": name or one} for one, name in sorted(seen.present.items())]
    return DashboardView.of(seen.dashboard, role=seen.role, present=present)


def _person_view(person: DashboardPerson) -> dict[str, Any]:
    return DashboardPersonView.of(person)
