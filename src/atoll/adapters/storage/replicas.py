"""Tables and rows by which replicas agree: leader, owed work, maintenance starts and logins."""

from collections.abc import Collection
from datetime import datetime

import msgspec
from sqlalchemy import BigInteger, Column, Table, Text, delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import metadata, to_us
from atoll.adapters.storage.sandboxes import sandboxes
from atoll.domain.ids import SandboxId
from atoll.domain.people.login import LoginBook
from atoll.domain.sandboxes.owed import Owed
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports.extension import Reachability
from atoll.ports.store.replicas import LoginRows, MaintenanceRows, ReplicaRows

leaders = Table(
    "leaders",
    metadata,
    Column("id", Text, primary_key=True),
    Column("epoch", BigInteger, nullable=False),
    Column("holder", Text, nullable=False),
)

owed_work = Table(
    "owed_work",
    metadata,
    Column("sandbox_id", Text, primary_key=True),
    Column("number", BigInteger, nullable=False),
    Column("ending", BigInteger, nullable=False),
)
"""The sandboxes of all organizations for which the leader has work."""

_ONLY = "control"
_sandboxes = msgspec.json.Decoder(Sandbox)

maintenance_requests = Table(
    "maintenance_requests",
    metadata,
    Column("sandbox_id", Text, primary_key=True),
    Column("until_us", BigInteger, nullable=False),
    Column("answer", Text),
)

_answers: msgspec.json.Decoder[Reachability | str] = msgspec.json.Decoder(Reachability | str)

login_books = Table(
    "login_books",
    metadata,
    Column("id", Text, primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
)
"""The book of the installation's person: fingerprints and ends only, never a secret."""

_PERSON = "local"
_books = msgspec.json.Decoder(LoginBook)


class SqlReplicaRows(ReplicaRows):
    """The `ports.store.replicas.ReplicaRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def elect(self, holder: str) -> tuple[int, str]:
        """See the port."""
        cursor = await self._connection.execute(select(leaders).where(leaders.c.id == _ONLY))
        before = cursor.one_or_none()
        epoch = 1 if before is None else before.epoch + 1
        await self._connection.execute(delete(leaders).where(leaders.c.id == _ONLY))
        row = {"id": _ONLY, "epoch": epoch, "holder": holder}
        await self._connection.execute(insert(leaders), row)
        return epoch, "" if before is None else before.holder

    async def resign(self, epoch: int) -> None:
        """See the port."""
        mine = (leaders.c.id == _ONLY, leaders.c.epoch == epoch)
        await self._connection.execute(update(leaders).where(*mine).values(holder=""))

    async def epoch(self) -> int:
        """See the port."""
        cursor = await self._connection.execute(select(leaders.c.epoch))
        return cursor.scalar() or 0

    async def owe(self, sandbox_id: SandboxId, *, ending: bool) -> None:
        """See the port."""
        cursor = await self._connection.execute(
            select(owed_work).where(owed_work.c.sandbox_id == sandbox_id)
        )
        before = cursor.one_or_none()
        row = {"number": 1, "ending": int(ending)}
        if before is None:
            await self._connection.execute(insert(owed_work), {"sandbox_id": sandbox_id, **row})
            return
        row = {"number": before.number + 1, "ending": int(ending or bool(before.ending))}
        change = update(owed_work).where(owed_work.c.sandbox_id == sandbox_id)
        await self._connection.execute(change.values(**row))

    async def owed(self) -> dict[SandboxId, int]:
        """See the port."""
        cursor = await self._connection.execute(select(owed_work.c.sandbox_id, owed_work.c.number))
        return {SandboxId(row.sandbox_id): row.number for row in cursor}

    async def owing(self, sandbox_ids: Collection[SandboxId]) -> list[tuple[Owed, Sandbox]]:
        """See the port."""
        cursor = await self._connection.execute(
            select(owed_work, sandboxes.c.body)
            .join(sandboxes, sandboxes.c.id == owed_work.c.sandbox_id)
            .where(owed_work.c.sandbox_id.in_(list(sandbox_ids)))
        )
        return [
            (
                Owed(SandboxId(row.sandbox_id), row.number, bool(row.ending)),
                _sandboxes.decode(row.body),
            )
            for row in cursor
        ]

    async def settle(self, sandbox_id: SandboxId, number: int) -> bool:
        """See the port."""
        same = owed_work.c.sandbox_id == sandbox_id
        await self._connection.execute(delete(owed_work).where(same, owed_work.c.number <= number))
        left = await self._connection.execute(select(owed_work.c.number).where(same))
        return left.first() is None


class SqlMaintenanceRows(MaintenanceRows):
    """The `ports.store.maintenance.MaintenanceRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def want(self, sandbox_id: SandboxId, until: datetime) -> None:
        """See the port."""
        table = maintenance_requests
        same = table.c.sandbox_id == sandbox_id
        cursor = await self._connection.execute(select(table.c.until_us).where(same))
        before = cursor.scalar()
        if before is None:
            row = {"sandbox_id": sandbox_id, "until_us": to_us(until), "answer": None}
            await self._connection.execute(insert(table), row)
        elif before < to_us(until):
            await self._connection.execute(update(table).where(same).values(until_us=to_us(until)))

    async def wanted(self, now: datetime) -> list[SandboxId]:
        """See the port."""
        table = maintenance_requests
        cursor = await self._connection.execute(
            select(table.c.sandbox_id, table.c.until_us).order_by(table.c.sandbox_id)
        )
        rows = cursor.all()
        over = [row.sandbox_id for row in rows if row.until_us <= to_us(now)]
        if over:
            await self._connection.execute(delete(table).where(table.c.sandbox_id.in_(over)))
        return [SandboxId(row.sandbox_id) for row in rows if row.until_us > to_us(now)]

    async def answer(self, sandbox_id: SandboxId, answer: Reachability | str | None) -> None:
        """See the port."""
        table = maintenance_requests
        text = None if answer is None else msgspec.json.encode(answer).decode()
        change = update(table).where(table.c.sandbox_id == sandbox_id)
        await self._connection.execute(change.values(answer=text))

    async def answered(self, sandbox_id: SandboxId) -> Reachability | str | None:
        """See the port."""
        table = maintenance_requests.c
        cursor = await self._connection.execute(
            select(table.answer).where(table.sandbox_id == sandbox_id)
        )
        text = cursor.scalar()
        return None if text is None else _answers.decode(text)


class SqlLoginRows(LoginRows):
    """The `ports.store.logins.LoginRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def newer(self, version: int) -> tuple[int, LoginBook] | None:
        """See the port."""
        cursor = await self._connection.execute(
            select(login_books.c.version, login_books.c.body).where(
                login_books.c.id == _PERSON, login_books.c.version > version
            )
        )
        row = cursor.one_or_none()
        return None if row is None else (row.version, _books.decode(row.body))

    async def put(self, book: LoginBook) -> int:
        """See the port."""
        newest = select(func.max(login_books.c.version)).where(login_books.c.id == _PERSON)
        before = (await self._connection.execute(newest)).scalar()
        now = {"version": (before or 0) + 1, "body": msgspec.json.encode(book).decode()}
        if before is None:
            await self._connection.execute(insert(login_books), {"id": _PERSON, **now})
        else:
            change = update(login_books).where(login_books.c.id == _PERSON)
            await self._connection.execute(change.values(**now))
        return now["version"]  # type: ignore[return-value]
