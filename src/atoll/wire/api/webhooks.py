"""Webhooks: endpoints to which the log is posted, and what they did not accept."""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.events import Gap
from atoll.wire.api.fields import ItemId, PageLimit, Position, SecondsOrZero
from atoll.wire.api.operation import Answer, Area, Request, operation
from atoll.wire.words.events import MAX_POSITION
from atoll.wire.words.webhooks import (
    DEFAULT_OVERLAP,
    MAX_FILTERS,
    MAX_STREAM,
    MAX_URL,
    MAX_WEBHOOKS,
    DeliveryState,
    WebhookScope,
)

Url = Annotated[str, Meta(min_length=1, max_length=MAX_URL)]
Kinds = Annotated[
    list[Annotated[str, Meta(min_length=1, max_length=100)]],
    Meta(max_length=MAX_FILTERS, description="Kinds of events, or all of a noun as `sandbox.*`."),
]
Streams = Annotated[
    list[Annotated[str, Meta(min_length=1, max_length=MAX_STREAM)]],
    Meta(max_length=MAX_FILTERS, description="Names of streams, or all as `sandbox:*`."),
]


class WebhookBody(Request):
    """An endpoint, and the events it receives. Empty lists mean all of them. With the scope
    `organization` it receives what the whole team may see, and only administrators make it."""

    url: Url
    event_types: Kinds = []
    streams: Streams = []
    scope: WebhookScope = WebhookScope.OWN


class WebhookChangeBody(Request):
    """A change; what is left out stays. `enabled` turns a webhook off, or on where it stopped."""

    url: Url | None = None
    event_types: Kinds | None = None
    streams: Streams | None = None
    enabled: bool | None = None


class RotateBody(Request):
    """A rotation. The former secret signs, too, for the time of `overlap`; 0 ends it at once."""

    overlap: SecondsOrZero = SecondsOrZero(DEFAULT_OVERLAP.total_seconds())


class ReplayBody(Request):
    """The events to send again: the dead letter of one event, everything after a position, or with
    neither all dead letters."""

    event_id: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    after: Annotated[int, Meta(ge=0, le=MAX_POSITION)] | None = None


class WebhookView(Answer):
    """A webhook. `cursor` is the position up to which every event was delivered or has a delivery;
    `retrying`, `replaying` and `dead` count these. `reason` says why Atoll disabled it. `failure`
    and `failed_at` are of the last failure, `failing_since` is null while deliveries succeed.
    `sandbox_id` is that of a lifecycle webhook, which the create of that sandbox named."""

    webhook_id: str
    scope: WebhookScope
    sandbox_id: str | None
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


class WebhookList(Answer):
    """The caller's webhooks, oldest first."""

    webhooks: list[WebhookView]


class EndpointTestView(Answer):
    """Result of a test: the event that was posted, and why the endpoint did not accept it."""

    event_id: str
    accepted: bool
    reason: str | None


class DeliveryView(Answer):
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


class DeliveryPage(Answer):
    """A page by position; `next` is the following `after`."""

    deliveries: list[DeliveryView]
    next: int


class ReplayView(Answer):
    """Result of a replay: the number of dead letters that are sent again, or the position after
    which everything is. `gap` is the part of that which is no longer kept."""

    deliveries: int
    after: int | None
    gap: Gap | None


_FAILURES = (404, 409, 413)


class Webhooks(Area):
    """Endpoints that receive events."""

    tag = "webhooks"
    needs = "webhook.manage"

    @operation("GET /v1/webhooks", name="list_webhooks", max_items=MAX_WEBHOOKS)
    def list(self) -> WebhookList:
        """Return the webhooks that the caller made, without their secrets. One that a create named
        is found by its id, which its sandbox shows."""

    @operation("POST /v1/webhooks", name="create_webhook", status=201, problems=_FAILURES)
    def create(self, body: WebhookBody) -> MadeWebhookView:
        """Post what is appended from now on to an endpoint. Only this answer has the secret."""

    @operation("GET /v1/webhooks/{webhook}", name="get_webhook", problems=(404,))
    def get(self, webhook: ItemId) -> WebhookView:
        """Return a webhook."""

    @operation("PATCH /v1/webhooks/{webhook}", name="change_webhook", problems=_FAILURES)
    def change(self, webhook: ItemId, body: WebhookChangeBody) -> WebhookView:
        """Change a webhook. New filters apply to what was not read yet."""

    @operation(
        "DELETE /v1/webhooks/{webhook}", name="remove_webhook", status=204, problems=_FAILURES
    )
    def remove(self, webhook: ItemId) -> None:
        """Remove a webhook, its secrets and its dead letters."""

    @operation("POST /v1/webhooks/{webhook}/rotate", name="rotate_webhook", problems=_FAILURES)
    def rotate(self, webhook: ItemId, body: RotateBody) -> MadeWebhookView:
        """Make a new secret. Only this answer has it."""

    @operation("POST /v1/webhooks/{webhook}/test", name="test_webhook", problems=_FAILURES)
    def test(self, webhook: ItemId) -> EndpointTestView:
        """Post an event `webhook.tested` now, once, and return how that went."""

    @operation("GET /v1/webhooks/{webhook}/deliveries", name="list_deliveries", problems=(404,))
    def deliveries(
        self,
        webhook: ItemId,
        *,
        state: DeliveryState | None = None,
        after: Position = 0,
        limit: PageLimit = 100,
    ) -> DeliveryPage:
        """Return what the endpoint did not accept: what is retried, replayed, and dead letters."""

    @operation(
        "DELETE /v1/webhooks/{webhook}/deliveries",
        name="drop_dead_letters",
        status=204,
        problems=_FAILURES,
    )
    def drop(self, webhook: ItemId) -> None:
        """Drop all dead letters. Their events stay in the log."""

    @operation("POST /v1/webhooks/{webhook}/replay", name="replay_webhook", problems=_FAILURES)
    def replay(self, webhook: ItemId, body: ReplayBody) -> ReplayView:
        """Send dead letters again, or everything after a position, also what was delivered."""
