"""Routes of quotas: one's own beside what one holds, those of an organization, and its bounds."""

from typing import Annotated

from fastapi import APIRouter
from pydantic import Field
from starlette.responses import Response

from atoll.domain.network.bounds import UNBOUNDED, read_bounds, spelled_bounds
from atoll.domain.people.capability import Capability
from atoll.domain.quota import read_quota, spelled_quota
from atoll.services.people.quotas import BoundsOfNetworks, Held
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.fields import Body, ItemId, ResponseModel, Word
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.body.pages import Paged, PageModel, at_most
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

own = APIRouter(prefix="/v1/quota", tags=["organizations"])
router = APIRouter(
    prefix="/v1/organizations/{organization}/quotas",
    tags=["organizations"],
    route_class=JsonRoute,
)

bounds_router = APIRouter(
    prefix="/v1/organizations/{organization}/network",
    tags=["organizations"],
    route_class=JsonRoute,
)

Count = Annotated[int, Field(ge=0, strict=True)]
Entries = Annotated[list[Word], Field(max_length=64)]
Quantity = Annotated[str, Field(min_length=1, max_length=20, strict=True)]


class QuotaBody(Body):
    """A quota; what is left out or null is not limited."""

    sandboxes: Count | None = None
    concurrent_sessions: Annotated[Count | None, Field(alias="concurrentSessions")] = None
    cpu: Quantity | None = None
    memory: Quantity | None = None
    storage: Quantity | None = None


class QuantitiesView(ResponseModel):
    """Quantities: cores, and sizes in `Mi`, `Gi` or `Ti`; null is not limited."""

    sandboxes: int | None
    concurrent_sessions: Annotated[int | None, Field(alias="concurrentSessions")]
    cpu: str | None
    memory: str | None
    storage: str | None


class NetworkBoundsBody(Body):
    """The most that networks of the organization's sandboxes may open; what is left out or null is
    not bounded by it. Ports are such as `5432` or `8000-8100`."""

    full: Annotated[bool | None, Field(strict=True)] = None
    host_ports: Entries | None = None
    ranges: Entries | None = None
    ports: Entries | None = None
    egress: Entries | None = None
    open_network: Annotated[bool | None, Field(strict=True)] = None


class NetworkBoundsView(ResponseModel):
    """The most that a network may open. `egress` are rules, `*` every public name."""

    full: bool
    host_ports: list[str]
    ranges: list[str]
    ports: list[str]
    egress: list[str]
    open_network: bool


class BoundsOfNetworksView(ResponseModel):
    """The bounds of the installation for the caller's sandboxes, and the organization's; null where
    it takes nothing away."""

    installation: NetworkBoundsView
    organization: NetworkBoundsView | None


class HeldQuotaView(ResponseModel):
    """A quota beside what is held; `member` is null for the organization's."""

    member: str | None
    quota: QuantitiesView
    used: QuantitiesView


class QuotaList(PageModel):
    """Quotas: the organization's first."""

    quotas: list[HeldQuotaView]


@own.get("", response_model=QuotaList, responses=problems(), openapi_extra=at_most(2))
@needs(Capability.ORG_READ)
async def get_quota(atoll: Atoll, caller: Caller) -> Response:
    """Return the caller's quota and the organization's, with what is held of each."""
    mine, everybody = await atoll.tenancy.quotas.own(caller)
    return Json({"quotas": [_view(everybody), _view(mine)], "next": None})


@router.get("", response_model=QuotaList, responses=problems(404))
@needs(Capability.ORG_MANAGE)
async def list_quotas(
    atoll: Atoll, caller: Caller, organization: ItemId, *, page: Paged
) -> Response:
    """Return the organization's quota, and those of members that have one."""
    found = await atoll.tenancy.quotas.list(caller, organization)
    return Json(page.of(found, name="quotas", key=lambda one: one.member or "", view=_view))


@router.put("", response_model=HeldQuotaView, responses=problems(404, 413))
@needs(Capability.ORG_MANAGE)
async def set_quota(
    atoll: Atoll, caller: Caller, organization: ItemId, *, body: QuotaBody
) -> Response:
    """Replace the quota of the organization. What is held beyond it stays; nothing new begins."""
    return await _set(atoll, caller, organization, member=None, body=body)


@router.put("/{member}", response_model=HeldQuotaView, responses=problems(404, 413))
@needs(Capability.ORG_MANAGE)
async def set_member_quota(
    atoll: Atoll, caller: Caller, organization: ItemId, *, member: ItemId, body: QuotaBody
) -> Response:
    """Replace the quota of a member."""
    return await _set(atoll, caller, organization, member=member, body=body)


async def _set(
    atoll: Atoll, caller: Caller, organization: str, *, member: str | None, body: QuotaBody
) -> Response:
    quota = read_quota(body.model_dump(by_alias=True))
    return Json(_view(await atoll.tenancy.quotas.set(caller, organization, member, quota=quota)))


def _view(held: Held) -> dict[str, object]:
    return {
        "member": held.member,
        "quota": spelled_quota(held.quota),
        "used": spelled_quota(held.usage),
    }


@bounds_router.get("", response_model=BoundsOfNetworksView, responses=problems(404))
@needs(Capability.ORG_READ)
async def get_network_bounds(atoll: Atoll, caller: Caller, organization: ItemId) -> Response:
    """Return what networks of the caller's sandboxes may open."""
    return Json(_bounds_view(await atoll.tenancy.network_bounds.get(caller, organization)))


@bounds_router.put("", response_model=BoundsOfNetworksView, responses=problems(404, 413))
@needs(Capability.ORG_MANAGE)
async def set_network_bounds(
    atoll: Atoll, caller: Caller, organization: ItemId, *, body: NetworkBoundsBody
) -> Response:
    """Replace the organization's bounds of networks, which take away from the installation's. An
    empty object removes them. What runs is narrowed at once."""
    given = body.model_dump(exclude_none=True)
    bounds = read_bounds({**spelled_bounds(UNBOUNDED), **given}, field="network") if given else None
    return Json(_bounds_view(await atoll.tenancy.network_bounds.set(caller, organization, bounds)))


def _bounds_view(found: BoundsOfNetworks) -> dict[str, object]:
    own = found.organization
    return {
        "installation": spelled_bounds(found.installation),
        "organization": None if own is None else spelled_bounds(own),
    }
