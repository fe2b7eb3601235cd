"""Tables and rows of webhooks, and of what they could not deliver."""

from collections.abc import Mapping

from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    PrimaryKeyConstraint,
    Table,
    Text,
    delete,
    func,
    select,
)

from atoll.adapters.storage.columns import metadata
from atoll.adapters.storage.records import RecordTable, SqlOwnedRecords, SqlRecords
from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.webhooks.delivery import Delivery
from atoll.domain.webhooks.webhook import WebhookId
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


class SqlWebhookRows(SqlOwnedRecords[KeptWebhook, WebhookId], WebhookRows):
    """The `ports.store.webhooks.WebhookRows` on one connection."""

    records = RecordTable(
        webhooks,
        KeptWebhook,
        lambda record: {
            "id": record.webhook.id,
            "org_id": record.webhook.org_id,
            "owner": record.webhook.owner,
        },
        order=(webhooks.c.id,),
    )

    async def of(self, org_id: OrgId, owner: PrincipalId) -> list[KeptWebhook]:
        """See the port."""
        listed = await super().of(org_id, owner)
        return sorted(listed, key=lambda record: (record.webhook.created_at, record.webhook.id))

    async def everything(self) -> list[KeptWebhook]:
        """See the port."""
        return await self._all()

    async def remove(self, webhook_id: WebhookId) -> None:
        """See the port."""
        theirs = webhook_deliveries.c.webhook_id == webhook_id
        await self._connection.execute(delete(webhook_deliveries).where(theirs))
        await super().remove(webhook_id)


class SqlWebhookDeliveryRows(SqlRecords[Delivery, WebhookId, str], WebhookDeliveryRows):
    """The `ports.store.webhooks.WebhookDeliveryRows` on one connection."""

    records = RecordTable(
        webhook_deliveries,
        Delivery,
        lambda delivery: {
            "webhook_id": delivery.webhook_id,
            "event_id": delivery.event_id,
            "state": delivery.state.value,
            "position": delivery.position,
        },
    )

    async def of(
        self, webhook_id: WebhookId, *, states: frozenset[DeliveryState], after: int, limit: int
    ) -> list[Delivery]:
        """See the port."""
        table = webhook_deliveries.c
        cursor = await self._connection.execute(
            select(table.body)
            .where(
                table.webhook_id == webhook_id,
                table.position > after,
                table.state.in_(sorted(states)),
            )
            .order_by(table.position)
            .limit(limit)
        )
        return [self.records.decode(body) for body in cursor.scalars()]

    async def counts(self, webhook_id: WebhookId) -> Mapping[DeliveryState, int]:
        """See the port."""
        table = webhook_deliveries.c
        cursor = await self._connection.execute(
            select(table.state, func.count())
            .where(table.webhook_id == webhook_id)
            .group_by(table.state)
        )
        return {DeliveryState(state): number for state, number in cursor.all()}

    async def remove_after(
        self, webhook_id: WebhookId, position: int, *, states: frozenset[DeliveryState]
    ) -> int:
        """See the port."""
        table = webhook_deliveries.c
        return await self._delete(
            table.webhook_id == webhook_id,
            table.position > position,
            table.state.in_(sorted(states)),
        )
