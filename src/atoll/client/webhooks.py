"""Webhooks over the API: endpoints that receive events, and what they did not accept."""

from typing import Literal, Required, TypedDict

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.transport import Call, Pairs, Transport, at, get, patch, post

WebhookScope = Literal["own", "organization"]
DeliveryState = Literal["retrying", "replaying", "dead"]


class Webhook(Shape):
    """An endpoint, and how its deliveries go."""

    webhook_id = fields.text()
    scope: Field[WebhookScope] = fields.word()
    url = fields.text()
    event_types = fields.texts()
    streams = fields.texts()
    enabled = fields.flag()
    reason = fields.text()
    cursor = fields.number()
    created_at = fields.text()
    delivered_at = fields.text()
    failing_since = fields.text()
    failure = fields.text()
    failed_at = fields.text()
    retrying = fields.number()
    replaying = fields.number()
    dead = fields.number()


class MadeWebhook(Webhook):
    """A webhook with its new secret."""

    secret = fields.text()


class WebhookList(Shape):
    """The caller's webhooks."""

    webhooks = fields.many(Webhook)


class EndpointTest(Shape):
    """Result of a test."""

    event_id = fields.text()
    accepted = fields.flag()
    reason = fields.text()


class Delivery(Shape):
    """An event that is not delivered."""

    event_id = fields.text()
    event_type = fields.text()
    stream = fields.text()
    position = fields.number()
    state: Field[DeliveryState] = fields.word()
    attempts = fields.number()
    next_at = fields.text()
    reason = fields.text()


class DeliveryPage(Shape):
    """A page of deliveries."""

    deliveries = fields.many(Delivery)
    next = fields.number()


class Replay(Shape):
    """Result of a replay."""

    deliveries = fields.number()


class WebhookBody(TypedDict, total=False):
    """An endpoint, and the events it receives."""

    url: Required[str]
    event_types: list[str]
    streams: list[str]
    scope: WebhookScope


class WebhookChangeBody(TypedDict, total=False):
    """A change of a webhook."""

    url: str | None
    event_types: list[str] | None
    streams: list[str] | None
    enabled: bool | None


class ReplayBody(TypedDict, total=False):
    """The events to send again."""

    event_id: str | None
    after: int | None


class Webhooks:
    """The webhooks of the caller. Every method raises the classes of `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> WebhookList:
        """Return the webhooks, without their secrets."""
        return self._transport.read(WebhookList, get("webhooks"))

    def create(self, body: WebhookBody) -> MadeWebhook:
        """Make a webhook; only this answer has its secret."""
        return self._transport.read(MadeWebhook, post("webhooks", value=body))

    def get(self, webhook_id: str) -> Webhook:
        """Return a webhook."""
        return self._transport.read(Webhook, get("webhooks", webhook_id))

    def change(self, webhook_id: str, body: WebhookChangeBody) -> Webhook:
        """Change a webhook."""
        return self._transport.read(Webhook, patch("webhooks", webhook_id, value=body))

    def remove(self, webhook_id: str) -> None:
        """Remove a webhook and its dead letters."""
        self._transport.call(Call("DELETE", at("webhooks", webhook_id)))

    def rotate(self, webhook_id: str, *, overlap: str | None) -> MadeWebhook:
        """Make a new secret; the former one signs for `overlap`, such as `2h`, too."""
        value: dict[str, object] = {}
        if overlap is not None:
            value["overlap"] = 0 if overlap == "0" else overlap
        return self._transport.read(
            MadeWebhook, post("webhooks", webhook_id, "rotate", value=value)
        )

    def test(self, webhook_id: str) -> EndpointTest:
        """Post a test event and return how that went."""
        return self._transport.read(EndpointTest, post("webhooks", webhook_id, "test"))

    def deliveries(self, webhook_id: str, *, query: Pairs = ()) -> DeliveryPage:
        """Return a page of what the endpoint did not accept."""
        return self._transport.read(
            DeliveryPage, get("webhooks", webhook_id, "deliveries", query=query)
        )

    def drop(self, webhook_id: str) -> None:
        """Drop all dead letters."""
        self._transport.call(Call("DELETE", at("webhooks", webhook_id, "deliveries")))

    def replay(self, webhook_id: str, body: ReplayBody) -> Replay:
        """Send dead letters again, or everything after a position."""
        return self._transport.read(Replay, post("webhooks", webhook_id, "replay", value=body))
