"""Routes of a sandbox's network and safety layers: its rules, and changes while it lives."""

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field, StrictInt
from starlette.responses import Response

from atoll.domain.network.bounds import Withheld
from atoll.domain.network.egress import EgressRule
from atoll.domain.network.switch import NetworkChange, rules_of
from atoll.domain.people.capability import Capability
from atoll.domain.sandbox.safety_layers import Layer, Part, layers_of, wall_of
from atoll.domain.sandbox.sandbox import Sandbox
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.fields import Body, ResponseModel, Word
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.server.context import Atoll, CallerSandbox
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems
from atoll.wire.words.networks import NetworkMode

router = APIRouter(prefix="/v1/sandboxes", tags=["networks"], route_class=JsonRoute)

Rules = Annotated[list[Word], Field(max_length=200)]
Port = Annotated[StrictInt, Field(ge=1, le=65535)]


class WithheldView(ResponseModel):
    """A value of the network that is not in force: it is beyond a bound, and `whose` that is."""

    field: str
    text: str
    whose: str


class NetworkView(ResponseModel):
    """The destinations that a sandbox may reach.

    All of it is in force: what a bound of the installation or the organization takes away is
    `withheld`. `egress` is the profile's, `allowed` and `denied` the owner's; `rules` is their
    result, presets expanded. Denied hosts take precedence.
    """

    mode: NetworkMode
    egress: list[str]
    allowed: list[str]
    denied: list[str]
    host_ports: list[int]
    ranges: list[str]
    ports: list[int]
    out_mb_per_hour: int | None
    in_mb_per_hour: int | None
    rules: list[EgressRule]
    withheld: list[WithheldView]


class NetworkBody(Body):
    """The changes; what is left out stays.

    `allow` and `deny` are added, `forget` removes what was allowed or denied before; ports and
    ranges are set whole.
    """

    mode: NetworkMode | None = None
    allow: Rules = Field(default_factory=list)
    deny: Rules = Field(default_factory=list)
    forget: Rules = Field(default_factory=list)
    host_ports: Annotated[list[Port], Field(max_length=64)] | None = None
    ranges: Annotated[list[Word], Field(max_length=64)] | None = None


class SafetyView(ResponseModel):
    """The six layers, the wall in front of them (once it ran), and its missing parts."""

    layers: list[Layer]
    wall: list[Part]
    degraded: list[str]


@router.get("/{sandbox}/network", response_model=NetworkView, responses=problems(404))
@needs(Capability.SANDBOX_READ)
async def get_network(atoll: Atoll, at: CallerSandbox) -> Response:
    """Return the network of a sandbox."""
    return Json(_view(*await atoll.sandboxes.network_in_force(*at)))


@router.put(
    "/{sandbox}/network", response_model=NetworkView, responses=problems(403, 404, 409, 413)
)
@needs(Capability.SANDBOX_MANAGE)
async def switch_network(atoll: Atoll, at: CallerSandbox, *, body: NetworkBody) -> Response:
    """Change the network while the sandbox lives; connections that are no longer allowed are closed
    at once."""
    change = NetworkChange(
        mode=body.mode,
        allow=tuple(body.allow),
        deny=tuple(body.deny),
        forget=tuple(body.forget),
        host_ports=None if body.host_ports is None else tuple(body.host_ports),
        ranges=None if body.ranges is None else tuple(body.ranges),
    )
    await atoll.sandboxes.switch_network(*at, change)
    return Json(_view(*await atoll.sandboxes.network_in_force(*at)))


@router.get("/{sandbox}/safety", response_model=SafetyView, responses=problems(404))
@needs(Capability.SANDBOX_READ)
async def get_safety(atoll: Atoll, at: CallerSandbox) -> Response:
    """Return the safety layers in force."""
    found, _ = await atoll.sandboxes.network_in_force(*at)
    isolation = found.attachment.isolation
    return Json(
        {
            "layers": layers_of(found),
            "wall": wall_of(found),
            "degraded": isolation.degraded if isolation else [],
        }
    )


def _view(sandbox: Sandbox, withheld: Withheld) -> dict[str, Any]:
    network = sandbox.profile.network
    told = [{"field": one.field, "text": one.value, "whose": whose} for one, whose in withheld]
    return NetworkView.of(network, rules=rules_of(network), withheld=told)
