"""Webhooks with their sealed secrets, and what they could not deliver."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from atoll.domain.webhooks.delivery import Delivery
from atoll.domain.webhooks.webhook import Webhook, WebhookId
from atoll.ports.store.records import OwnedRecords, Records
from atoll.ports.vault import Sealed
from atoll.wire.words.webhooks import DeliveryState


@dataclass(frozen=True, slots=True)
class SealedKey:
    """A sealed secret of a webhook. It signs until `until`; None for the newest."""

    version: int
    until: datetime | None
    sealed: Sealed


@dataclass(frozen=True, slots=True)
class KeptWebhook:
    """A webhook and its secrets, the newest first."""

    webhook: Webhook
    keys: tuple[SealedKey, ...]


class WebhookRows(OwnedRecords[KeptWebhook, WebhookId], Protocol):
    """Webhooks and their sealed secrets; secrets in the clear never come here. A person's webhooks
    are listed oldest first."""

    async def everything(self) -> list[KeptWebhook]:
        """Return everybody's webhooks, by id."""
        ...

    async def remove(self, webhook_id: WebhookId) -> None:
        """Remove a webhook and its deliveries; a missing one is not an error."""
        ...


class WebhookDeliveryRows(Records[Delivery, WebhookId, str], Protocol):
    """Deliveries: at most one of a webhook and an event."""

    async def of(
        self, webhook_id: WebhookId, *, states: frozenset[DeliveryState], after: int, limit: int
    ) -> list[Delivery]:
        """Return deliveries in one of these states after a position, by position."""
        ...

    async def counts(self, webhook_id: WebhookId) -> Mapping[DeliveryState, int]:
        """Return the number of deliveries in each state that has any."""
        ...

    async def remove_after(
        self, webhook_id: WebhookId, position: int, *, states: frozenset[DeliveryState]
    ) -> int:
        """Remove the deliveries in one of these states after a position; returns their number."""
        ...
