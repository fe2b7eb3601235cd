"""Single attempts: an event is signed with the webhook's secrets and posted to its endpoint."""

from collections.abc import Mapping
from datetime import datetime

import atoll
from atoll.domain.errors import AtollError
from atoll.domain.event import Event
from atoll.domain.webhooks.delivery import Failure, failure_of
from atoll.domain.webhooks.signature import MAX_BODY, body_of, signed_headers
from atoll.ports import Vault
from atoll.ports.senders.webhooks import WebhookSender
from atoll.ports.store.webhooks import KeptWebhook
from atoll.services.ground import Ground
from atoll.services.webhooks.signing_secrets import SigningSecrets


class WebhookPosting:
    """Posts of events to endpoints. What fails is a result, with a reason for the owner."""

    def __init__(self, ground: Ground, vault: Vault, sender: WebhookSender) -> None:
        self._clock = ground.clock
        self._sender = sender
        self._signing = SigningSecrets(ground.store, vault)

    async def check(self, url: str) -> None:
        """Return if the URL may be an endpoint. Raises `Invalid`, `Forbidden`, `Unavailable`."""
        await self._sender.check(url)

    async def post(self, record: KeptWebhook, event: Event) -> Failure | None:
        """Post an event once. Returns None when the endpoint accepted it."""
        return await self.send(record, event.id, body_of(event))

    async def send(self, record: KeptWebhook, event_id: str, body: bytes) -> Failure | None:
        """Post the message of an event, as `post` does."""
        webhook, now = record.webhook, self._clock.now()
        if len(body) > MAX_BODY:
            return Failure(
                f"The event has {len(body)} bytes, a message may have {MAX_BODY}: read it from "
                "the log.",
                final=True,
            )
        try:
            headers = await self._headers(record, event_id, body, now)
            receipt = await self._sender.send(webhook.url, headers, body)
        except AtollError as error:
            return Failure(error.message)
        return failure_of(webhook.host, receipt)

    async def _headers(
        self, record: KeptWebhook, message_id: str, body: bytes, now: datetime
    ) -> Mapping[str, str]:
        secrets = await self._signing.read(record, now)
        return {
            **signed_headers(message_id, body, at=now, secrets=secrets),
            "Content-Type": "application/json",
            "User-Agent": f"atoll/{atoll.__version__}",
        }
