"""Routes of webhooks: endpoints to which the log is posted, and what they did not accept."""

from datetime import timedelta
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import Field, StrictBool, StrictInt
from starlette.responses import Response

from atoll.domain.errors import Invalid
from atoll.domain.event import MAX_POSITION, Gap
from atoll.domain.people.capability import Capability
from atoll.domain.webhook.delivery import Delivery, DeliveryState
from atoll.domain.webhook.signature import DEFAULT_OVERLAP, MAX_OVERLAP
from atoll.domain.webhook.webhook import (
    MAX_FILTERS,
    MAX_STREAM,
    MAX_URL,
    MAX_WEBHOOKS,
    WebhookScope,
)
from atoll.services.webhooks.webhooks import WebhookChange, WebhookReport
from atoll.surfaces.http.body.answers import Json, no_content
from atoll.surfaces.http.body.fields import Body, ItemId, ResponseModel, Seconds
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.body.pages import at_most
from atoll.surfaces.http.people.events import Position
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

router = APIRouter(prefix="/v1/webhooks", tags=["webhooks"], route_class=JsonRoute)

_Url = Annotated[str, Field(min_length=1, max_length=MAX_URL, strict=True)]
_Kinds = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=100, strict=True)]],
    Field(max_length=MAX_FILTERS, description="Kinds of events, or all of a noun as `sandbox.*`."),
]
_Streams = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=MAX_STREAM, strict=True)]],
    Field(max_length=MAX_FILTERS, description="Names of streams, or all as `sandbox:*`."),
]


class WebhookBody(Body):
    """An endpoint, and the events it receives. Empty lists mean all of them. With the scope
    `organization` it receives what the whole team may see, and only administrators make it."""

    url: _Url
    event_types: _Kinds = []  # noqa: RUF012 - pydantic copies it
    streams: _Streams = []  # noqa: RUF012 - pydantic copies it
    scope: WebhookScope = WebhookScope.OWN


class WebhookChangeBody(Body):
    """A change; what is left out stays. `enabled` turns a webhook off, or on where it stopped."""

    url: _Url | None = None
    event_types: _Kinds | None = None
    streams: _Streams | None = None
    enabled: StrictBool | None = None


class RotateBody(Body):
    """A rotation. The former secret signs, too, for the time of `overlap`; 0 ends it at once."""

    overlap: Literal[0] | Seconds = int(DEFAULT_OVERLAP.total_seconds())


class ReplayBody(Body):
    """The events to send again: the dead letter of one event, everything after a position, or with
    neither all dead letters."""

    event_id: Annotated[str, Field(min_length=1, max_length=200, strict=True)] | None = None
    after: Annotated[StrictInt, Field(ge=0, le=MAX_POSITION)] | None = None


class WebhookView(ResponseModel):
    """A webhook. `cursor` is the position up to which every event was delivered or has a delivery;
    `retrying`, `replaying` and `dead` count these. `reason` says why Atoll disabled it. `failure`
    and `failed_at` are of the last failure, `failing_since` is null while deliveries succeed."""

    webhook_id: str
    scope: WebhookScope
    url: str
    event_types: list[str]
    streams: list[str]
    enabled: bool
    reason: str | None
    cursor: int
    secret_version: int
    created_at: str
    delivered_at: str | None
    failing_since: str | None
    failure: str | None
    failed_at: str | None
    retrying: int
    replaying: int
    dead: int


class MadeWebhookView(WebhookView):
    """A webhook with its new secret, which is returned only once."""

    secret: str


class WebhookList(ResponseModel):
    """The caller's webhooks, oldest first."""

    webhooks: list[WebhookView]


class EndpointTestView(ResponseModel):
    """Result of a test: the event that was posted, and why the endpoint did not accept it."""

    event_id: str
    accepted: bool
    reason: str | None


class DeliveryView(ResponseModel):
    """An event that is not delivered. `next_at` is the next attempt, null for a dead letter."""

    event_id: str
    event_type: str
    stream: str
    position: int
    state: DeliveryState
    attempts: int
    next_at: str | None
    reason: str | None
    failed_at: str | None


class DeliveryPage(ResponseModel):
    """A page by position; `next` is the following `after`."""

    deliveries: list[DeliveryView]
    next: int


class ReplayView(ResponseModel):
    """Result of a replay: the number of dead letters that are sent again, or the position after
    which everything is. `gap` is the part of that which is no longer kept."""

    deliveries: int
    after: int | None
    gap: Gap | None


_FAILURES: dict[int | str, dict[str, Any]] = problems(404, 409, 413)


@router.get(
    "", response_model=WebhookList, responses=problems(), openapi_extra=at_most(MAX_WEBHOOKS)
)
@needs(Capability.WEBHOOK_MANAGE)
async def list_webhooks(atoll: Atoll, caller: Caller) -> Response:
    """Return the caller's webhooks, without their secrets."""
    found = await atoll.webhooks.endpoints.list(caller)
    return Json({"webhooks": [_view(one) for one in found]})


