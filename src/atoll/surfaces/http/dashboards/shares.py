"""Routes of a dashboard's share links: make, list and revoke them.

Who comes by one is a guest, who looks at the dashboard and changes nothing. The entrance is that of
all share links: `surfaces.http.people.shares`.
"""

from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import Field
from starlette.responses import Response

from atoll.domain.people.capability import Capability
from atoll.domain.people.share import Guest, Share, ShareRequest
from atoll.surfaces.http.body.answers import Json, no_content
from atoll.surfaces.http.body.fields import Body, ItemId, ResponseModel, Seconds
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.body.pages import at_most
from atoll.surfaces.http.people.links import outside_link
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems
from atoll.wire.words.people import DEFAULT_SHARE_SECONDS, MAX_NAME, MAX_SHARES

router = APIRouter(
    prefix="/v1/dashboards/{dashboard}/shares", tags=["dashboards"], route_class=JsonRoute
)


class DashboardShareBody(Body):
    """A link to make. With `terminals` its guests watch the terminals on the dashboard, too."""

    ttl: Seconds = DEFAULT_SHARE_SECONDS
    name: Annotated[str, Field(max_length=MAX_NAME, strict=True)] | None = None
    terminals: Annotated[bool, Field(strict=True)] = False


class DashboardShareView(ResponseModel):
    """A link. `guests` is how many came by it and may still be present, `guest_names` who they
    are."""

    share_id: str
    dashboard_id: str
    terminals: bool
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


class DashboardShareList(ResponseModel):
    """The valid links of a dashboard."""

    shares: list[DashboardShareView]


_FAILURES: dict[int | str, dict[str, Any]] = problems(404, 409, 413)


@router.post("", status_code=201, response_model=DashboardShareMadeView, responses=_FAILURES)
@needs(Capability.SHARE_MANAGE)
async def make_dashboard_share(
    atoll: Atoll, caller: Caller, *, dashboard: ItemId, body: DashboardShareBody, request: Request
) -> Response:
    """Make a link for looking at the dashboard."""
    share_request = ShareRequest(seconds=int(body.ttl), name=body.name or "")
    share, secret = await atoll.dashboards.shares.create(
        caller, dashboard, share_request, terminals=body.terminals
    )
    link = outside_link(request, f"share={secret}")
    return Json({**_view(share, ()), "link": link.url, "local_only": link.local_only}, 201)


@router.get(
    "",
    response_model=DashboardShareList,
    responses=problems(404),
    openapi_extra=at_most(MAX_SHARES),
)
@needs(Capability.SHARE_MANAGE)
async def list_dashboard_shares(atoll: Atoll, caller: Caller, *, dashboard: ItemId) -> Response:
    """Return the dashboard's valid links, without their secrets."""
    found = await atoll.dashboards.shares.list(caller, dashboard)
    return Json({"shares": [_view(share, guests) for share, guests in found]})


@router.delete("/{share}", status_code=204, responses=_FAILURES)
@needs(Capability.SHARE_MANAGE)
async def revoke_dashboard_share(
    atoll: Atoll, caller: Caller, *, dashboard: ItemId, share: ItemId
) -> Response:
    """Revoke a link; connections of its guests are closed at once."""
    await atoll.dashboards.shares.revoke(caller, dashboard, share)
    return no_content()


def _view(share: Share, guests: tuple[Guest, ...]) -> dict[str, Any]:
    names = [guest.name for guest in guests]
    return DashboardShareView.of(share, share_id=share.id, guests=len(guests), guest_names=names)
