"""Dashboards over the API, as far as a command uses them; their documents are the page's."""

from typing import Literal, Required, TypedDict

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.organizations import OwnerBody
from atoll.client.shapes import Me
from atoll.client.transport import Call, Transport, at, get, patch, post, put
from atoll.domain.errors import Conflict, NotFound

DashboardRole = Literal["owner", "editor", "viewer"]
DashboardScope = Literal["private", "shared"]
ID_PREFIX = "dsh_"


class DashboardBody(TypedDict, total=False):
    """A dashboard to make."""

    name: Required[str]
    scope: DashboardScope
    template: str


class DashboardChangeBody(TypedDict, total=False):
    """A change of a dashboard."""

    name: str | None
    scope: DashboardScope | None


class Dashboard(Shape):
    """A dashboard, and the caller's role on it."""

    id = fields.text()
    name = fields.text()
    owner = fields.text()
    scope: Field[DashboardScope] = fields.word()
    role: Field[DashboardRole] = fields.word()
    sandbox_id = fields.text()
    updated_at = fields.text()
    items = fields.number()


class DashboardList(Shape):
    """The dashboards that the caller may see."""

    dashboards = fields.many(Dashboard)


class DashboardPerson(Shape):
    """A person or group with a role on a dashboard."""

    subject = fields.text()
    role: Field[DashboardRole] = fields.word()


class DashboardPeople(Shape):
    """The people and groups with a role."""

    people = fields.many(DashboardPerson)


class DashboardShareBody(TypedDict, total=False):
    """A share link to make."""

    ttl: int | str
    name: str | None
    terminals: bool


class DashboardShare(Shape):
    """A share link, without its secret."""

    share_id = fields.text()
    terminals = fields.flag()
    guests = fields.number()
    guest_names = fields.texts()
    expires_at = fields.text()
    name = fields.text()


class DashboardShareMade(DashboardShare):
    """A share link just made; no other answer has `link`. `local_only`: only this machine can open
    it."""

    link = fields.text()
    local_only = fields.flag()


class DashboardShareList(Shape):
    """The share links of a dashboard."""

    shares = fields.many(DashboardShare)


class WaitingDashboard(Shape):
    """A dashboard whose owner is gone."""

    id = fields.text()
    name = fields.text()
    owner = fields.text()
    updated_at = fields.text()
    items = fields.number()
    removed_at = fields.text()


class WaitingDashboardList(Shape):
    """The dashboards that wait for a new owner."""

    dashboards = fields.many(WaitingDashboard)


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
