"""Routes of hosts: the machines that sandboxes are placed on, for administrators."""

from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field, StrictBool, StrictInt
from starlette.responses import Response

from atoll.domain.host.host import MAX_HOSTS, Capacity, HostKind, HostState, HourlyCost
from atoll.domain.host.reading import (
    MAX_CORES,
    MAX_COUNT,
    MAX_LABELS,
    MAX_MEMORY_MB,
    MAX_OVERCOMMIT,
    fingerprint,
)
from atoll.domain.people.capability import Capability
from atoll.services.hosts.evacuation import Evacuation
from atoll.services.hosts.hosts import HostReport, HostTraits, NewHost
from atoll.surfaces.http.body.answers import Json, no_content
from atoll.surfaces.http.body.fields import Address, Body, ItemId, ResponseModel, Word
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.body.pages import at_most
from atoll.surfaces.http.body.route_body import CostBody
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

router = APIRouter(prefix="/v1/hosts", tags=["hosts"], route_class=JsonRoute)

MAX_KEY = 8000
_Text = Annotated[str, Field(max_length=200, strict=True)]
_Cores = Annotated[float, Field(ge=0, le=MAX_CORES, allow_inf_nan=False, strict=True)]
_Factor = Annotated[float, Field(ge=1, le=MAX_OVERCOMMIT, allow_inf_nan=False, strict=True)]
_Labels = Annotated[dict[Word, Word], Field(max_length=MAX_LABELS)]


class CapacityBody(Body):
    """The room for sandboxes that run; what is left out or null is not limited."""

    sandboxes: Annotated[StrictInt, Field(ge=0, le=MAX_COUNT)] | None = None
    cpu: _Cores | None = None
    memory_mb: Annotated[StrictInt, Field(ge=0, le=MAX_MEMORY_MB)] | None = None


class HostChangeBody(Body):
    """A change of what is said of a host; what is left out stays. `organization` and `profile`
    dedicate it to them, and an empty text ends that."""

    region: _Text | None = None
    labels: _Labels | None = None
    capacity: CapacityBody | None = None
    overcommit: _Factor | None = None
    cost_per_hour: CostBody | None = None
    organization: _Text | None = None
    profile: _Text | None = None

    def traits(self) -> HostTraits:
        """Return the domain's value."""
        capacity, cost = self.capacity, self.cost_per_hour
        return HostTraits(
            region=self.region,
            labels=None if self.labels is None else tuple(self.labels.items()),
            capacity=None if capacity is None else Capacity(**capacity.model_dump()),
            overcommit=self.overcommit,
            cost_per_hour=None if cost is None else HourlyCost(cost.micros, cost.currency),
            organization=self.organization,
            profile=self.profile,
        )


class HostBody(HostChangeBody):
    """A host that SSH reaches, as `ssh://user@host[:port]`. With `host_key` that key is pinned;
    with `fingerprint` the machine must show a key that has it; else the key it shows is pinned."""

    address: Address
    name: Word | None = None
    host_key: Annotated[str, Field(min_length=1, max_length=MAX_KEY, strict=True)] | None = None
    fingerprint: Word | None = None


class HostRoomView(ResponseModel):
    """The room of a host, or the room that is taken; null is not limited."""

    sandboxes: int | None
    cpu: float | None
    memory_mb: int | None


class HostCostView(ResponseModel):
    """A price of an hour, in millionths of a currency."""

    micros: int
    currency: str


class HostView(ResponseModel):
    """A host. `used` is the room that running sandboxes take, `kept` the number of those that take
    none. `overcommit` multiplies the cores and the memory of `capacity`."""

    host_id: str
    name: str
    kind: HostKind
    address: str
    fingerprint: str | None
    region: str
    labels: dict[str, str]
    capacity: HostRoomView
    overcommit: float
    cost_per_hour: HostCostView | None
    organization: str | None
    profile: str | None
    state: HostState
    used: HostRoomView
    kept: int


class AddedHostView(HostView):
    """A new host, and the line that `~/.ssh/authorized_keys` of its user needs."""

    authorized_key: str


class TrustBody(Body):
    """The fingerprint of the shown key that is to be pinned. Without one nothing changes."""

    fingerprint: str | None = None


class HostTrustView(ResponseModel):
    """The fingerprint of the key that is pinned for a host, and of the keys that it shows now."""

    name: str
    pinned: str
    shown: list[str]


class DrainBody(Body):
    """A drain. With `evacuate` the stopped sandboxes of the host move to other hosts."""

    evacuate: StrictBool = False


class MovingView(ResponseModel):
    """A sandbox whose files go to another host."""

    sandbox_id: str
    name: str
    to: str


class StayingView(ResponseModel):
    """A sandbox that stays, and why."""

    sandbox_id: str
    name: str
    reason: str


class EvacuationView(ResponseModel):
    """The sandboxes that the host had. Those that move do so from now on."""

    moving: list[MovingView]
    staying: list[StayingView]


class DrainedHostView(HostView):
    """A drained host. `evacuation` is null where none was asked for."""

    evacuation: EvacuationView | None


