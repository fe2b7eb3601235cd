"""The Events extension of MCP, `io.modelcontextprotocol/events` (SEP-3415, a draft): its methods.

It is defined for the revision 2026-07-28 and later ones. In earlier ones its methods are unknown.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, TypeVar

import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY
from pydantic import BaseModel, Field

from atoll.domain.errors import AtollError, Forbidden, Invalid, LimitReached, NotFound
from atoll.domain.event import Json
from atoll.domain.tool.occurrence import (
    Wanted,
    cursor_of,
    descriptor_of,
    listed_kinds,
    occurrence_of,
    position_of,
    wanted_of,
)
from atoll.services.application import Application
from atoll.services.tools.event_feeds import MAX_BATCH, Batch, EventFeeds
from atoll.services.tools.watches import check_reader
from atoll.surfaces.mcp.entry import EVENT_STREAM
from atoll.surfaces.mcp.request import Context, caller_of

EXTENSION: Final = "io.modelcontextprotocol/events"
BEAT_SECONDS: Final = 15.0
"""The interval of heartbeats on a stream on which nothing happens."""

NEXT_POLL_MS: Final = 2000

NOT_FOUND: Final = -32023
FORBIDDEN: Final = -32024
EXHAUSTED: Final = -32025
UNSUPPORTED: Final = -32026

_LONGEST_AGE: Final = timedelta(days=36500)
_MAX_INTEGER: Final = 2**53

R = TypeVar("R")


class ListParams(types.RequestParams):
    """The parameters of `events/list`."""

    cursor: str | None = None


class EventParams(types.RequestParams):
    """The parameters that name the events of a subscription."""

    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)


class ReplayParams(EventParams):
    """The parameters of what begins at a cursor."""

    cursor: str | None = None
    max_age_ms: int | None = Field(default=None, alias="maxAgeMs", ge=0, le=_MAX_INTEGER)


class PollParams(ReplayParams):
    """The parameters of `events/poll`."""

    max_events: int | None = Field(default=None, alias="maxEvents", ge=1, le=_MAX_INTEGER)


class EventNotice(BaseModel):
    """A notification of the extension."""

    method: str
    params: dict[str, Any]


@dataclass(frozen=True, slots=True)
class EventServer:
    """The handlers of the extension."""

    atoll: Application
    feeds: EventFeeds

    async def list_events(self, context: Context, params: ListParams) -> dict[str, Any]:
        """Return a page of the kinds of events, none to a caller who may read no events."""
        try:
            check_reader(caller_of(context))
            page, following = listed_kinds(params.cursor)
        except Forbidden:
            return {"events": []}
        except AtollError as error:
            raise refused(error) from error
        shown = [descriptor_of(kind, ("poll", "push")) for kind in page]
        return {"events": shown, **({"nextCursor": following} if following else {})}

    async def poll(self, context: Context, params: PollParams) -> dict[str, Any]:
        """Return what happened after a cursor."""
        found = await _answered(self._batch(context, params))
        return {
            "events": [occurrence_of(one) for one in found.events],
            "cursor": cursor_of(found.position),
            "truncated": found.truncated,
            "hasMore": found.more,
            "nextPollMs": NEXT_POLL_MS,
        }

    async def _batch(self, context: Context, params: PollParams) -> Batch:
        return await self.feeds.batch(
            caller_of(context),
            self._wanted(params),
            after=position_of(params.cursor),
            limit=min(params.max_events or MAX_BATCH, MAX_BATCH),
            max_age=_age(params),
        )

    async def stream(self, context: Context, params: ReplayParams) -> dict[str, Any]:
        """Send what happens after a cursor as notifications. Ends with the connection, which the
        guard cuts once its credential or its permission is gone."""
        meta = {SUBSCRIPTION_ID_META_KEY: context.request_id}

        async def send(event: str, told: dict[str, Any]) -> None:
            method = f"notifications/events/{event}"
            notice: Any = EventNotice(method=method, params={**told, "_meta": meta})
            await context.session.send_notification(notice, related_request_id=context.request_id)

        await _answered(self._send_all(context, params, send))
        return {"_meta": meta}

    async def _send_all(
        self,
        context: Context,
        params: ReplayParams,
        send: Callable[[str, dict[str, Any]], Awaitable[None]],
    ) -> None:
        following = self.feeds.follow(
            caller_of(context),
            self._wanted(params),
            after=position_of(params.cursor),
            max_age=_age(params),
            beat_seconds=BEAT_SECONDS,
        )
        begun = False
        async for batch in following:
            # The place from which the events of the batch follow.
            place = batch.events[0].position - 1 if batch.events else batch.position
            if batch.truncated or not begun:
                told = {"cursor": cursor_of(place), "truncated": batch.truncated}
                await send("active", told)
            elif not batch.events:
                await send("heartbeat", {"cursor": cursor_of(place)})
            begun = True
            for one in batch.events:
                await send("event", {**occurrence_of(one), "cursor": cursor_of(one.position)})

    def _wanted(self, params: EventParams) -> Wanted:
        arguments: dict[str, Json] = params.arguments
        return wanted_of(params.name, arguments, scheme=self.feeds.scheme)


def add_events(server: Server[Any], atoll: Application, feeds: EventFeeds) -> None:
    """Add the extension to a server: its methods, and its name among the capabilities."""
    events = EventServer(atoll, feeds)
    server.add_request_handler("events/list", ListParams, events.list_events)
    server.add_request_handler("events/poll", PollParams, events.poll)
    server.add_request_handler(EVENT_STREAM, ReplayParams, events.stream)
    server.extensions[EXTENSION] = {}


async def _answered(work: Awaitable[R]) -> R:
    """Return what a use case returns. Raises the extension's error for one of ours."""
    try:
        return await work
    except AtollError as error:
        raise refused(error) from error


def refused(error: AtollError) -> MCPError:
    """Return the extension's error for one of ours, with our words in its data."""
    told = {"reason": error.message, "code": error.code}
    match error:
        case Invalid():
            return MCPError(types.INVALID_PARAMS, error.message, told)
        case NotFound():
            return MCPError(NOT_FOUND, "NotFound", told)
        case Forbidden():
            return MCPError(FORBIDDEN, "Forbidden", told)
        case LimitReached():
            return MCPError(EXHAUSTED, "ResourceExhausted", {**told, "limit": "subscriptions"})
        case _:
            return MCPError(types.INTERNAL_ERROR, error.message, told)


def _age(params: ReplayParams) -> timedelta | None:
    if params.max_age_ms is None:
        return None
    return min(timedelta(milliseconds=params.max_age_ms), _LONGEST_AGE)
