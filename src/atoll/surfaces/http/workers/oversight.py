"""Routes of oversight: every worker of an organization, without what its agent says, and the
backends that they are on."""

from typing import Any, Literal

from fastapi import APIRouter
from starlette.responses import Response

from atoll.domain.people.capability import Capability
from atoll.domain.worker.backends import BackendHealth
from atoll.domain.worker.heartbeat import HeartbeatState
from atoll.domain.worker.lifecycle import WorkerStatus
from atoll.domain.worker.selection import backend_of
from atoll.services.overview.worker_oversight import OverseenWorker
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.fields import ItemId, ResponseModel
from atoll.surfaces.http.body.pages import Paged, PageModel, at_most
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems
from atoll.surfaces.http.workers.views import (
    WorkerPlaceView,
    WorkerRemovalView,
    WorkerRouteView,
    WorkerSandboxView,
    WorkerTeardownView,
    worker_view,
)

router = APIRouter(prefix="/v1/organizations/{organization}/workers", tags=["overview"])

MAX_PLACES = 1000


class OverseenWorkerView(ResponseModel):
    """A worker as administrators of its organization see it: whose it is, where and why, and what
    became of it. What its agent says is its owner's alone."""

    worker_id: str
    owner: str
    agent: str
    backend: str | None
    extension: str | None
    status: WorkerStatus
    reason: str | None
    heartbeat_state: HeartbeatState
    heartbeat_age_ms: int
    held_by_person: bool
    sandbox: WorkerSandboxView | None
    route: WorkerRouteView | None
    teardown: WorkerTeardownView
    created_at: str
    remove_at: str | None
    torn_down: WorkerRemovalView | None


class OverseenWorkerPage(PageModel):
    """A page of an organization's workers, newest first."""

    workers: list[OverseenWorkerView]


class BackendHealthView(ResponseModel):
    """A place of workers: `workers` run there now, `lost` were lost in the last day, both of this
    organization. The health is null where nothing was started, and to who does not run the
    installation. `success` is from 0 to 1."""

    placement: WorkerPlaceView
    attempts: int | None
    success: float | None
    p50_ms: int | None
    p95_ms: int | None
    breaker: Literal["closed", "open", "half_open"] | None
    workers: int
    lost: int


class BackendHealthList(ResponseModel):
    """The places of an organization's workers, by name."""

    backends: list[BackendHealthView]


@router.get("", response_model=OverseenWorkerPage, responses=problems(404))
@needs(Capability.ORG_MANAGE)
async def oversee_workers(
    atoll: Atoll, caller: Caller, *, organization: ItemId, page: Paged
) -> Response:
    """Return the workers of an organization, whoever owns them."""
    found = await atoll.overview.workers.page(caller, organization, page.rows())
    return Json(page.of_rows(found, name="workers", view=_view))


@router.get(
    "/backends",
    response_model=BackendHealthList,
    responses=problems(404),
    openapi_extra=at_most(MAX_PLACES),
)
@needs(Capability.ORG_MANAGE)
async def oversee_backends(atoll: Atoll, caller: Caller, *, organization: ItemId) -> Response:
    """Return where workers of an organization run and were lost. Who runs the installation also
    gets how backends fared at each place."""
    found = await atoll.overview.workers.backends(caller, organization)
    return Json({"backends": [_backend(one) for one in found[:MAX_PLACES]]})


def _view(one: OverseenWorker) -> dict[str, Any]:
    told = worker_view(one.shown) | {"owner": one.record.owner}
    return {name: told[name] for name in OverseenWorkerView.model_fields}


def _backend(one: BackendHealth) -> dict[str, Any]:
    health = one.health
    return BackendHealthView.of(
        one,
        placement=WorkerPlaceView.of(one.place, backend=backend_of(one.place.extension)),
        attempts=None if health is None else health.attempts,
        success=None if health is None else health.success,
        p50_ms=None if health is None else health.p50_ms,
        p95_ms=None if health is None else health.p95_ms,
        breaker=None if health is None else health.breaker.value.replace("-", "_"),
    )
