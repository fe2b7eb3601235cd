"""Routes of pools, for administrators of an organization."""

from atoll.domain.pools.pool import DEFAULT_IDLE_SECONDS, PoolSize
from atoll.services.hosts.pools import PoolReport
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.hosts import pools as api
from atoll.wire.api.hosts.pools import Pools

operations = Operations()


@operations.serves(Pools.list)
async def list_pools(context: RequestContext) -> api.PoolList:
    pools = await context.atoll.backends.pools.pools.list(context.caller)
    return api.PoolList(pools=[_view(each) for each in pools])


@operations.serves(Pools.get)
async def get_pool(context: RequestContext, profile: str) -> api.PoolView:
    return _view(await context.atoll.backends.pools.pools.get(context.caller, profile))


@operations.serves(Pools.set)
async def set_pool(context: RequestContext, profile: str, body: api.PoolBody) -> api.PoolView:
    idle = DEFAULT_IDLE_SECONDS if body.idle is None else int(body.idle)
    size = PoolSize(body.min, body.max, idle)
    return _view(await context.atoll.backends.pools.pools.set(context.caller, profile, size))


@operations.serves(Pools.remove)
async def remove_pool(context: RequestContext, profile: str) -> None:
    await context.atoll.backends.pools.pools.remove(context.caller, profile)


def _view(report: PoolReport) -> api.PoolView:
    pool = report.pool
    return answer_of(
        api.PoolView,
        pool,
        min=pool.size.minimum,
        max=pool.size.maximum,
        idle=pool.size.idle_seconds,
        ready=report.ready,
        building=report.building,
        trouble=pool.trouble or None,
    )
