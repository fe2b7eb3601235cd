"""Oversight: every worker of an organization, without what its agent says, and the backends that
they are on."""

from typing import Literal

from atoll.wire.api.fields import FIRST_PAGE, ItemId, Paging
from atoll.wire.api.operation import Answer, Area, operation
from atoll.wire.api.workers.workers import (
    WorkerPlaceView,
    WorkerRemovalView,
    WorkerRouteView,
    WorkerSandboxView,
    WorkerTeardownView,
)
from atoll.wire.words.workers import MAX_WORKER_PLACES, HeartbeatState, WorkerStatus


class OverseenWorkerView(Answer):
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


class OverseenWorkerPage(Answer):
    """A page of an organization's workers, newest first."""

    workers: list[OverseenWorkerView]
    next: str | None


class BackendHealthView(Answer):
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


class BackendHealthList(Answer):
    """The places of an organization's workers, by name."""

    backends: list[BackendHealthView]


class WorkerOversight(Area):
    """The workers of an organization, for its administrators."""

    tag = "overview"
    needs = "org.manage"

    @operation(
        "GET /v1/organizations/{organization}/workers", name="oversee_workers", problems=(404,)
    )
    def workers(self, organization: ItemId, *, page: Paging = FIRST_PAGE) -> OverseenWorkerPage:
        """Return the workers of an organization, whoever owns them."""

    @operation(
        "GET /v1/organizations/{organization}/workers/backends",
        name="oversee_backends",
        problems=(404,),
        max_items=MAX_WORKER_PLACES,
    )
    def backends(self, organization: ItemId) -> BackendHealthList:
        """Return where workers of an organization run and were lost. Who runs the installation also
        gets how backends fared at each place."""
