"""Tables and rows of hooks."""

from datetime import datetime

import msgspec
from sqlalchemy import BigInteger, Column, Index, LargeBinary, Table, Text, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import metadata, to_us
from atoll.domain.hooks.hook import Hook, HookId
from atoll.domain.ids import OrgId, PrincipalId
from atoll.ports.store.hooks import HookRows
from atoll.ports.vault import Sealed

hooks = Table(
    "hooks",
    metadata,
    Column("id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("key_id", Text, nullable=False),
    Column("wrapped", LargeBinary, nullable=False),
    Column("sealed", LargeBinary, nullable=False),
    Index("hooks_by_owner", "org_id", "owner"),
)

hook_reports = Table(
    "hook_reports",
    metadata,
    Column("hook_id", Text, primary_key=True),
    Column("mark", Text, primary_key=True),
    Column("until_us", BigInteger, nullable=False),
    Index("hook_reports_by_end", "until_us"),
)

_KEPT = (hooks.c.body, hooks.c.key_id, hooks.c.wrapped, hooks.c.sealed)
_decoder = msgspec.json.Decoder(Hook)


class SqlHookRows(HookRows):
    """The `ports.store.hooks.hooks.HookRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def put(self, hook: Hook, sealed: Sealed) -> None:
        """See the port."""
        await self._connection.execute(delete(hooks).where(hooks.c.id == hook.id))
        await self._connection.execute(
            insert(hooks),
            {
                "id": hook.id,
                "org_id": hook.org_id,
                "owner": hook.owner,
                "body": msgspec.json.encode(hook).decode(),
                "key_id": sealed.key_id,
                "wrapped": sealed.wrapped,
                "sealed": sealed.body,
            },
        )

    async def all(self) -> list[tuple[Hook, Sealed]]:
        """See the port."""
        cursor = await self._connection.execute(select(*_KEPT).order_by(hooks.c.id))
        return [(_decoder.decode(body), Sealed(*sealed)) for body, *sealed in cursor]

    async def of(self, org_id: OrgId, owner: PrincipalId) -> list[Hook]:
        """See the port."""
        query = select(hooks.c.body).where(hooks.c.org_id == org_id, hooks.c.owner == owner)
        listed = [_decoder.decode(body) for (body,) in await self._connection.execute(query)]
        return sorted(listed, key=lambda hook: (hook.created_at, hook.id))

    async def get(self, hook_id: HookId) -> tuple[Hook, Sealed] | None:
        """See the port."""
        cursor = await self._connection.execute(select(*_KEPT).where(hooks.c.id == hook_id))
        row = cursor.first()
        return None if row is None else (_decoder.decode(row[0]), Sealed(*row[1:]))

    async def remove(self, hook_id: HookId) -> None:
        """See the port."""
        await self._connection.execute(delete(hooks).where(hooks.c.id == hook_id))
        gone = delete(hook_reports).where(hook_reports.c.hook_id == hook_id)
        await self._connection.execute(gone)

    async def take(self, hook_id: HookId, marks: tuple[str, ...], until: datetime) -> bool:
        """See the port."""
        known = select(hook_reports.c.mark).where(
            hook_reports.c.hook_id == hook_id, hook_reports.c.mark.in_(marks)
        )
        if (await self._connection.execute(known)).first() is not None:
            return False
        rows = [
            {"hook_id": hook_id, "mark": mark, "until_us": to_us(until)}
            for mark in dict.fromkeys(marks)
        ]
        await self._connection.execute(insert(hook_reports), rows)
        return True

    async def forget(self, before: datetime) -> None:
        """See the port."""
        gone = delete(hook_reports).where(hook_reports.c.until_us <= to_us(before))
        await self._connection.execute(gone)
