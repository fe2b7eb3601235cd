"""A dashboard's share links: make, list and revoke them."""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.fields import ItemId, Seconds
from atoll.wire.api.operation import Answer, Area, Request, operation
from atoll.wire.words.people import DEFAULT_SHARE_SECONDS, MAX_NAME, MAX_SHARES


class DashboardShareBody(Request):
    """A link to make. With `terminals` its guests watch the terminals on the dashboard, too. With
    `edits` they change notes and the like, arrange and comment; with both they type at a terminal
    once somebody gives them control."""

    ttl: Seconds = Seconds(DEFAULT_SHARE_SECONDS)
    name: Annotated[str, Meta(max_length=MAX_NAME)] | None = None
    terminals: bool = False
    edits: bool = False


class DashboardShareView(Answer):
    """A link. `guests` is how many came by it and may still be present, `guest_names` who they
    are."""

    share_id: str
    dashboard_id: str
    terminals: bool
    edits: bool
    name: str
    created_at: str
    expires_at: str
    guests: int
    guest_names: list[str]


class DashboardShareMadeView(DashboardShareView):
    """A link just made: `link` is returned only once, and stored nowhere. `local_only`: no other
    machine can open it."""

    link: str
    local_only: bool


class DashboardShareList(Answer):
    """The valid links of a dashboard."""

    shares: list[DashboardShareView]


class DashboardShares(Area):
    """The share links of dashboards."""

    tag = "dashboards"
    needs = "share.manage"

    @operation(
        "POST /v1/dashboards/{dashboard}/shares",
        name="make_dashboard_share",
        status=201,
        problems=(404, 409, 413),
    )
    def make(self, dashboard: ItemId, body: DashboardShareBody) -> DashboardShareMadeView:
        """Make a link for looking at the dashboard, or for editing it."""

    @operation(
        "GET /v1/dashboards/{dashboard}/shares",
        name="list_dashboard_shares",
        problems=(404,),
        max_items=MAX_SHARES,
    )
    def list(self, dashboard: ItemId) -> DashboardShareList:
        """Return the dashboard's valid links, without their secrets."""

    @operation(
        "DELETE /v1/dashboards/{dashboard}/shares/{share}",
        name="revoke_dashboard_share",
        status=204,
        problems=(404, 409, 413),
    )
    def revoke(self, dashboard: ItemId, share: ItemId) -> None:
        """Revoke a link; connections of its guests are closed at once."""
