"""Table and rows of push subscriptions."""

import msgspec
from sqlalchemy import Column, Index, Table, Text, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import metadata
from atoll.domain.ids import OrgId, PrincipalId, PushSubscriptionId
from atoll.domain.people.login import fingerprint
from atoll.domain.people.push import PushSubscription
from atoll.ports.store.push import PushRows

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

_bodies = msgspec.json.Decoder(PushSubscription)


class SqlPushRows(PushRows):
    """The `ports.store.push.PushRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def put(self, subscription: PushSubscription) -> None:
        """See the port."""
        table, mark = push_subscriptions.c, fingerprint(subscription.target.endpoint)
        await self._connection.execute(
            delete(push_subscriptions).where(
                table.org_id == subscription.org_id,
                table.owner == subscription.owner,
                table.mark == mark,
            )
        )
        await self._connection.execute(
            insert(push_subscriptions),
            {
                "id": subscription.id,
                "org_id": subscription.org_id,
                "owner": subscription.owner,
                "mark": mark,
                "body": msgspec.json.encode(subscription).decode(),
            },
        )

    async def of(self, org_id: OrgId, owner: PrincipalId) -> list[PushSubscription]:
        """See the port."""
        table = push_subscriptions.c
        found = await self._connection.execute(
            select(table.body).where(table.org_id == org_id, table.owner == owner)
        )
        listed = [_bodies.decode(body) for body in found.scalars()]
        return sorted(listed, key=lambda one: (one.created_at, one.id))

    async def owners(self) -> list[tuple[OrgId, PrincipalId]]:
        """See the port."""
        table = push_subscriptions.c
        found = await self._connection.execute(select(table.org_id, table.owner).distinct())
        return [(OrgId(org_id), PrincipalId(owner)) for org_id, owner in found.all()]

    async def remove(self, subscription_id: PushSubscriptionId) -> None:
        """See the port."""
        table = push_subscriptions.c
        await self._connection.execute(
            delete(push_subscriptions).where(table.id == subscription_id)
        )
