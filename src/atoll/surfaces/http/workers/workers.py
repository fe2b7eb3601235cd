"""Routes of workers: create or reattach, list, snapshot, requests, stop, and the stream.

The stream is server-sent events (WHATWG HTML §9.2): `id` is `seq`, without a gap from 1, so a
client that comes back with `Last-Event-ID` misses nothing and sees nothing twice.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Final

import msgspec
from starlette.responses import Response

from atoll.domain.errors import Invalid
from atoll.domain.event import last_event_position
from atoll.domain.workers.ledger import WorkerRequest
from atoll.domain.workers.live import DELTA, WorkerDelta
from atoll.domain.workers.record import WorkerEvent
from atoll.services.workers.intake import check_host
from atoll.surfaces.http.people.feeds import sse_feed
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, Reply, RequestContext
from atoll.surfaces.http.workers.deliveries import host_batch
from atoll.surfaces.http.workers.requests import create_request
from atoll.surfaces.http.workers.views import (
    created_view,
    event_view,
    receipt_view,
    stop_view,
    worker_view,
)
from atoll.wire.api.fields import FIRST_PAGE, Paging
from atoll.wire.api.workers import workers as api
from atoll.wire.api.workers.deliveries import HostBatchBody, IngestView
from atoll.wire.api.workers.workers import Workers
from atoll.wire.contract.correlation import read_trace_parent

PREFIX: Final = "/v1/workers"
BACKLOG: Final = 8
"""Messages that wait for a slow client; one of deltas has up to 64 KiB of text."""
_DELTA: Final = b"event: " + DELTA.encode() + b"\ndata: %s\n\n"

operations = Operations()


@operations.serves(Workers.create)
async def create_worker(
    context: RequestContext, body: api.WorkerBody
) -> Reply[api.WorkerCreatedView]:
    workers = context.atoll.workers
    shown, there = await workers.workers.create(
        context.caller, create_request(body), named=context.named()
    )
    answer = created_view(shown, reattached=there, kept_for=workers.retention.age)
    return Reply(answer, 200 if there else 201)


@operations.serves(Workers.list)
async def list_workers(context: RequestContext, *, page: Paging = FIRST_PAGE) -> api.WorkerPage:
    asked = context.page(page)
    found = await context.atoll.workers.workers.list(context.caller, asked.rows())
    workers, following = asked.rows_and_next(found, worker_view)
    return api.WorkerPage(workers=workers, next=following)


@operations.serves(Workers.get)
async def get_worker(context: RequestContext, worker_id: str) -> api.WorkerView:
    return worker_view(await context.atoll.workers.workers.get(context.caller, worker_id))


@operations.serves(Workers.request)
async def request_worker(
    context: RequestContext, worker_id: str, body: api.WorkerRequestBody, *, traceparent: str = ""
) -> Reply[api.WorkerReceiptView]:
    asked = body.request
    request = WorkerRequest(
        asked.request_id, asked.method, asked.params, trace=_trace_of(traceparent)
    )
    receipt = await context.atoll.workers.workers.request(
        context.caller, worker_id, request, wait_ms=body.wait_ms
    )
    shown = receipt_view(worker_id, request.request_id, receipt)
    return Reply(shown, 202 if receipt is None else 200)


@operations.serves(Workers.stop)
async def stop_worker(
    context: RequestContext, worker_id: str, body: api.StopWorkerBody | None = None
) -> api.WorkerStopView:
    reason = None if body is None else body.reason
    return stop_view(await context.atoll.workers.workers.stop(context.caller, worker_id, reason))


@operations.serves(Workers.take)
async def take_worker(
    context: RequestContext, worker_id: str, body: api.TakeWorkerBody | None = None
) -> api.WorkerTakenView:
    wanted = body or api.TakeWorkerBody()
    taken = await context.atoll.workers.handovers.take(
        context.caller, worker_id, wanted.thread_id, desktop=wanted.desktop
    )
    return answer_of(api.WorkerTakenView, taken)


@operations.serves(Workers.give_back)
async def give_worker_back(context: RequestContext, worker_id: str) -> api.WorkerView:
    handovers = context.atoll.workers.handovers
    return worker_view(await handovers.give_back(context.caller, worker_id))


@operations.streams(Workers.follow)
async def follow_worker(
    context: RequestContext,
    worker_id: str,
    *,
    cursor: int | None = None,
    tail_ms: int | None = None,
    last_event_id: str | None = None,
) -> Response:
    resumed = last_event_position(last_event_id or "")
    if None not in (cursor, resumed) and cursor != resumed:
        raise Invalid("`cursor` and `Last-Event-ID` differ: send one of them", field="cursor")
    start = cursor or resumed or 0
    streams, caller = context.atoll.workers.streams, context.caller
    # Judged before the stream begins, which has no status any more.
    await streams.page(caller, worker_id, after=start, limit=1)
    said = streams.follow(caller, worker_id, after=start, tail_ms=tail_ms)
    return sse_feed(_messages(worker_id, said), start=start, backlog=BACKLOG)


@operations.serves(Workers.erase)
async def erase_worker(context: RequestContext, worker_id: str) -> api.WorkerErasedView:
    erased = await context.atoll.workers.retention.erase(context.caller, worker_id)
    return answer_of(api.WorkerErasedView, erased)


@operations.serves(Workers.deliver, first=check_host)
async def deliver_events(
    context: RequestContext, worker_id: str, body: HostBatchBody
) -> IngestView:
    intake = context.atoll.workers.intake
    taken = await intake.deliver(context.caller, worker_id, host_batch(body))
    return answer_of(IngestView, taken)


internal = operations.below(PREFIX, "/internal/v1/codex/workers")
"""The routes as trusted services call them."""

runtime = operations.below(PREFIX, "/api/runtime/codex/workers")
"""The routes as a front end passes them on."""


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
