"""Table and rows of wakings."""

from collections.abc import Mapping

import msgspec
from sqlalchemy import Column, Index, Integer, Table, Text, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import metadata
from atoll.domain.ids import OrgId, SandboxId
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.tools.waking import Waking
from atoll.ports.store.tools.wakings import WakingRows

wakings = Table(
    "wakings",
    metadata,
    Column("sandbox_id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("waits", Integer, nullable=False),
    Column("body", Text, nullable=False),
    Index("wakings_by_org", "org_id"),
)

_LOG = ""
"""The id of the row that holds the position in the log: no sandbox has it."""

_decoder = msgspec.json.Decoder(Waking)


class SqlWakingRows(WakingRows):
    """The `ports.store.tools.wakings.WakingRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def put(self, sandbox: Sandbox, waking: Waking) -> None:
        """See the port."""
        row = {
            "sandbox_id": sandbox.id,
            "org_id": sandbox.org_id,
            "owner": sandbox.owner,
            "waits": int(waking.waits),
            "body": msgspec.json.encode(waking).decode(),
        }
        await self._replace(sandbox.id, row)

    async def get(self, sandbox_id: SandboxId) -> Waking | None:
        """See the port."""
        query = select(wakings.c.body).where(wakings.c.sandbox_id == sandbox_id)
        body = (await self._connection.execute(query)).scalar_one_or_none()
        return None if body is None else _decoder.decode(body)

    async def of(self, org_id: OrgId) -> Mapping[SandboxId, Waking]:
        """See the port."""
        own = (wakings.c.org_id == org_id, wakings.c.sandbox_id != _LOG)
        query = select(wakings.c.sandbox_id, wakings.c.body).where(*own)
        cursor = await self._connection.execute(query.order_by(wakings.c.sandbox_id))
        return {SandboxId(row.sandbox_id): _decoder.decode(row.body) for row in cursor}

    async def waiting(self) -> list[SandboxId]:
        """See the port."""
        query = select(wakings.c.sandbox_id).where(wakings.c.waits == 1)
        cursor = await self._connection.execute(query.order_by(wakings.c.sandbox_id))
        return [SandboxId(sandbox_id) for sandbox_id in cursor.scalars()]

    async def remove(self, sandbox_id: SandboxId) -> None:
        """See the port."""
        await self._connection.execute(delete(wakings).where(wakings.c.sandbox_id == sandbox_id))

    async def position(self) -> int | None:
        """See the port."""
        query = select(wakings.c.body).where(wakings.c.sandbox_id == _LOG)
        stored = (await self._connection.execute(query)).scalar_one_or_none()
        return None if stored is None else int(stored)

    async def set_position(self, position: int) -> None:
        """See the port."""
        row = {"org_id": "", "owner": "", "waits": 0, "body": str(position)}
        await self._replace(SandboxId(_LOG), {"sandbox_id": _LOG, **row})

    async def _replace(self, sandbox_id: SandboxId, row: Mapping[str, object]) -> None:
        await self.remove(sandbox_id)
        await self._connection.execute(insert(wakings), row)
