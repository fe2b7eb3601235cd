"""Routes of the read model `worker_summaries`: as it is, and then as it changes."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
from fastapi import APIRouter
from starlette.responses import Response
from starlette.websockets import WebSocket

from atoll.domain.people.capability import Capability
from atoll.domain.worker.summary import SUMMARIES, SummaryStatus, WorkerSummary
from atoll.services.workers.summaries import SummariesUpdate
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.fields import ResponseModel
from atoll.surfaces.http.body.pages import Paged, PageModel
from atoll.surfaces.http.body.streams import stream_of
from atoll.surfaces.http.people.feeds import frame_feed, sse_feed
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems
from atoll.wire.words.media_types import SSE

router = APIRouter(prefix=f"/v1/projections/{SUMMARIES}", tags=["workers"])


class WorkerSummaryView(ResponseModel):
    """The summary of a worker has the events of its stream up to `last_seq`. It is `in_sync` with
    the stream, or `lag_events` are not in it yet."""

    worker_id: str
    status: SummaryStatus
    lag_events: int
    last_seq: int


class WorkerSummaryPage(PageModel):
    """A page of summaries, of the newest worker first."""

    worker_summaries: list[WorkerSummaryView]


@router.get("", response_model=WorkerSummaryPage, responses=problems())
@needs(Capability.AGENT_READ)
async def list_worker_summaries(atoll: Atoll, caller: Caller, *, page: Paged) -> Response:
    """List the summaries of the caller's workers."""
    found = await atoll.workers.summaries.list(caller, page.rows())
    return Json(page.of_rows(found, name=SUMMARIES, view=_view))


@router.get(
    "/stream",
    response_model=None,
    responses={
        **stream_of(SSE, "A server-sent event `all`, then one `changed` for each change."),
        **problems(),
    },
)
@needs(Capability.AGENT_READ)
async def follow_worker_summaries(atoll: Atoll, caller: Caller) -> Response:
    """Follow the summaries of the caller's newest 1000 workers: all, then those that change."""
    return sse_feed(_messages(atoll.workers.summaries.follow(caller)))


@router.websocket("/stream")
@needs(Capability.AGENT_READ)
async def follow_worker_summaries_by_socket(
    socket: WebSocket, atoll: Atoll, caller: Caller
) -> None:
    """Follow the summaries as text frames: the data of the server-sent events."""
    await socket.accept()
    updates = atoll.workers.summaries.follow(caller)
    await frame_feed(socket, (_data(one) async for one in updates))


async def _messages(updates: AsyncIterator[SummariesUpdate]) -> AsyncIterator[bytes]:
    async for one in updates:
        yield b"event: %s\ndata: %s\n\n" % (b"all" if one.whole else b"changed", _data(one))


def _data(update: SummariesUpdate) -> bytes:
    return msgspec.json.encode({SUMMARIES: [_view(one) for one in update.summaries]})


def _view(summary: WorkerSummary) -> dict[str, Any]:
    return WorkerSummaryView.of(summary)
