"""Webhooks: endpoints to which the log is posted, and what they did not accept.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal, Required, TypedDict

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.made.events import Gap
from atoll.client.transport import (
    Call,
    Pairs,
    Transport,
    api_path,
    get,
    omit_absent,
    patch,
    post,
    query_of,
)

WebhookScope = Literal["own", "organization"]

DeliveryState = Literal["retrying", "replaying", "dead"]


class Webhook(Shape):
    """A webhook. `cursor` is the position up to which every event was delivered or has a
    delivery; `retrying`, `replaying` and `dead` count these. `reason` says why Atoll disabled
    it. `failure` and `failed_at` are of the last failure, `failing_since` is null while
    deliveries succeed. `sandbox_id` is that of a lifecycle webhook, which the create of that
    sandbox named."""

    webhook_id = fields.text()
    scope: Field[WebhookScope] = fields.word()
    sandbox_id = fields.text()
    url = fields.text()
    event_types = fields.texts()
    streams = fields.texts()
    enabled = fields.flag()
    reason = fields.text()
    cursor = fields.number()
    secret_version = fields.number()
    created_at = fields.text()
    delivered_at = fields.text()
    failing_since = fields.text()
    failure = fields.text()
    failed_at = fields.text()
    retrying = fields.number()
    replaying = fields.number()
    dead = fields.number()


class MadeWebhook(Webhook):
    """A webhook with its new secret, which is returned only once."""

    secret = fields.text()


class WebhookList(Shape):
    """The caller's webhooks, oldest first."""

    webhooks = fields.many(Webhook)


class EndpointTest(Shape):
    """Result of a test: the event that was posted, and why the endpoint did not accept it."""

    event_id = fields.text()
    accepted = fields.flag()
    reason = fields.text()


class Delivery(Shape):
    """An event that is not delivered. `next_at` is the next attempt, null for a dead letter."""

    event_id = fields.text()
    event_type = fields.text()
    stream = fields.text()
    position = fields.number()
    state: Field[DeliveryState] = fields.word()
    attempts = fields.number()
    next_at = fields.text()
    reason = fields.text()
    failed_at = fields.text()


class DeliveryPage(Shape):
    """A page by position; `next` is the following `after`."""

    deliveries = fields.many(Delivery)
    next = fields.number()


class Replay(Shape):
    """Result of a replay: the number of dead letters that are sent again, or the position after
    which everything is. `gap` is the part of that which is no longer kept."""

    deliveries = fields.number()
    after = fields.number()
    gap = fields.one(Gap)


class WebhookBody(TypedDict, total=False):
    """An endpoint, and the events it receives. Empty lists mean all of them. With the scope
    `organization` it receives what the whole team may see, and only administrators make it."""

    url: Required[str]
    event_types: list[str]
    streams: list[str]
    scope: WebhookScope


class WebhookChangeBody(TypedDict, total=False):
    """A change; what is left out stays. `enabled` turns a webhook off, or on where it stopped."""

    url: str | None
    event_types: list[str] | None
    streams: list[str] | None
    enabled: bool | None


class ReplayBody(TypedDict, total=False):
    """The events to send again: the dead letter of one event, everything after a position, or
    with neither all dead letters."""

    event_id: str | None
    after: int | None


class Webhooks:
    """Endpoints that receive events. Every method raises the classes of `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> WebhookList:
        """Return the webhooks that the caller made, without their secrets. One that a create
        named is found by its id, which its sandbox shows."""
        return self._transport.read(WebhookList, get("webhooks"))

    def create(self, body: WebhookBody) -> MadeWebhook:
        """Post what is appended from now on to an endpoint. Only this answer has the secret."""
        return self._transport.read(MadeWebhook, post("webhooks", value=body))

    def get(self, webhook_id: str) -> Webhook:
        """Return a webhook."""
        return self._transport.read(Webhook, get("webhooks", webhook_id))

    def change(self, webhook_id: str, body: WebhookChangeBody) -> Webhook:
        """Change a webhook. New filters apply to what was not read yet."""
        return self._transport.read(Webhook, patch("webhooks", webhook_id, value=body))

    def remove(self, webhook_id: str) -> None:
        """Remove a webhook, its secrets and its dead letters."""
        self._transport.call(Call("DELETE", api_path("webhooks", webhook_id)))

    def rotate(self, webhook_id: str, *, overlap: int | str | None = None) -> MadeWebhook:
        """Make a new secret. Only this answer has it."""
        return self._transport.read(
            MadeWebhook, post("webhooks", webhook_id, "rotate", value=omit_absent(overlap=overlap))
        )

    def test(self, webhook_id: str) -> EndpointTest:
        """Post an event `webhook.tested` now, once, and return how that went."""
        return self._transport.read(EndpointTest, post("webhooks", webhook_id, "test"))

    def deliveries(
        self,
        webhook_id: str,
        *,
        state: DeliveryState | None = None,
        after: int | None = None,
        limit: int | None = None,
        query: Pairs = (),
    ) -> DeliveryPage:
        """Return what the endpoint did not accept: what is retried, replayed, and dead letters."""
        return self._transport.read(
            DeliveryPage,
            get(
                "webhooks",
                webhook_id,
                "deliveries",
                query=query_of(state=state, after=after, limit=limit) + query,
            ),
        )

    def drop(self, webhook_id: str) -> None:
        """Drop all dead letters. Their events stay in the log."""
        self._transport.call(Call("DELETE", api_path("webhooks", webhook_id, "deliveries")))

    def replay(self, webhook_id: str, body: ReplayBody) -> Replay:
        """Send dead letters again, or everything after a position, also what was delivered."""
        return self._transport.read(Replay, post("webhooks", webhook_id, "replay", value=body))
