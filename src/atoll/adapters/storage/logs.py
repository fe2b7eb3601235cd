"""Tables and rows of provisioning logs, and of the positions up to which journals were read."""

from collections.abc import Sequence
from dataclasses import replace

import msgspec
from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
    delete,
    insert,
    select,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import COUNTER, from_us, metadata, storable, to_us
from atoll.domain.ids import SandboxId
from atoll.domain.people.principal import Principal
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import LogLine
from atoll.ports.store.logs import LogRows

sandbox_log = Table(
    "sandbox_log",
    metadata,
    Column("n", COUNTER, primary_key=True, autoincrement=True),
    Column("sandbox_id", Text, nullable=False),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("at_us", BigInteger, nullable=False),
    Column("text", Text, nullable=False),
    Index("sandbox_log_by_sandbox", "sandbox_id", "n"),
)

journal_marks = Table(
    "journal_marks",
    metadata,
    Column("sandbox_id", Text, nullable=False),
    Column("generation", Integer, nullable=False),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("n", BigInteger, nullable=False),
    PrimaryKeyConstraint("sandbox_id", "generation"),
)

journal_actors = Table(
    "journal_actors",
    metadata,
    Column("sandbox_id", Text, nullable=False),
    Column("thing_id", Text, nullable=False),
    Column("body", Text, nullable=False),
    PrimaryKeyConstraint("sandbox_id", "thing_id"),
)

MAX_LINES = 1000
_actors = msgspec.json.Decoder(Principal)


class SqlLogRows(LogRows):
    """The `ports.store.logs.LogRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def append(self, sandbox: Sandbox, lines: Sequence[LogLine]) -> None:
        """See the port."""
        if lines:
            await self._connection.execute(
                insert(sandbox_log),
                [
                    {
                        "sandbox_id": sandbox.id,
                        "org_id": sandbox.org_id,
                        "owner": sandbox.owner,
                        "at_us": to_us(line.at),
                        "text": storable(line.text),
                    }
                    for line in lines
                ],
            )

    async def lines(self, sandbox_id: SandboxId) -> list[LogLine]:
        """See the port."""
        table = sandbox_log.c
        cursor = await self._connection.execute(
            select(table.at_us, table.text)
            .where(table.sandbox_id == sandbox_id)
            .order_by(table.n.desc())
            .limit(MAX_LINES)
        )
        return [LogLine(from_us(at), text) for at, text in reversed(cursor.all())]

    async def collected(self, sandbox_id: SandboxId, generation: int) -> int:
        """See the port."""
        table = journal_marks.c
        cursor = await self._connection.execute(
            select(table.n).where(table.sandbox_id == sandbox_id, table.generation == generation)
        )
        return cursor.scalar_one_or_none() or 0

    async def set_collected(self, sandbox: Sandbox, n: int) -> None:
        """See the port."""
        table = journal_marks.c
        await self._connection.execute(
            delete(journal_marks).where(
                table.sandbox_id == sandbox.id, table.generation == sandbox.generation
            )
        )
        await self._connection.execute(
            insert(journal_marks),
            {
                "sandbox_id": sandbox.id,
                "generation": sandbox.generation,
                "org_id": sandbox.org_id,
                "owner": sandbox.owner,
                "n": n,
            },
        )

    async def remember_actor(self, sandbox_id: SandboxId, thing_id: str, actor: Principal) -> None:
        """See the port."""
        same = (journal_actors.c.sandbox_id == sandbox_id, journal_actors.c.thing_id == thing_id)
        author = replace(actor, capabilities=frozenset(), roles=(), groups=())
        await self._connection.execute(delete(journal_actors).where(*same))
        await self._connection.execute(
            insert(journal_actors),
            {
                "sandbox_id": sandbox_id,
                "thing_id": storable(thing_id),
                "body": msgspec.json.encode(author).decode(),
            },
        )

    async def actor(self, sandbox_id: SandboxId, thing_id: str) -> Principal | None:
        """See the port."""
        table = journal_actors.c
        cursor = await self._connection.execute(
            select(table.body).where(table.sandbox_id == sandbox_id, table.thing_id == thing_id)
        )
        body = cursor.scalar_one_or_none()
        return None if body is None else _actors.decode(body)

    async def forget_actors(self, sandbox_id: SandboxId) -> None:
        """See the port."""
        await self._connection.execute(
            delete(journal_actors).where(journal_actors.c.sandbox_id == sandbox_id)
        )
