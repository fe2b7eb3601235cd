"""A dashboard's share links: make, list and revoke them.

Made from the declarations of the API by `scripts/client`.
"""

from typing import TypedDict

from atoll.client import fields
from atoll.client.fields import Shape


class DashboardShare(Shape):
    """A link. `guests` is how many came by it and may still be present, `guest_names` who they
    are."""

    share_id = fields.text()
    dashboard_id = fields.text()
    terminals = fields.flag()
    edits = fields.flag()
    name = fields.text()
    created_at = fields.text()
    expires_at = fields.text()
    guests = fields.number()
    guest_names = fields.texts()


class DashboardShareMade(DashboardShare):
    """A link just made: `link` is returned only once, and stored nowhere. `local_only`: no other
    machine can open it."""

    link = fields.text()
    local_only = fields.flag()


class DashboardShareList(Shape):
    """The valid links of a dashboard."""

    shares = fields.many(DashboardShare)


class DashboardShareBody(TypedDict, total=False):
    """A link to make. With `terminals` its guests watch the terminals on the dashboard, too.
    With `edits` they change notes and the like, arrange and comment; with both they type at a
    terminal once somebody gives them control."""

    ttl: int | str
    name: str | None
    terminals: bool
    edits: bool
