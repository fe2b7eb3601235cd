"""Dashboards: make, find, rename, copy, delete and restore them; their people and owners.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal, Required, TypedDict

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.made.dashboards.shares import (
    DashboardShareBody,
    DashboardShareList,
    DashboardShareMade,
)
from atoll.client.parts import organization_of
from atoll.client.transport import (
    Call,
    Pairs,
    Transport,
    api_path,
    get,
    omit_absent,
    patch,
    post,
    put,
)

DashboardScope = Literal["private", "shared"]

DashboardRole = Literal["owner", "editor", "viewer"]


class PresentPerson(Shape):
    """A person who is on a dashboard now."""

    id = fields.text()
    name = fields.text()


class Dashboard(Shape):
    """A dashboard, and the caller's role on it. `sandbox_id` is its home sandbox, null before
    its first terminal; `linked` are other sandboxes shown on it. `items` counts what is on it;
    `present` are the people who are on it now, as far as this replica has it open."""

    id = fields.text()
    name = fields.text()
    owner = fields.text()
    scope: Field[DashboardScope] = fields.word()
    role: Field[DashboardRole] = fields.word()
    sandbox_id = fields.text()
    linked = fields.texts()
    created_at = fields.text()
    updated_at = fields.text()
    items = fields.number()
    present = fields.many(PresentPerson)


class DashboardList(Shape):
    """The dashboards that the caller may see, newest first."""

    dashboards = fields.many(Dashboard)
    next = fields.text()


class DashboardPerson(Shape):
    """A person (by id) or a group (`group:<name>`) with a role on a dashboard."""

    subject = fields.text()
    role: Field[DashboardRole] = fields.word()
    since = fields.text()


class DashboardPeople(Shape):
    """The people and groups with a role, the owner first."""

    people = fields.many(DashboardPerson)


class WaitingDashboard(Shape):
    """A dashboard whose owner is gone: its name and size, nothing of what is on it. It is
    removed at `removed_at`, null before that is known."""

    id = fields.text()
    name = fields.text()
    owner = fields.text()
    updated_at = fields.text()
    items = fields.number()
    removed_at = fields.text()


class WaitingDashboardList(Shape):
    """The dashboards that wait for a new owner, oldest first."""

    dashboards = fields.many(WaitingDashboard)
    next = fields.text()


class DashboardBody(TypedDict, total=False):
    """A dashboard to make. `template` names the items it begins with: `blank`, `agent-and-notes`
    or `review`."""

    name: Required[str]
    scope: DashboardScope
    template: str


class DashboardChangeBody(TypedDict, total=False):
    """A change of a dashboard; what is left out stays."""

    name: str | None
    scope: DashboardScope | None


class DashboardCopyBody(TypedDict, total=False):
    """A copy to make."""

    name: Required[str]


class OwnerBody(TypedDict, total=False):
    """The member whom a sandbox is given to, by id, name or email."""

    member: Required[str]


class Dashboards:
    """The dashboards that the caller may see. Every method raises the classes of
    `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, *, query: Pairs = ()) -> DashboardList:
        """Return the dashboards that the caller may see: own ones, those that name them or a
        group of theirs, and those shared in the organization."""
        return self._transport.read_all(DashboardList, get("dashboards", query=query))

    def create(self, body: DashboardBody) -> Dashboard:
        """Make a dashboard."""
        return self._transport.read(Dashboard, post("dashboards", value=body))

    def change(self, dashboard_id: str, body: DashboardChangeBody) -> Dashboard:
        """Rename a dashboard, or say who sees it."""
        return self._transport.read(Dashboard, patch("dashboards", dashboard_id, value=body))

    def delete(self, dashboard_id: str) -> None:
        """Delete a dashboard; `…/restore` undoes it for seven days. Its sandboxes stay."""
        self._transport.call(Call("DELETE", api_path("dashboards", dashboard_id)))

    def restore(self, dashboard_id: str) -> Dashboard:
        """Undo a deletion."""
        return self._transport.read(Dashboard, post("dashboards", dashboard_id, "restore"))

    def share(self, dashboard_id: str, subject: str, role: DashboardRole) -> DashboardPeople:
        """Give a person (by id) or a group (`group:<name>`) a role. Open connections follow at
        once."""
        return self._transport.read(
            DashboardPeople,
            put("dashboards", dashboard_id, "people", subject, value=omit_absent(role=role)),
        )

    def unshare(self, dashboard_id: str, subject: str) -> None:
        """Take a role away; open connections close at once."""
        self._transport.call(
            Call("DELETE", api_path("dashboards", dashboard_id, "people", subject))
        )

    def give(self, dashboard_id: str, member: str) -> None:
        """Give the dashboard to another member. Its owner may, and an administrator once the
        owner is gone. Its home sandbox stays the former owner's, and is linked."""
        self._transport.call(
            post("dashboards", dashboard_id, "owner", value=omit_absent(member=member))
        )

    def waiting(self, ref: str | None, *, query: Pairs = ()) -> WaitingDashboardList:
        """Return the dashboards whose owner is gone and that nobody else edits. An administrator
        gives them to somebody; the others are removed after two weeks."""
        own = organization_of(self._transport, ref)
        return self._transport.read_all(
            WaitingDashboardList, get("organizations", own, "waiting-dashboards", query=query)
        )

    def make_link(self, dashboard_id: str, body: DashboardShareBody) -> DashboardShareMade:
        """Make a link for looking at the dashboard, or for editing it."""
        return self._transport.read(
            DashboardShareMade, post("dashboards", dashboard_id, "shares", value=body)
        )

    def links(self, dashboard_id: str) -> DashboardShareList:
        """Return the dashboard's valid links, without their secrets."""
        return self._transport.read(DashboardShareList, get("dashboards", dashboard_id, "shares"))

    def revoke_link(self, dashboard_id: str, share_id: str) -> None:
        """Revoke a link; connections of its guests are closed at once."""
        self._transport.call(
            Call("DELETE", api_path("dashboards", dashboard_id, "shares", share_id))
        )
