"""Routes of ports: those on which something listens, and links that open one in a browser."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from pydantic import Field
from starlette.responses import Response

from atoll.domain.network.forwarded_port import check_port
from atoll.domain.network.listening import FIRST_EPHEMERAL, MAX_PORTS
from atoll.domain.people.capability import Capability
from atoll.domain.preview.origin import port_label
from atoll.domain.preview.visit import LINK_SECONDS, MAX_PATH, PortAddress, Visit
from atoll.surfaces.http.body.answers import Json, no_content
from atoll.surfaces.http.body.fields import Body, ResponseModel, Seconds
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.body.pages import at_most
from atoll.surfaces.http.previews.origins import PreviewOrigins
from atoll.surfaces.http.server.context import Atoll, CallerSandbox
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems
from atoll.wire.contract.ports import list_ports

router = APIRouter(prefix="/v1/sandboxes/{sandbox}/ports", tags=["previews"], route_class=JsonRoute)

Port = Annotated[int, Path(description="A port of the sandbox's loopback.", ge=1, le=65535)]


class LinkBody(Body):
    """A link to make: where it leads at its origin, and how long it may wait for its one use."""

    path: Annotated[str, Field(min_length=1, max_length=MAX_PATH, strict=True)] = "/"
    ttl: Seconds = LINK_SECONDS


class LinkView(ResponseModel):
    """A link just made, which is good for one use and stored nowhere. `origin` is the origin that
    it opens. `local_only`: no other machine can open it."""

    url: str
    origin: str
    port: int
    expires_at: str
    local_only: bool


class PortView(ResponseModel):
    """A port on which something listens. `chosen`: its program chose the number itself."""

    port: int
    chosen: bool


class PortListView(ResponseModel):
    """The ports of a sandbox on which something listens, in order."""

    ports: list[PortView]


_FAILURES: dict[int | str, dict[str, Any]] = problems(404, 409, 502)


@router.get("", response_model=PortListView, responses=_FAILURES, openapi_extra=at_most(MAX_PORTS))
@needs(Capability.SANDBOX_READ)
async def read_ports(atoll: Atoll, at: CallerSandbox) -> Response:
    """Return the ports inside on which something listens, without the sandbox's doors."""
    found = await atoll.runtime_calls.call(*at, list_ports())
    return Json({"ports": [{"port": one, "chosen": one < FIRST_EPHEMERAL} for one in found.ports]})


@router.post("/{port}/links", status_code=201, response_model=LinkView, responses=_FAILURES)
@needs(Capability.EXEC_USE)
async def make_port_link(
    atoll: Atoll, at: CallerSandbox, *, port: Port, body: LinkBody, request: Request
) -> Response:
    """Make a link that opens a port in one browser, at an origin of its own."""
    sandbox = await atoll.sandboxes.get(*at)
    address = PortAddress(check_port(port), port_label(port, sandbox.id), body.path)
    ticket, secret = await atoll.previews.visits.link(
        at[0], sandbox, address, seconds=int(body.ttl), session=request.state.session
    )
    return Json(link_view(request, ticket, secret), 201)


@router.delete("/{port}/links", status_code=204, responses=problems(404))
@needs(Capability.EXEC_USE)
async def close_port(atoll: Atoll, at: CallerSandbox, *, port: Port) -> Response:
    """End the links to a port, and the pages that came by them, within 5 seconds. Who manages the
    sandbox ends everybody's, others their own."""
    await atoll.previews.visits.close(at[0], await atoll.sandboxes.get(*at), port)
    return no_content()


def link_view(request: Request, ticket: Visit, secret: str) -> dict[str, Any]:
    """Return a link as the API shows it, once."""
    origins: PreviewOrigins = request.app.state.origins.for_request(request.scope)
    label = ticket.address.label
    return LinkView.of(
        ticket,
        url=origins.url(label, secret),
        origin=origins.origin(label),
        port=ticket.address.port,
        local_only=origins.local_only,
    )
