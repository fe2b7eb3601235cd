"""Routes of quotas: one's own beside what one holds, those of an organization, and its bounds."""

import msgspec

from atoll.domain.network.bounds import UNBOUNDED, read_bounds, spelled_bounds
from atoll.domain.network.bounds import NetworkBounds as Bounds
from atoll.domain.quota import Quota, QuotaUsage, read_quota, spelled_quota
from atoll.services.people.quotas import BoundsOfNetworks, Held
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.fields import FIRST_PAGE, Paging
from atoll.wire.api.people import quotas as api
from atoll.wire.api.people.quotas import NetworkBounds, Quotas

operations = Operations()


@operations.serves(Quotas.own)
async def get_quota(context: RequestContext) -> api.QuotaList:
    mine, everybody = await context.atoll.tenancy.quotas.own(context.caller)
    return api.QuotaList(quotas=[_view(everybody), _view(mine)], next=None)


@operations.serves(Quotas.list)
async def list_quotas(
    context: RequestContext, organization: str, *, page: Paging = FIRST_PAGE
) -> api.QuotaList:
    found = await context.atoll.tenancy.quotas.list(context.caller, organization)
    quotas, following = context.page(page).items_and_next(
        found, key=lambda one: one.member or "", view=_view
    )
    return api.QuotaList(quotas=quotas, next=following)


@operations.serves(Quotas.set)
async def set_quota(
    context: RequestContext, organization: str, body: api.QuotaBody
) -> api.HeldQuotaView:
    return await _set(context, organization, member=None, body=body)


@operations.serves(Quotas.set_of_member)
async def set_member_quota(
    context: RequestContext, organization: str, member: str, body: api.QuotaBody
) -> api.HeldQuotaView:
    return await _set(context, organization, member=member, body=body)


async def _set(
    context: RequestContext, organization: str, *, member: str | None, body: api.QuotaBody
) -> api.HeldQuotaView:
    quota = read_quota(msgspec.to_builtins(body))
    quotas = context.atoll.tenancy.quotas
    return _view(await quotas.set(context.caller, organization, member, quota=quota))


def _view(held: Held) -> api.HeldQuotaView:
    return api.HeldQuotaView(
        member=held.member, quota=_quantities(held.quota), used=_quantities(held.usage)
    )


def _quantities(quota: Quota | QuotaUsage) -> api.QuantitiesView:
    return msgspec.convert(spelled_quota(quota), api.QuantitiesView)


@operations.serves(NetworkBounds.get)
async def get_network_bounds(
    context: RequestContext, organization: str
) -> api.BoundsOfNetworksView:
    return _bounds(await context.atoll.tenancy.network_bounds.get(context.caller, organization))


@operations.serves(NetworkBounds.set)
async def set_network_bounds(
    context: RequestContext, organization: str, body: api.NetworkBoundsBody
) -> api.BoundsOfNetworksView:
    fields = msgspec.structs.asdict(body)
    given = {name: value for name, value in fields.items() if value is not None}
    bounds = read_bounds({**spelled_bounds(UNBOUNDED), **given}, field="network") if given else None
    network_bounds = context.atoll.tenancy.network_bounds
    return _bounds(await network_bounds.set(context.caller, organization, bounds))


def _bounds(found: BoundsOfNetworks) -> api.BoundsOfNetworksView:
    own = found.organization
    return api.BoundsOfNetworksView(
        installation=_most(found.installation), organization=None if own is None else _most(own)
    )


def _most(bounds: Bounds) -> api.NetworkBoundsView:
    return msgspec.convert(spelled_bounds(bounds), api.NetworkBoundsView)
