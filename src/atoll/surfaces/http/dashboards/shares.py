"""Routes of a dashboard's share links: make, list and revoke them.

Who comes by one is a guest, who looks at the dashboard, or edits it as far as guests do. The
entrance is that of all share links: `surfaces.http.people.shares`.
"""

from atoll.domain.people.share import Guest, Share, ShareRequest
from atoll.surfaces.http.people.links import outside_link
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.dashboards import shares as api
from atoll.wire.api.dashboards.shares import DashboardShares
from atoll.wire.words.terminals import Role

operations = Operations()


@operations.serves(DashboardShares.make)
async def make_dashboard_share(
    context: RequestContext, dashboard: str, body: api.DashboardShareBody
) -> api.DashboardShareMadeView:
    role = Role.CONTROLLER if body.edits else Role.VIEWER
    request = ShareRequest(role=role, seconds=int(body.ttl), name=body.name or "")
    share, secret = await context.atoll.dashboards.shares.create(
        context.caller, dashboard, request, terminals=body.terminals
    )
    link = outside_link(context.request, f"share={secret}")
    return answer_of(
        api.DashboardShareMadeView,
        share,
        share_id=share.id,
        guests=0,
        guest_names=[],
        link=link.url,
        local_only=link.local_only,
    )


@operations.serves(DashboardShares.list)
async def list_dashboard_shares(context: RequestContext, dashboard: str) -> api.DashboardShareList:
    found = await context.atoll.dashboards.shares.list(context.caller, dashboard)
    return api.DashboardShareList(shares=[_view(share, guests) for share, guests in found])


@operations.serves(DashboardShares.revoke)
async def revoke_dashboard_share(context: RequestContext, dashboard: str, share: str) -> None:
    await context.atoll.dashboards.shares.revoke(context.caller, dashboard, share)


def _view(share: Share, guests: tuple[Guest, ...]) -> api.DashboardShareView:
    names = [guest.name for guest in guests]
    return answer_of(
        api.DashboardShareView,
        share,
        share_id=share.id,
        guests=len(guests),
        guest_names=names,
    )
