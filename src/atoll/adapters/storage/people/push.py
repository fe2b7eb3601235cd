"""Table and rows of push subscriptions."""

from sqlalchemy import Column, Index, Table, Text, select

from atoll.adapters.storage.columns import metadata
from atoll.adapters.storage.records import RecordTable, SqlOwnedRecords
from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.people.login import fingerprint
from atoll.domain.people.push import PushSubscription, PushSubscriptionId
from atoll.ports.store.people.push import PushRows

push_subscriptions = Table(
    "push_subscriptions",
    metadata,
    Column("id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("mark", Text, nullable=False),
    Column("body", Text, nullable=False),
    Index("push_subscriptions_by_owner", "org_id", "owner", "mark", unique=True),
)


class SqlPushRows(SqlOwnedRecords[PushSubscription, PushSubscriptionId], PushRows):
    """The `ports.store.push.PushRows` on one connection."""

    records = RecordTable(
        push_subscriptions,
        PushSubscription,
        lambda subscription: {
            "id": subscription.id,
            "org_id": subscription.org_id,
            "owner": subscription.owner,
            "mark": fingerprint(subscription.target.endpoint),
        },
    )

    async def put(self, subscription: PushSubscription) -> None:
        """See the port."""
        table = push_subscriptions.c
        await self._delete(
            table.org_id == subscription.org_id,
            table.owner == subscription.owner,
            table.mark == fingerprint(subscription.target.endpoint),
        )
        await self.add(subscription)

    async def of(self, org_id: OrgId, owner: PrincipalId) -> list[PushSubscription]:
        """See the port."""
        listed = await super().of(org_id, owner)
        return sorted(listed, key=lambda subscription: (subscription.created_at, subscription.id))

    async def owners(self) -> list[tuple[OrgId, PrincipalId]]:
        """See the port."""
        table = push_subscriptions.c
        cursor = await self._connection.execute(select(table.org_id, table.owner).distinct())
        return [(OrgId(org_id), PrincipalId(owner)) for org_id, owner in cursor.all()]
