"""Table and rows of pull orders."""

from sqlalchemy import BigInteger, Column, Index, Table, Text

from atoll.adapters.storage.columns import metadata, to_us
from atoll.adapters.storage.records import RecordTable, SqlOwnedRecords
from atoll.domain.sandboxes.pull_order import PullOrder
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


class SqlPullRows(SqlOwnedRecords[PullOrder, str], PullRows):
    """The `ports.store.library.pulls.PullRows` on one connection."""

    records = RecordTable(
        pull_orders,
        PullOrder,
        lambda order: {
            "id": order.id,
            "org_id": order.org_id,
            "owner": order.owner,
            "at_us": to_us(order.at),
        },
        order=(pull_orders.c.at_us, pull_orders.c.id),
    )

    async def put(self, order: PullOrder) -> None:
        """See the port."""
        others = [
            other.id for other in await self.of(order.org_id, order.owner) if other.id != order.id
        ]
        gone = [order.id, *others[: max(0, len(others) + 1 - KEPT_ORDERS)]]
        await self._delete(pull_orders.c.id.in_(gone))
        await self.add(order)
