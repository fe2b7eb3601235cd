"""Table and rows of review threads."""

from sqlalchemy import BigInteger, Column, Index, Table, Text, func, select

from atoll.adapters.storage.columns import metadata, to_us
from atoll.adapters.storage.records import RecordTable, SqlRecords
from atoll.domain.ids import SandboxId
from atoll.domain.work.thread import ReviewThread, ThreadId
from atoll.ports.store.work.threads import ReviewThreadRows

threads = Table(
    "review_threads",
    metadata,
    Column("id", Text, primary_key=True),
    Column("sandbox_id", Text, nullable=False),
    Column("org_id", Text, nullable=False),
    Column("opened_us", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    Index("review_threads_by_age", "sandbox_id", "opened_us", "id"),
)


class SqlReviewThreadRows(SqlRecords[ReviewThread, SandboxId, ThreadId], ReviewThreadRows):
    """The `ports.store.work.threads.ReviewThreadRows` on one connection."""

    records = RecordTable(
        threads,
        ReviewThread,
        lambda thread: {
            "id": thread.id,
            "sandbox_id": thread.sandbox_id,
            "org_id": thread.org_id,
            "opened_us": to_us(thread.opened_at),
        },
        key=(threads.c.sandbox_id, threads.c.id),
        order=(threads.c.opened_us, threads.c.id),
    )

    async def of_sandbox(self, sandbox_id: SandboxId) -> list[ReviewThread]:
        """See the port."""
        return await self._all(threads.c.sandbox_id == sandbox_id)

    async def count(self, sandbox_id: SandboxId) -> int:
        """See the port."""
        cursor = await self._connection.execute(
            select(func.count()).where(threads.c.sandbox_id == sandbox_id)
        )
        return int(cursor.scalar_one())

    async def remove_of(self, sandbox_id: SandboxId) -> None:
        """See the port."""
        await self._delete(threads.c.sandbox_id == sandbox_id)
