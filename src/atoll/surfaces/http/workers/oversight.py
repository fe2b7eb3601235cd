"""Routes of oversight: every worker of an organization, without what its agent says."""

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from atoll.domain.people.capability import Capability
from atoll.domain.worker.heartbeat import HeartbeatState
from atoll.domain.worker.lifecycle import WorkerStatus
from atoll.services.overview.worker_oversight import OverseenWorker
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.fields import ItemId, ResponseModel
from atoll.surfaces.http.body.pages import Paged, PageModel, row_page
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems
from atoll.surfaces.http.workers.views import (
    WorkerRemovalView,
    WorkerRouteView,
    WorkerSandboxView,
    WorkerTeardownView,
    worker_view,
)

router = APIRouter(prefix="/v1/organizations/{organization}/workers", tags=["overview"])


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


@router.get("", response_model=OverseenWorkerPage, responses=problems(404))
@needs(Capability.ORG_MANAGE)
async def oversee_workers(
    atoll: Atoll, caller: Caller, *, organization: ItemId, page: Paged
) -> Response:
    """Return the workers of an organization, whoever owns them."""
    found = await atoll.overview.workers.page(caller, organization, page.rows())
    return Json(row_page(found, name="workers", view=_view))


def _view(one: OverseenWorker) -> dict[str, Any]:
    told = worker_view(one.shown) | {"owner": one.record.owner}
    return {name: told[name] for name in OverseenWorkerView.model_fields}