@router.post("", status_code=201, response_model=MadeWebhookView, responses=_FAILURES)
@needs(Capability.WEBHOOK_MANAGE)
async def create_webhook(atoll: Atoll, caller: Caller, body: WebhookBody) -> Response:
    """Post what is appended from now on to an endpoint. Only this answer has the secret."""
    report, secret = await atoll.webhooks.endpoints.create(
        caller,
        body.url,
        event_types=tuple(body.event_types),
        streams=tuple(body.streams),
        scope=body.scope,
    )
    return Json({**_view(report), "secret": secret}, 201)


@router.get("/{webhook}", response_model=WebhookView, responses=problems(404))
@needs(Capability.WEBHOOK_MANAGE)
async def get_webhook(atoll: Atoll, caller: Caller, webhook: ItemId) -> Response:
    """Return a webhook."""
    return Json(_view(await atoll.webhooks.endpoints.get(caller, webhook)))


@router.patch("/{webhook}", response_model=WebhookView, responses=_FAILURES)
@needs(Capability.WEBHOOK_MANAGE)
async def change_webhook(
    atoll: Atoll, caller: Caller, *, webhook: ItemId, body: WebhookChangeBody
) -> Response:
    """Change a webhook. New filters apply to what was not read yet."""
    change = WebhookChange(
        url=body.url,
        event_types=None if body.event_types is None else tuple(body.event_types),
        streams=None if body.streams is None else tuple(body.streams),
        enabled=body.enabled,
    )
    return Json(_view(await atoll.webhooks.endpoints.change(caller, webhook, change)))


@router.delete("/{webhook}", status_code=204, responses=_FAILURES)
@needs(Capability.WEBHOOK_MANAGE)
async def remove_webhook(atoll: Atoll, caller: Caller, webhook: ItemId) -> Response:
    """Remove a webhook, its secrets and its dead letters."""
    await atoll.webhooks.endpoints.remove(caller, webhook)
    return no_content()


@router.post("/{webhook}/rotate", response_model=MadeWebhookView, responses=_FAILURES)
@needs(Capability.WEBHOOK_MANAGE)
async def rotate_webhook(
    atoll: Atoll, caller: Caller, *, webhook: ItemId, body: RotateBody
) -> Response:
    """Make a new secret. Only this answer has it."""
    overlap = timedelta(seconds=int(body.overlap))
    if overlap > MAX_OVERLAP:
        raise Invalid(f"overlap is at most {MAX_OVERLAP.days} days", field="overlap")
    report, secret = await atoll.webhooks.endpoints.rotate(caller, webhook, overlap=overlap)
    return Json({**_view(report), "secret": secret})


@router.post("/{webhook}/test", response_model=EndpointTestView, responses=_FAILURES)
@needs(Capability.WEBHOOK_MANAGE)
async def test_webhook(atoll: Atoll, caller: Caller, webhook: ItemId) -> Response:
    """Post an event `webhook.tested` now, once, and return how that went."""
    result = await atoll.webhooks.endpoints.test(caller, webhook)
    return Json(EndpointTestView.of(result, accepted=result.reason is None))


@router.get("/{webhook}/deliveries", response_model=DeliveryPage, responses=problems(404))
@needs(Capability.WEBHOOK_MANAGE)
async def list_deliveries(
    atoll: Atoll,
    caller: Caller,
    *,
    webhook: ItemId,
    state: DeliveryState | None = None,
    after: Position = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """Return what the endpoint did not accept: what is retried, replayed, and dead letters."""
    page = await atoll.webhooks.deliveries.list(
        caller, webhook, state=state, after=after, limit=limit
    )
    last = page[-1].position if page else after
    return Json({"deliveries": [_delivery(one) for one in page], "next": last})


@router.delete("/{webhook}/deliveries", status_code=204, responses=_FAILURES)
@needs(Capability.WEBHOOK_MANAGE)
async def drop_dead_letters(atoll: Atoll, caller: Caller, webhook: ItemId) -> Response:
    """Drop all dead letters. Their events stay in the log."""
    await atoll.webhooks.deliveries.drop(caller, webhook)
    return no_content()


@router.post("/{webhook}/replay", response_model=ReplayView, responses=_FAILURES)
@needs(Capability.WEBHOOK_MANAGE)
async def replay_webhook(
    atoll: Atoll, caller: Caller, *, webhook: ItemId, body: ReplayBody
) -> Response:
    """Send dead letters again, or everything after a position, also what was delivered."""
    if body.after is not None and body.event_id is not None:
        raise Invalid("give `event_id` or `after`, not both", field="after")
    deliveries = atoll.webhooks.deliveries
    if body.after is not None:
        replay = await deliveries.replay_from(caller, webhook, body.after)
    else:
        replay = await deliveries.replay(caller, webhook, body.event_id)
    return Json(replay)


def _view(report: WebhookReport) -> dict[str, Any]:
    return WebhookView.of(
        report.webhook,
        webhook_id=report.webhook.id,
        retrying=report.retrying,
        replaying=report.replaying,
        dead=report.dead,
    )


def _delivery(delivery: Delivery) -> dict[str, Any]:
    return DeliveryView.of(delivery)