class HostList(ResponseModel):
    """Every host, by name."""

    hosts: list[HostView]


class HostCheckView(ResponseModel):
    """Result of a look at a host. `key_unchanged` is null where no key is compared; `problems`
    prevent sandboxes there, `lacks` are what they do without."""

    reachable: bool
    key_unchanged: bool | None
    wall: bool
    problems: list[str]
    lacks: list[str]


_FAILURES: dict[int | str, dict[str, Any]] = problems(404, 409, 413)


@router.get("", response_model=HostList, responses=problems(), openapi_extra=at_most(MAX_HOSTS + 1))
@needs(Capability.SYSTEM_MANAGE)
async def list_hosts(atoll: Atoll, caller: Caller) -> Response:
    """Return every host, with the room that is taken on it."""
    del caller
    return Json({"hosts": [_view(one) for one in await atoll.backends.hosts.list()]})


@router.post("", status_code=201, response_model=AddedHostView, responses=problems(409, 413, 503))
@needs(Capability.SYSTEM_MANAGE)
async def add_host(atoll: Atoll, caller: Caller, body: HostBody) -> Response:
    """Add a host and pin its key. A name that is pinned to another key is refused."""
    new = NewHost(body.address, body.name, body.host_key, body.fingerprint, body.traits())
    report, line = await atoll.backends.hosts.add(caller, new)
    return Json({**_view(report), "authorized_key": line}, 201)


@router.get("/{host}", response_model=HostView, responses=problems(404))
@needs(Capability.SYSTEM_MANAGE)
async def get_host(atoll: Atoll, caller: Caller, host: ItemId) -> Response:
    """Return a host, by its name or its id."""
    del caller
    return Json(_view(await atoll.backends.hosts.get(host)))


@router.patch("/{host}", response_model=HostView, responses=_FAILURES)
@needs(Capability.SYSTEM_MANAGE)
async def change_host(
    atoll: Atoll, caller: Caller, *, host: ItemId, body: HostChangeBody
) -> Response:
    """Change what is said of a host. What it holds beyond a new capacity stays."""
    return Json(_view(await atoll.backends.hosts.change(caller, host, body.traits())))


@router.delete("/{host}", status_code=204, responses=_FAILURES)
@needs(Capability.SYSTEM_MANAGE)
async def remove_host(atoll: Atoll, caller: Caller, host: ItemId) -> Response:
    """Forget a host, which no sandbox may be on. Nothing is removed there."""
    await atoll.backends.hosts.remove(caller, host)
    return no_content()


@router.post("/{host}/check", response_model=HostCheckView, responses=problems(404, 503))
@needs(Capability.SYSTEM_MANAGE)
async def check_host(atoll: Atoll, caller: Caller, host: ItemId) -> Response:
    """Look at a host now: its key, its wall, and what it lacks."""
    del caller
    return Json(HostCheckView.of(await atoll.backends.hosts.check(host)))


@router.post("/{host}/trust", response_model=HostTrustView, responses=problems(404, 409, 413, 503))
@needs(Capability.SYSTEM_MANAGE)
async def trust_host(
    atoll: Atoll, caller: Caller, *, host: ItemId, body: TrustBody | None = None
) -> Response:
    """Return the pinned and the shown fingerprints of a host, and pin the shown key that is named.
    Sandboxes on it are reached by it from then on."""
    wanted = None if body is None else body.fingerprint
    return Json(HostTrustView.of(await atoll.backends.hosts.trust(caller, host, wanted)))


@router.post("/{host}/drain", response_model=DrainedHostView, responses=problems(404, 413))
@needs(Capability.SYSTEM_MANAGE)
async def drain_host(
    atoll: Atoll, caller: Caller, *, host: ItemId, body: DrainBody | None = None
) -> Response:
    """Have a host take no new sandbox. Those on it go on, and may be started again. With `evacuate`
    stopped ones move to other hosts, and the answer says which."""
    hosts = atoll.backends.hosts
    if body is None or not body.evacuate:
        return Json({**_view(await hosts.drain(caller, host)), "evacuation": None})
    report, evacuation = await hosts.evacuate(caller, host)
    return Json({**_view(report), "evacuation": _evacuation(evacuation)})


@router.post("/{host}/undrain", response_model=HostView, responses=problems(404))
@needs(Capability.SYSTEM_MANAGE)
async def undrain_host(atoll: Atoll, caller: Caller, host: ItemId) -> Response:
    """Have a host take sandboxes again."""
    return Json(_view(await atoll.backends.hosts.undrain(caller, host)))


def _evacuation(found: Evacuation) -> dict[str, Any]:
    return EvacuationView.of(
        found, moving=[MovingView.of(one, to=one.target) for one in found.moving]
    )


def _view(report: HostReport) -> dict[str, Any]:
    host = report.host
    return HostView.of(
        host,
        host_id=host.id,
        fingerprint=fingerprint(host.host_key) if host.host_key else None,
        labels=dict(host.labels),
        used=HostRoomView.of(report.load),
        kept=report.kept,
    )
