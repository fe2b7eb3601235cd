"""Dashboards: make, find, rename, copy, delete and restore them; their people and owners.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal, Required, TypedDict

from atoll.client import fields
from atoll.client.fields import Field, Shape

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


class DashboardRoleBody(TypedDict, total=False):
    """A role of a person or group: `editor` or `viewer`."""

    role: Required[DashboardRole]


class OwnerBody(TypedDict, total=False):
    """The member whom a sandbox is given to, by id, name or email."""

    member: Required[str]
