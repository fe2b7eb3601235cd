"""Dashboards over the API, as far as a command uses them; their documents are the page's."""

from atoll.client.made.dashboards.dashboards import (
    Dashboard,
    DashboardBody,
    DashboardChangeBody,
    DashboardList,
    DashboardPeople,
    DashboardRole,
    OwnerBody,
    WaitingDashboardList,
)
from atoll.client.made.dashboards.shares import (
    DashboardShareBody,
    DashboardShareList,
    DashboardShareMade,
)
from atoll.client.shapes import Me
from atoll.client.transport import Call, Transport, at, get, patch, post, put
from atoll.domain.errors import Conflict, NotFound

ID_PREFIX = "dsh_"


class Dashboards:
    """The dashboards of the caller. Every method raises the classes of `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> DashboardList:
        """Return the dashboards that the caller may see, newest first."""
        return self._transport.read_all(DashboardList, get("dashboards"))

    def id_of(self, ref: str) -> str:
        """Return the id of a dashboard that is named by its id or its name. Raises `NotFound`, and
        `Conflict` for a name that several have."""
        if ref.startswith(ID_PREFIX):
            return ref
        found = [one.id for one in self.list().dashboards if one.name == ref]
        if not found:
            raise NotFound(f"there is no dashboard {ref!r}: `atoll dashboard list` shows them")
        if len(found) > 1:
            raise Conflict(f"several dashboards are named {ref!r}: use the id", code="ambiguous")
        return found[0]

    def create(self, body: DashboardBody) -> Dashboard:
        """Make a dashboard."""
        return self._transport.read(Dashboard, post("dashboards", value=body))

    def change(self, ref: str, body: DashboardChangeBody) -> Dashboard:
        """Rename a dashboard, or say who sees it."""
        call = patch("dashboards", self.id_of(ref), value=body)
        return self._transport.read(Dashboard, call)

    def share(self, ref: str, subject: str, role: DashboardRole) -> DashboardPeople:
        """Give a person or a group a role."""
        call = put("dashboards", self.id_of(ref), "people", subject, value={"role": role})
        return self._transport.read(DashboardPeople, call)

    def unshare(self, ref: str, subject: str) -> None:
        """Take a role away."""
        path = at("dashboards", self.id_of(ref), "people", subject)
        self._transport.call(Call("DELETE", path))

    def make_link(self, ref: str, body: DashboardShareBody) -> DashboardShareMade:
        """Make a link for people without an account, who may look."""
        call = post("dashboards", self.id_of(ref), "shares", value=body)
        return self._transport.read(DashboardShareMade, call)

    def links(self, ref: str) -> DashboardShareList:
        """Return the valid links."""
        call = get("dashboards", self.id_of(ref), "shares")
        return self._transport.read(DashboardShareList, call)

    def revoke_link(self, ref: str, link: str) -> None:
        """Revoke a link; its guests are gone at once."""
        path = at("dashboards", self.id_of(ref), "shares", link)
        self._transport.call(Call("DELETE", path))

    def delete(self, ref: str) -> str:
        """Delete a dashboard, and return its id."""
        dashboard = self.id_of(ref)
        self._transport.call(Call("DELETE", at("dashboards", dashboard)))
        return dashboard

    def restore(self, dashboard: str) -> Dashboard:
        """Undo a deletion, by the id."""
        return self._transport.read(Dashboard, post("dashboards", dashboard, "restore"))

    def give(self, ref: str, member: str) -> None:
        """Give a dashboard to another member (id, name or email)."""
        body: OwnerBody = {"member": member}
        self._transport.call(post("dashboards", self.id_of(ref), "owner", value=body))

    def waiting(self) -> WaitingDashboardList:
        """Return the dashboards of the caller's organization whose owner is gone and that nobody
        else edits."""
        organization = self._transport.read(Me, get("me")).org_id
        call = get("organizations", organization, "waiting-dashboards")
        return self._transport.read_all(WaitingDashboardList, call)
