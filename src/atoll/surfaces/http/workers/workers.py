"""Routes of workers: create or reattach, list, snapshot, requests, stop, and the stream.

The stream is server-sent events (WHATWG HTML §9.2): `id` is `seq`, without a gap from 1, so a
client that comes back with `Last-Event-ID` misses nothing and sees nothing twice.
"""

from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Annotated, Any, Final

import msgspec
from fastapi import APIRouter, Header, Path, Query
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from atoll.domain.errors import Invalid
from atoll.domain.event import last_event_position
from atoll.domain.people.capability import Capability
from atoll.domain.worker.live import DELTA, WorkerDelta
from atoll.domain.worker.record import WorkerEvent
from atoll.services.workers.intake import check_host
from atoll.services.workers.streams import MAX_TAIL_MS
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.body.pages import Paged
from atoll.surfaces.http.body.streams import stream_of
from atoll.surfaces.http.people.feeds import sse_feed
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems
from atoll.surfaces.http.workers.bodies import (
    StopWorkerBody,
    TakeWorkerBody,
    WorkerBody,
    WorkerRequestBody,
)
from atoll.surfaces.http.workers.host_bodies import (
    MAX_BATCH_BYTES,
    MAX_BATCH_VALUES,
    HostBatchBody,
)
from atoll.surfaces.http.workers.views import (
    IngestView,
    WorkerCreatedView,
    WorkerErasedView,
    WorkerPage,
    WorkerReceiptView,
    WorkerStopView,
    WorkerTakenView,
    WorkerView,
    created_view,
    event_view,
    receipt_view,
    stop_view,
    worker_view,
)
from atoll.wire.contract.correlation import read_trace_parent
from atoll.wire.words.events import MAX_POSITION
from atoll.wire.words.media_types import SSE

router = APIRouter(prefix="/v1/workers", tags=["workers"], route_class=JsonRoute)

_FAILURES: Final = problems(404, 409)
_STREAM_FAILURES: Final = problems(404, 409, 410)
Name = Annotated[str, Path(min_length=1, max_length=64, description="The `worker_id`.")]
Cursor = Annotated[int | None, Query(ge=0, le=MAX_POSITION)]
TailMs = Annotated[int | None, Query(ge=0, le=MAX_TAIL_MS)]
BACKLOG: Final = 8
"""Messages that wait for a slow client; one of deltas has up to 64 KiB of text."""
_DELTA: Final = b"event: " + DELTA.encode() + b"\ndata: %s\n\n"


@router.post(
    "",
    status_code=201,
    response_model=WorkerCreatedView,
    responses={200: {"model": WorkerCreatedView, "description": "Reattached."}, **_FAILURES},
)
@needs(Capability.AGENT_USE)
async def create_worker(atoll: Atoll, caller: Caller, *, body: WorkerBody) -> Response:
    """Create a worker, or reattach the one of this `worker_id`; it starts meanwhile."""
    shown, there = await atoll.workers.workers.create(
        caller, body.to_domain(), named=body.model_fields_set
    )
    answer = created_view(shown, reattached=there, kept_for=atoll.workers.retention.age)
    return Json(answer, 200 if there else 201)


@router.get("", response_model=WorkerPage, responses=problems())
@needs(Capability.AGENT_READ)
async def list_workers(atoll: Atoll, caller: Caller, *, page: Paged) -> Response:
    """List workers, newest first."""
    found = await atoll.workers.workers.list(caller, page.rows())
    return Json(page.of_rows(found, name="workers", view=worker_view))


@router.get("/{worker_id}/snapshot", response_model=WorkerView, responses=_FAILURES)
@needs(Capability.AGENT_READ)
async def get_worker(atoll: Atoll, caller: Caller, *, worker_id: Name) -> Response:
    """Return the snapshot of a worker."""
    return Json(worker_view(await atoll.workers.workers.get(caller, worker_id)))


@router.post(
    "/{worker_id}/requests",
    response_model=WorkerReceiptView,
    responses={
        **problems(404, 409, 429),
        202: {"description": "It is pending.", "model": WorkerReceiptView},
    },
)
@needs(Capability.AGENT_READ)
async def request_worker(
    atoll: Atoll,
    caller: Caller,
    *,
    worker_id: Name,
    body: WorkerRequestBody,
    traceparent: Annotated[str, Header(max_length=200)] = "",
) -> Response:
    """Send a request to the agent, once, whatever is repeated. `traceparent` goes with it."""
    request = replace(body.to_domain(), trace=_trace_of(traceparent))
    receipt = await atoll.workers.workers.request(caller, worker_id, request, wait_ms=body.wait_ms)
    shown = receipt_view(worker_id, request.request_id, receipt)
    return Json(shown, 202 if receipt is None else 200)


@router.post(
    "/{worker_id}/stop", status_code=202, response_model=WorkerStopView, responses=_FAILURES
)
@needs(Capability.AGENT_USE)
async def stop_worker(
    atoll: Atoll, caller: Caller, *, worker_id: Name, body: StopWorkerBody | None = None
) -> Response:
    """Stop a worker: its work is kept, and its sandbox as its policy says."""
    reason = None if body is None else body.reason
    return Json(stop_view(await atoll.workers.workers.stop(caller, worker_id, reason)), 202)


