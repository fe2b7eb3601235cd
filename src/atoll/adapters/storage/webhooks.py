"""Tables and rows of webhooks, and of what they could not deliver."""

from collections.abc import Mapping

import msgspec
from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    PrimaryKeyConstraint,
    Table,
    Text,
    delete,
    func,
    insert,
    select,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import metadata
from atoll.domain.ids import OrgId, PrincipalId, WebhookId
from atoll.domain.webhook.delivery import Delivery
from atoll.ports.store.webhooks import KeptWebhook, WebhookDeliveryRows, WebhookRows
from atoll.wire.words.webhooks import DeliveryState

webhooks = Table(
    "webhooks",
    metadata,
    Column("id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("body", Text, nullable=False),
    Index("webhooks_by_owner", "org_id", "owner"),
)

webhook_deliveries = Table(
    "webhook_deliveries",
    metadata,
    Column("webhook_id", Text, nullable=False),
    Column("event_id", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    PrimaryKeyConstraint("webhook_id", "event_id"),
    Index("webhook_deliveries_by_position", "webhook_id", "position"),
)

_webhooks = msgspec.json.Decoder(KeptWebhook)
_deliveries = msgspec.json.Decoder(Delivery)


class SqlWebhookRows(WebhookRows):
    """The `ports.store.webhooks.WebhookRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def put(self, kept: KeptWebhook) -> None:
        """See the port."""
        webhook = kept.webhook
        await self._connection.execute(delete(webhooks).where(webhooks.c.id == webhook.id))
        await self._connection.execute(
            insert(webhooks),
            {
                "id": webhook.id,
                "org_id": webhook.org_id,
                "owner": webhook.owner,
                "body": msgspec.json.encode(kept).decode(),
            },
        )

    async def get(self, webhook_id: WebhookId) -> KeptWebhook | None:
        """See the port."""
        found = await self._connection.execute(
            select(webhooks.c.body).where(webhooks.c.id == webhook_id)
        )
        body = found.scalar_one_or_none()
        return None if body is None else _webhooks.decode(body)

    async def of(self, org_id: OrgId, owner: PrincipalId) -> list[KeptWebhook]:
        """See the port."""
        table = webhooks.c
        found = await self._connection.execute(
            select(table.body).where(table.org_id == org_id, table.owner == owner)
        )
        listed = [_webhooks.decode(body) for body in found.scalars()]
        return sorted(listed, key=lambda one: (one.webhook.created_at, one.webhook.id))

    async def everything(self) -> list[KeptWebhook]:
        """See the port."""
        found = await self._connection.execute(select(webhooks.c.body).order_by(webhooks.c.id))
        return [_webhooks.decode(body) for body in found.scalars()]

    async def remove(self, webhook_id: WebhookId) -> None:
        """See the port."""
        theirs = webhook_deliveries.c.webhook_id == webhook_id
        await self._connection.execute(delete(webhook_deliveries).where(theirs))
        await self._connection.execute(delete(webhooks).where(webhooks.c.id == webhook_id))


class SqlWebhookDeliveryRows(WebhookDeliveryRows):
    """The `ports.store.webhooks.WebhookDeliveryRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def put(self, delivery: Delivery) -> None:
        """See the port."""
        await self.remove(delivery.webhook_id, delivery.event_id)
        await self._connection.execute(
            insert(webhook_deliveries),
            {
                "webhook_id": delivery.webhook_id,
                "event_id": delivery.event_id,
                "state": delivery.state.value,
                "position": delivery.position,
                "body": msgspec.json.encode(delivery).decode(),
            },
        )

    async def get(self, webhook_id: WebhookId, event_id: str) -> Delivery | None:
        """See the port."""
        table = webhook_deliveries.c
        found = await self._connection.execute(
            select(table.body).where(table.webhook_id == webhook_id, table.event_id == event_id)
        )
        body = found.scalar_one_or_none()
        return None if body is None else _deliveries.decode(body)

    async def of(
        self, webhook_id: WebhookId, *, states: frozenset[DeliveryState], after: int, limit: int
    ) -> list[Delivery]:
        """See the port."""
        table = webhook_deliveries.c
        found = await self._connection.execute(
            select(table.body)
            .where(
                table.webhook_id == webhook_id,
                table.position > after,
                table.state.in_(sorted(states)),
            )
            .order_by(table.position)
            .limit(limit)
        )
        return [_deliveries.decode(body) for body in found.scalars()]

    async def counts(self, webhook_id: WebhookId) -> Mapping[DeliveryState, int]:
        """See the port."""
        table = webhook_deliveries.c
        found = await self._connection.execute(
            select(table.state, func.count())
            .where(table.webhook_id == webhook_id)
            .group_by(table.state)
        )
        return {DeliveryState(state): number for state, number in found.all()}

    async def remove(self, webhook_id: WebhookId, event_id: str) -> None:
        """See the port."""
        table = webhook_deliveries.c
        await self._connection.execute(
            delete(webhook_deliveries).where(
                table.webhook_id == webhook_id, table.event_id == event_id
            )
        )

    async def remove_after(
        self, webhook_id: WebhookId, position: int, *, states: frozenset[DeliveryState]
    ) -> int:
        """See the port."""
        table = webhook_deliveries.c
        gone = await self._connection.execute(
            delete(webhook_deliveries).where(
                table.webhook_id == webhook_id,
                table.position > position,
                table.state.in_(sorted(states)),
            )
        )
        return gone.rowcount
