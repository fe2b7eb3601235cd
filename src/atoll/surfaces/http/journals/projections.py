"""Routes of the projection `agents`: what `GET /v1/agents` shows now, and then as it changes."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
from starlette.responses import Response
from starlette.websockets import WebSocket

from atoll.domain.errors import Invalid
from atoll.domain.event import last_event_position
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.services.agents.statuses import AgentsUpdate
from atoll.services.application import Application
from atoll.surfaces.http.agents.statuses import placed_agent_view
from atoll.surfaces.http.people.feeds import asked_after, frame_feed, sse_feed
from atoll.surfaces.http.serving.routes import Sockets
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.surfaces.http.terminals.relay import REFUSED, close
from atoll.wire.api.projections import AgentProjection

operations = Operations()
sockets = Sockets()


@operations.streams(AgentProjection.follow)
async def follow_agents(
    context: RequestContext, *, after: int | None = None, last_event_id: str | None = None
) -> Response:
    start = last_event_position(last_event_id) if last_event_id else after
    updates = context.atoll.statuses.follow(context.caller, after=start)
    return sse_feed(_messages(updates), start=start)


@sockets.serves("/v1/projections/agents/stream", Capability.AGENT_READ, takes=("after",))
async def follow_agents_by_socket(socket: WebSocket, atoll: Application, caller: Principal) -> None:
    """Follow the agents as text frames: the data of the server-sent events, after `?after=`."""
    try:
        after = asked_after(socket)
    except Invalid as error:
        await close(socket, REFUSED, error.message)
        return
    await socket.accept()
    updates = atoll.statuses.follow(caller, after=after)
    await frame_feed(socket, (_encode_update(one) async for one in updates))


async def _messages(updates: AsyncIterator[AgentsUpdate]) -> AsyncIterator[bytes]:
    async for one in updates:
        kind = b"all" if one.sandbox_id is None else b"changed"
        yield b"id: %d\nevent: %s\ndata: %s\n\n" % (one.position, kind, _encode_update(one))


def _encode_update(update: AgentsUpdate) -> bytes:
    data: dict[str, Any] = {
        "position": update.position,
        "sandbox_id": update.sandbox_id,
        "agents": [placed_agent_view(one) for one in update.agents],
    }
    return msgspec.json.encode(data)
