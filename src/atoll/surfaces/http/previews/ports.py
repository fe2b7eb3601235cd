"""Routes of ports: those on which something listens, and links that open one in a browser."""

from starlette.requests import Request

from atoll.domain.network.forwarded_port import check_port
from atoll.domain.network.listening import FIRST_EPHEMERAL
from atoll.domain.previews.origin import port_label
from atoll.domain.previews.visit import PortAddress, Visit
from atoll.surfaces.http.previews.origins import PreviewOrigins
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api import previews as api
from atoll.wire.api.previews import Ports
from atoll.wire.contract.ports import list_ports

operations = Operations()


@operations.serves(Ports.list)
async def read_ports(context: RequestContext, sandbox: str) -> api.PortListView:
    found = await context.atoll.runtime_calls.call(context.caller, sandbox, list_ports())
    return api.PortListView(
        ports=[api.PortView(port=one, chosen=one < FIRST_EPHEMERAL) for one in found.ports]
    )


@operations.serves(Ports.link)
async def make_port_link(
    context: RequestContext, sandbox: str, port: int, body: api.LinkBody
) -> api.LinkView:
    shown = await context.atoll.sandboxes.get(context.caller, sandbox)
    address = PortAddress(check_port(port), port_label(port, shown.id), body.path)
    ticket, secret = await context.atoll.previews.visits.link(
        context.caller,
        shown,
        address,
        seconds=int(body.ttl),
        session=context.request.state.session,
    )
    return link_view(context.request, ticket, secret)


@operations.serves(Ports.close)
async def close_port(context: RequestContext, sandbox: str, port: int) -> None:
    shown = await context.atoll.sandboxes.get(context.caller, sandbox)
    await context.atoll.previews.visits.close(context.caller, shown, port)


def link_view(request: Request, ticket: Visit, secret: str) -> api.LinkView:
    """Return a link as the API shows it, once."""
    origins: PreviewOrigins = request.app.state.origins.for_request(request.scope)
    label = ticket.address.label
    return answer_of(
        api.LinkView,
        ticket,
        url=origins.url(label, secret),
        origin=origins.origin(label),
        port=ticket.address.port,
        local_only=origins.local_only,
    )
