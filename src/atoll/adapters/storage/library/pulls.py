"""Table and rows of pull orders."""

import msgspec
from sqlalchemy import BigInteger, Column, Index, Table, Text, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import metadata, to_us
from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.sandbox.pull_order import PullOrder
from atoll.ports.store.library.pulls import PullRows
from atoll.wire.words.library import KEPT_ORDERS

pull_orders = Table(
    "pull_orders",
    metadata,
    Column("id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("at_us", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    Index("pull_orders_by_owner", "org_id", "owner", "at_us"),
)

_decoder = msgspec.json.Decoder(PullOrder)


class SqlPullRows(PullRows):
    """The `ports.store.library.pulls.PullRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def put(self, order: PullOrder) -> None:
        """See the port."""
        others = [one.id for one in await self.of(order.org_id, order.owner) if one.id != order.id]
        gone = [order.id, *others[: max(0, len(others) + 1 - KEPT_ORDERS)]]
        await self._connection.execute(delete(pull_orders).where(pull_orders.c.id.in_(gone)))
        await self._connection.execute(
            insert(pull_orders),
            {
                "id": order.id,
                "org_id": order.org_id,
                "owner": order.owner,
                "at_us": to_us(order.at),
                "body": msgspec.json.encode(order).decode(),
            },
        )

    async def get(self, order_id: str) -> PullOrder | None:
        """See the port."""
        found = await self._connection.execute(
            select(pull_orders.c.body).where(pull_orders.c.id == order_id)
        )
        body = found.scalar()
        return None if body is None else _decoder.decode(body)

    async def of(self, org_id: OrgId, owner: PrincipalId) -> list[PullOrder]:
        """See the port."""
        table = pull_orders.c
        found = await self._connection.execute(
            select(table.body)
            .where(table.org_id == org_id, table.owner == owner)
            .order_by(table.at_us, table.id)
        )
        return [_decoder.decode(body) for body in found.scalars()]
