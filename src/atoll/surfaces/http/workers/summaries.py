"""Routes of the read model `worker_summaries`: as it is, and then as it changes."""

from collections.abc import AsyncIterator

import msgspec
from starlette.responses import Response
from starlette.websockets import WebSocket

from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.domain.workers.summary import WorkerSummary
from atoll.services.application import Application
from atoll.services.workers.summaries import SummariesUpdate
from atoll.surfaces.http.people.feeds import frame_feed, sse_feed
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.routes import Sockets
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.fields import FIRST_PAGE, Paging
from atoll.wire.api.workers import summaries as api
from atoll.wire.api.workers.summaries import WorkerSummaries
from atoll.wire.words.workers import SUMMARIES

operations = Operations()
sockets = Sockets()


@operations.serves(WorkerSummaries.list)
async def list_worker_summaries(
    context: RequestContext, *, page: Paging = FIRST_PAGE
) -> api.WorkerSummaryPage:
    asked = context.page(page)
    found = await context.atoll.workers.summaries.list(context.caller, asked.rows())
    summaries, following = asked.rows_and_next(found, _view)
    return api.WorkerSummaryPage(worker_summaries=summaries, next=following)


@operations.streams(WorkerSummaries.follow)
async def follow_worker_summaries(context: RequestContext) -> Response:
    return sse_feed(_messages(context.atoll.workers.summaries.follow(context.caller)))


@sockets.serves(f"/v1/projections/{SUMMARIES}/stream", Capability.AGENT_READ)
async def follow_worker_summaries_by_socket(
    socket: WebSocket, atoll: Application, caller: Principal
) -> None:
    """Follow the summaries as text frames: the data of the server-sent events."""
    await socket.accept()
    updates = atoll.workers.summaries.follow(caller)
    await frame_feed(socket, (_encode_update(one) async for one in updates))


async def _messages(updates: AsyncIterator[SummariesUpdate]) -> AsyncIterator[bytes]:
    async for one in updates:
        yield b"event: %s\ndata: %s\n\n" % (
            b"all" if one.whole else b"changed",
            _encode_update(one),
        )


def _encode_update(update: SummariesUpdate) -> bytes:
    return msgspec.json.encode({SUMMARIES: [_view(one) for one in update.summaries]})


def _view(summary: WorkerSummary) -> api.WorkerSummaryView:
    return answer_of(api.WorkerSummaryView, summary)