@router.post("/{worker_id}/take", response_model=WorkerTakenView, responses=_FAILURES)
@needs(Capability.AGENT_USE)
async def take_worker(
    atoll: Atoll, caller: Caller, *, worker_id: Name, body: TakeWorkerBody | None = None
) -> Response:
    """Take the conversation to a terminal. Until it is given back, requests are refused."""
    thread_id = None if body is None else body.thread_id
    desktop = None if body is None else body.desktop
    taken = await atoll.workers.handovers.take(caller, worker_id, thread_id, desktop=desktop)
    return Json(WorkerTakenView.of(taken))


@router.post("/{worker_id}/give-back", response_model=WorkerView, responses=_FAILURES)
@needs(Capability.AGENT_USE)
async def give_worker_back(atoll: Atoll, caller: Caller, *, worker_id: Name) -> Response:
    """End what is at the terminal, and have the machine go on with the conversation."""
    return Json(worker_view(await atoll.workers.handovers.give_back(caller, worker_id)))


@router.get(
    "/{worker_id}/stream",
    response_model=None,
    responses={**stream_of(SSE, "One server-sent event for each event."), **_STREAM_FAILURES},
)
@needs(Capability.AGENT_READ)
async def follow_worker(
    atoll: Atoll,
    caller: Caller,
    *,
    worker_id: Name,
    cursor: Cursor = None,
    tail_ms: TailMs = None,
    last_event_id: Annotated[str | None, Header(max_length=20)] = None,
) -> Response:
    """Follow every event after `cursor` or `Last-Event-ID`, then each as it comes; with `tail_ms`
    only for that long. Deltas come between them, without an id."""
    resumed = last_event_position(last_event_id or "")
    if None not in (cursor, resumed) and cursor != resumed:
        raise Invalid("`cursor` and `Last-Event-ID` differ: send one of them", field="cursor")
    start = cursor or resumed or 0
    # Judged before the stream begins, which has no status any more.
    await atoll.workers.streams.page(caller, worker_id, after=start, limit=1)
    said = atoll.workers.streams.follow(caller, worker_id, after=start, tail_ms=tail_ms)
    return sse_feed(_messages(worker_id, said), start=start, backlog=BACKLOG)


@router.delete("/{worker_id}/stream", response_model=WorkerErasedView, responses=problems(404))
@needs(Capability.AGENT_USE)
async def erase_worker(atoll: Atoll, caller: Caller, *, worker_id: Name) -> Response:
    """Delete what the agent said: every event but the newest, the answers to its requests, and its
    artifacts."""
    return Json(WorkerErasedView.of(await atoll.workers.retention.erase(caller, worker_id)))


class BatchRoute(JsonRoute):
    """A route that reads whole lines of agents: of nobody but a host."""

    max_bytes = MAX_BATCH_BYTES
    max_values = MAX_BATCH_VALUES

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler, which looks who sends a batch before it is read."""
        handle = super().get_route_handler()

        async def read_of_hosts(request: Request) -> Response:
            check_host(request.state.caller)
            return await handle(request)

        return read_of_hosts


@needs(Capability.AGENT_USE)
async def deliver_events(
    atoll: Atoll, caller: Caller, *, worker_id: Name, body: HostBatchBody
) -> Response:
    """Take what the host of a worker delivers, each item once. Only the token of its lease may."""
    taken = await atoll.workers.intake.deliver(caller, worker_id, body.to_domain())
    return Json(IngestView.of(taken))


router.add_api_route(
    "/{worker_id}/events",
    deliver_events,
    methods=["POST"],
    response_model=IngestView,
    responses=_FAILURES,
    route_class_override=BatchRoute,
)


async def _messages(
    worker_id: str, said: AsyncIterator[Sequence[WorkerEvent | WorkerDelta]]
) -> AsyncIterator[bytes]:
    async for some in said:
        if some:
            yield b"".join(_frame(worker_id, one) for one in some)


def _frame(worker_id: str, said: WorkerEvent | WorkerDelta) -> bytes:
    match said:
        case WorkerDelta():
            return _DELTA % msgspec.json.encode(said)
        case WorkerEvent(seq, event_type):
            data = msgspec.json.encode(event_view(worker_id, said))
            return b"id: %d\nevent: %s\ndata: %s\n\n" % (seq, event_type.encode(), data)


def _trace_of(header: str) -> str:
    """Return the place in a trace that a client sent; empty where it is malformed."""
    parent = read_trace_parent(header)
    return "" if parent is None else str(parent)


def _under(prefix: str) -> APIRouter:
    """Return the same routes below another prefix."""
    made = APIRouter(prefix=prefix, tags=["workers"], route_class=JsonRoute)
    for route in router.routes:
        assert isinstance(route, APIRoute)  # noqa: S101 - the router has no other
        made.add_api_route(
            route.path.removeprefix(router.prefix),
            route.endpoint,
            methods=sorted(route.methods or ()),
            status_code=route.status_code,
            response_model=None,
            include_in_schema=False,
            route_class_override=type(route),
        )
    return made


internal = _under("/internal/v1/codex/workers")
"""The routes as trusted services call them."""

runtime = _under("/api/runtime/codex/workers")
"""The routes as a front end passes them on."""
