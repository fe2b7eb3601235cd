"""Single attempts: an event is signed with the webhook's secrets and posted to its endpoint."""

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime

import atoll
from atoll.domain.errors import AtollError
from atoll.domain.event import Event, Json
from atoll.domain.webhook.delivery import Echo, Failure, failure_of
from atoll.domain.webhook.signature import MAX_BODY, body_of, bound_to, signed_headers
from atoll.domain.webhook.subscription import HEADER, message_of
from atoll.ports import Clock, Vault
from atoll.ports.senders.webhooks import WebhookSender
from atoll.ports.store.webhooks import KeptWebhook


class WebhookPosting:
    """Posts of events to endpoints. What fails is a result, with a reason for the owner."""

    def __init__(self, clock: Clock, vault: Vault, sender: WebhookSender) -> None:
        self._clock = clock
        self._vault = vault
        self._sender = sender

    async def check(self, url: str) -> None:
        """Return if the URL may be an endpoint. Raises `Invalid`, `Forbidden`, `Unavailable`."""
        await self._sender.check(url)

    async def post(self, kept: KeptWebhook, event: Event) -> Failure | None:
        """Post an event once. Returns None when the endpoint accepted it."""
        return await self.send(kept, event.id, body_of(event))

    async def send(self, kept: KeptWebhook, event_id: str, body: bytes) -> Failure | None:
        """Post the message of an event, as `post` does."""
        webhook, now = kept.webhook, self._clock.now()
        if len(body) > MAX_BODY:
            return Failure(
                f"The event has {len(body)} bytes, a message may have {MAX_BODY}: read it from "
                "the log.",
                final=True,
            )
        try:
            receipt = await self._sender.send(
                webhook.url, self._headers(kept, event_id, body, now), body
            )
        except AtollError as error:
            return Failure(error.message)
        return failure_of(webhook.host, receipt, subscribed=webhook.subscription is not None)

    async def tell(self, kept: KeptWebhook, kind: str, told: Mapping[str, Json]) -> None:
        """Post a message about a subscription once, whatever becomes of it."""
        await self.send(kept, _message_id(kind), message_of({"type": kind, **told}))

    async def challenge(self, kept: KeptWebhook, nonce: str) -> Echo:
        """Post a challenge to the endpoint of a subscription and return its answer. Raises as the
        sender does."""
        identity = _message_id("verification")
        body = message_of({"type": "verification", "challenge": nonce})
        headers = self._headers(kept, identity, body, self._clock.now())
        return await self._sender.ask(kept.webhook.url, headers, body)

    def _headers(
        self, kept: KeptWebhook, message_id: str, body: bytes, now: datetime
    ) -> Mapping[str, str]:
        webhook = kept.webhook
        routed = {} if webhook.subscription is None else {HEADER: str(webhook.id)}
        return {
            **signed_headers(message_id, body, at=now, secrets=self._secrets(kept, now)),
            **routed,
            "Content-Type": "application/json",
            "User-Agent": f"atoll/{atoll.__version__}",
        }

    def _secrets(self, kept: KeptWebhook, now: datetime) -> Sequence[str]:
        """Return the secrets that sign now, the newest first. Raises `Failed`."""
        return [
            self._vault.open(key.sealed, bound_to(kept.webhook, key.version))
            for key in kept.keys
            if key.until is None or now < key.until
        ]


def _message_id(kind: str) -> str:
    return f"msg_{kind}_{secrets.token_hex(8)}"
