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
    FORBIDDEN,
    Wanted,
    cursor_of,
    descriptor_of,
    listed_kinds,
    occurrence_of,
    position_of,
    wanted_of,
)
from atoll.domain.webhook.subscription import DEFAULT, LONGEST
from atoll.services.application import EventServices
from atoll.services.tools.event_feeds import MAX_BATCH, Batch, EventFeeds
from atoll.services.tools.subscriptions import (
    Asked,
    EventSubscriptions,
    GrantedSubscription,
    Unverified,
    check_subscriber,
)
from atoll.services.tools.watches import check_reader
from atoll.surfaces.mcp.entry import EVENT_STREAM
from atoll.surfaces.mcp.open_streams import OpenStreams
from atoll.surfaces.mcp.request import Context, caller_of
from atoll.wire.words.webhooks import MAX_URL

EXTENSION: Final = "io.modelcontextprotocol/events"
BEAT_SECONDS: Final = 15.0
"""The interval of heartbeats on a stream on which nothing happens."""

WEBHOOK: Final = "webhook"
NEXT_POLL_MS: Final = 2000

NOT_FOUND: Final = -32023
EXHAUSTED: Final = -32025
UNSUPPORTED: Final = -32026
CALLBACK_FAILED: Final = -32027

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


class Endpoint(BaseModel):
    """The endpoint of a subscription, by its URL."""

    url: str = Field(max_length=MAX_URL)


class SignedEndpoint(Endpoint):
    """The endpoint of a subscription, with the secret that signs what it receives."""

    mode: str = WEBHOOK
    secret: str = Field(max_length=200, repr=False)


class SubscribeParams(ReplayParams):
    """The parameters of `events/subscribe`."""

    delivery: SignedEndpoint
    ttl_ms: int | None = Field(
        default=int(DEFAULT.total_seconds() * 1000), alias="ttlMs", ge=0, le=_MAX_INTEGER
    )


class UnsubscribeParams(EventParams):
    """The parameters of `events/unsubscribe`."""

    delivery: Endpoint


class EventNotice(BaseModel):
    """A notification of the extension."""

    method: str
    params: dict[str, Any]


@dataclass(frozen=True, slots=True)
class EventServer:
    """The handlers of the extension."""

    feeds: EventFeeds
    subscriptions: EventSubscriptions
    streams: OpenStreams

    async def list_events(self, context: Context, params: ListParams) -> dict[str, Any]:
        """Return a page of the kinds of events, none to a caller who may read no events."""
        try:
            check_reader(caller_of(context))
            page, following = listed_kinds(params.cursor)
        except Forbidden:
            return {"events": []}
        except AtollError as error:
            raise refused(error) from error
        delivery = ["poll", "push", *([WEBHOOK] if _may_subscribe(context) else [])]
        shown = [descriptor_of(kind, delivery) for kind in page]
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
        guard cuts once its credential or its permission is gone, or with the server."""
        meta = {SUBSCRIPTION_ID_META_KEY: context.request_id}

        async def send(event: str, told: dict[str, Any]) -> None:
            method = f"notifications/events/{event}"
            notice: Any = EventNotice(method=method, params={**told, "_meta": meta})
            await context.session.send_notification(notice, related_request_id=context.request_id)

        await _answered(self._send_counted(context, params, send))
        return {"_meta": meta}

    async def _send_counted(
        self,
        context: Context,
        params: ReplayParams,
        send: Callable[[str, dict[str, Any]], Awaitable[None]],
    ) -> None:
        with self.streams.counted(caller_of(context)):
            await self.streams.run(self._send_all(context, params, send))

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

    async def subscribe(self, context: Context, params: SubscribeParams) -> dict[str, Any]:
        """Make or renew a subscription by webhook, after its endpoint answered a challenge."""
        if params.delivery.mode != WEBHOOK:
            told = {"feature": "deliveryMode", "value": params.delivery.mode[:60]}
            raise MCPError(UNSUPPORTED, "Unsupported", told)
        made = await _answered(self._subscribed(context, params))
        if isinstance(made, Unverified):
            raise MCPError(CALLBACK_FAILED, "CallbackEndpointError", {"reason": made.reason})
        answer: dict[str, Any] = {
            "id": made.id,
            "refreshBefore": made.expires_at.isoformat(),
            "cursor": cursor_of(made.position),
            "truncated": made.truncated,
        }
        if made.was_active is not None:
            delivered = None if made.delivered_at is None else made.delivered_at.isoformat()
            answer["deliveryStatus"] = {"active": made.was_active, "lastDeliveryAt": delivered}
        return answer

    async def _subscribed(
        self, context: Context, params: SubscribeParams
    ) -> GrantedSubscription | Unverified:
        asked = Asked(
            wanted=self._wanted(params),
            url=params.delivery.url,
            secret=params.delivery.secret,
            after=position_of(params.cursor),
            lasts=_duration(params.ttl_ms, LONGEST),
            max_age=_age(params),
        )
        return await self.subscriptions.subscribe(caller_of(context), asked)

    async def unsubscribe(self, context: Context, params: UnsubscribeParams) -> dict[str, Any]:
        """End a subscription by webhook."""
        await _answered(self._unsubscribed(context, params))
        return {}

    async def _unsubscribed(self, context: Context, params: UnsubscribeParams) -> None:
        wanted, url = self._wanted(params), params.delivery.url
        await self.subscriptions.unsubscribe(caller_of(context), wanted, url)

    def _wanted(self, params: EventParams) -> Wanted:
        arguments: dict[str, Json] = params.arguments
        return wanted_of(params.name, arguments, scheme=self.feeds.scheme)


def add_events(server: Server[Any], services: EventServices, streams: OpenStreams) -> None:
    """Add the extension to a server: its methods, and its name among the capabilities."""
    events = EventServer(services.feeds, services.subscriptions, streams)
    server.add_request_handler("events/list", ListParams, events.list_events)
    server.add_request_handler("events/poll", PollParams, events.poll)
    server.add_request_handler(EVENT_STREAM, ReplayParams, events.stream)
    server.add_request_handler("events/subscribe", SubscribeParams, events.subscribe)
    server.add_request_handler("events/unsubscribe", UnsubscribeParams, events.unsubscribe)
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
    return None if params.max_age_ms is None else _duration(params.max_age_ms, _LONGEST_AGE)


def _duration(milliseconds: int | None, longest: timedelta) -> timedelta:
    """Return a duration, the longest for None."""
    if milliseconds is None:
        return longest
    return min(timedelta(milliseconds=milliseconds), longest)


def _may_subscribe(context: Context) -> bool:
    try:
        check_subscriber(caller_of(context))
    except Forbidden:
        return False
    return True
