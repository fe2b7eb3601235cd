"""Routes of oversight: every worker of an organization, without what its agent says, and the
backends that they are on."""

from atoll.domain.workers.backends import BackendHealth
from atoll.domain.workers.selection import backend_of
from atoll.services.overview.worker_oversight import OverseenWorker
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.surfaces.http.workers.views import worker_view
from atoll.wire.api.fields import FIRST_PAGE, Paging
from atoll.wire.api.workers import oversight as api
from atoll.wire.api.workers.oversight import WorkerOversight
from atoll.wire.api.workers.workers import WorkerPlaceView
from atoll.wire.words.workers import MAX_WORKER_PLACES

operations = Operations()


@operations.serves(WorkerOversight.workers)
async def oversee_workers(
    context: RequestContext, organization: str, *, page: Paging = FIRST_PAGE
) -> api.OverseenWorkerPage:
    asked = context.page(page)
    overview = context.atoll.overview.workers
    found = await overview.page(context.caller, organization, asked.rows())
    workers, following = asked.rows_and_next(found, _view)
    return api.OverseenWorkerPage(workers=workers, next=following)


@operations.serves(WorkerOversight.backends)
async def oversee_backends(context: RequestContext, organization: str) -> api.BackendHealthList:
    found = await context.atoll.overview.workers.backends(context.caller, organization)
    return api.BackendHealthList(backends=[_backend(one) for one in found[:MAX_WORKER_PLACES]])


def _view(one: OverseenWorker) -> api.OverseenWorkerView:
    return answer_of(api.OverseenWorkerView, worker_view(one.shown), owner=one.record.owner)


def _backend(one: BackendHealth) -> api.BackendHealthView:
    health = one.health
    place = answer_of(WorkerPlaceView, one.place, backend=backend_of(one.place.extension))
    return answer_of(
        api.BackendHealthView,
        one,
        placement=place,
        attempts=None if health is None else health.attempts,
        success=None if health is None else health.success,
        p50_ms=None if health is None else health.p50_ms,
        p95_ms=None if health is None else health.p95_ms,
        breaker=None if health is None else health.breaker.value.replace("-", "_"),
    )
