"""Tables and rows of idempotency keys."""

from datetime import datetime

from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    PrimaryKeyConstraint,
    Table,
    Text,
    delete,
    insert,
    select,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import from_us, metadata, to_us
from atoll.domain.ids import OrgId, PrincipalId, SandboxId
from atoll.ports import IdempotencyRecord
from atoll.ports.store.idempotency import IdempotencyRows

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("sandbox_id", Text, nullable=False),
    Column("at_us", BigInteger, nullable=False),
    PrimaryKeyConstraint("org_id", "owner", "key"),
    Index("idempotency_keys_by_age", "at_us"),
)


class SqlIdempotencyRows(IdempotencyRows):
    """The `ports.store.idempotency.IdempotencyRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def get(self, org_id: OrgId, owner: PrincipalId, key: str) -> IdempotencyRecord | None:
        """See the port."""
        table = idempotency_keys.c
        found = await self._connection.execute(
            select(table.digest, table.sandbox_id, table.at_us).where(
                table.org_id == org_id, table.owner == owner, table.key == key
            )
        )
        row = found.one_or_none()
        return (
            None if row is None else IdempotencyRecord(row[0], SandboxId(row[1]), from_us(row[2]))
        )

    async def put(
        self, org_id: OrgId, owner: PrincipalId, *, key: str, record: IdempotencyRecord
    ) -> None:
        """See the port."""
        table = idempotency_keys.c
        await self._connection.execute(
            delete(idempotency_keys).where(
                table.org_id == org_id, table.owner == owner, table.key == key
            )
        )
        await self._connection.execute(
            insert(idempotency_keys),
            {
                "org_id": org_id,
                "owner": owner,
                "key": key,
                "digest": record.digest,
                "sandbox_id": record.sandbox_id,
                "at_us": to_us(record.at),
            },
        )

    async def forget(self, before: datetime) -> None:
        """See the port."""
        await self._connection.execute(
            delete(idempotency_keys).where(idempotency_keys.c.at_us < to_us(before))
        )
