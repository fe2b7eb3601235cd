"""Dashboards: make, find, rename, copy, delete and restore them; their people and owners."""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.fields import FIRST_PAGE, ItemId, Paging
from atoll.wire.api.operation import Answer, Area, Request, operation
from atoll.wire.words.dashboards import BLANK, MAX_PEOPLE, DashboardRole, DashboardScope
from atoll.wire.words.people import MAX_NAME

DashboardName = Annotated[str, Meta(min_length=1, max_length=MAX_NAME)]


class DashboardBody(Request):
    """A dashboard to make. `template` names the items it begins with: `blank`, `agent-and-notes`
    or `review`."""

    name: DashboardName
    scope: DashboardScope = DashboardScope.PRIVATE
    template: Annotated[str, Meta(min_length=1, max_length=40)] = BLANK


class DashboardChangeBody(Request):
    """A change of a dashboard; what is left out stays."""

    name: DashboardName | None = None
    scope: DashboardScope | None = None


class DashboardCopyBody(Request):
    """A copy to make."""

    name: DashboardName


class DashboardRoleBody(Request):
    """A role of a person or group: `editor` or `viewer`."""

    role: DashboardRole


class OwnerBody(Request):
    """The member whom a sandbox is given to, by id, name or email."""

    member: Annotated[str, Meta(min_length=1, max_length=200)]


class PresentPersonView(Answer):
    """A person who is on a dashboard now."""

    id: str
    name: str


class DashboardView(Answer):
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


class DashboardList(Answer):
    """The dashboards that the caller may see, newest first."""

    dashboards: list[DashboardView]
    next: str | None


class DashboardPersonView(Answer):
    """A person (by id) or a group (`group:<name>`) with a role on a dashboard."""

    subject: str
    role: DashboardRole
    since: str


class DashboardPeople(Answer):
    """The people and groups with a role, the owner first."""

    people: list[DashboardPersonView]


class WaitingDashboardView(Answer):
    """A dashboard whose owner is gone: its name and size, nothing of what is on it. It is removed
    at `removed_at`, null before that is known."""

    id: str
    name: str
    owner: str
    updated_at: str
    items: int
    removed_at: str | None


class WaitingDashboardList(Answer):
    """The dashboards that wait for a new owner, oldest first."""

    dashboards: list[WaitingDashboardView]
    next: str | None


_FAILURES = (404, 409, 413)


class Dashboards(Area):
    """The dashboards that the caller may see."""

    tag = "dashboards"
    needs = "dashboard.manage"

    @operation("GET /v1/dashboards", name="list_dashboards", needs="dashboard.read")
    def list(self, *, page: Paging = FIRST_PAGE) -> DashboardList:
        """Return the dashboards that the caller may see: own ones, those that name them or a group
        of theirs, and those shared in the organization."""

    @operation("POST /v1/dashboards", name="create_dashboard", status=201, problems=(409, 413))
    def create(self, body: DashboardBody) -> DashboardView:
        """Make a dashboard."""

    @operation(
        "GET /v1/dashboards/{dashboard}",
        name="get_dashboard",
        needs="dashboard.read",
        problems=(404,),
    )
    def get(self, dashboard: ItemId) -> DashboardView:
        """Return one dashboard."""

    @operation("PATCH /v1/dashboards/{dashboard}", name="change_dashboard", problems=_FAILURES)
    def change(self, dashboard: ItemId, body: DashboardChangeBody) -> DashboardView:
        """Rename a dashboard, or say who sees it."""

    @operation(
        "DELETE /v1/dashboards/{dashboard}",
        name="delete_dashboard",
        status=204,
        problems=_FAILURES,
    )
    def delete(self, dashboard: ItemId) -> None:
        """Delete a dashboard; `…/restore` undoes it for seven days. Its sandboxes stay."""

    @operation(
        "POST /v1/dashboards/{dashboard}/restore", name="restore_dashboard", problems=_FAILURES
    )
    def restore(self, dashboard: ItemId) -> DashboardView:
        """Undo a deletion."""

    @operation(
        "POST /v1/dashboards/{dashboard}/copy",
        name="copy_dashboard",
        status=201,
        problems=_FAILURES,
    )
    def copy(self, dashboard: ItemId, body: DashboardCopyBody) -> DashboardView:
        """Make a private dashboard with the same items, without the original's terminals."""

    @operation(
        "GET /v1/dashboards/{dashboard}/people",
        name="list_dashboard_people",
        needs="dashboard.read",
        problems=(404,),
        max_items=MAX_PEOPLE + 1,
    )
    def people(self, dashboard: ItemId) -> DashboardPeople:
        """Return who has a role on a dashboard."""

    @operation(
        "PUT /v1/dashboards/{dashboard}/people/{subject}",
        name="share_dashboard",
        problems=_FAILURES,
    )
    def share(self, dashboard: ItemId, subject: ItemId, body: DashboardRoleBody) -> DashboardPeople:
        """Give a person (by id) or a group (`group:<name>`) a role. Open connections follow at
        once."""

    @operation(
        "DELETE /v1/dashboards/{dashboard}/people/{subject}",
        name="unshare_dashboard",
        status=204,
        problems=_FAILURES,
    )
    def unshare(self, dashboard: ItemId, subject: ItemId) -> None:
        """Take a role away; open connections close at once."""

    @operation(
        "POST /v1/dashboards/{dashboard}/owner",
        name="give_dashboard",
        status=204,
        problems=_FAILURES,
    )
    def give(self, dashboard: ItemId, body: OwnerBody) -> None:
        """Give the dashboard to another member. Its owner may, and an administrator once the owner
        is gone. Its home sandbox stays the former owner's, and is linked."""

    @operation(
        "GET /v1/organizations/{organization}/waiting-dashboards",
        name="list_waiting_dashboards",
        needs="org.manage",
        problems=(404, 409),
    )
    def waiting(self, organization: ItemId, *, page: Paging = FIRST_PAGE) -> WaitingDashboardList:
        """Return the dashboards whose owner is gone and that nobody else edits. An administrator
        gives them to somebody; the others are removed after two weeks."""
