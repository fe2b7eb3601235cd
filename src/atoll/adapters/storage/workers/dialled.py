"""Tables and rows of dialled hosts: leases, sealed offers, and entries that were delivered."""

from collections.abc import Sequence
from typing import Final

import msgspec
from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    RowMapping,
    Table,
    Text,
    delete,
    func,
    insert,
    or_,
    select,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import COUNTER, from_us, metadata, storable, to_us
from atoll.adapters.storage.workers.receipts import ReceiptBody
from atoll.domain.ids import DesktopId, WorkerKey
from atoll.domain.workers.create import WorkerId
from atoll.domain.workers.dialled import HostLease
from atoll.ports.outside.worker_host import HostEntry
from atoll.ports.store.workers.dialled import (
    HostEntryRows,
    HostLeaseRows,
    HostOfferRows,
    SealedOffer,
)
from atoll.ports.vault import Sealed

PAGE_CHARACTERS: Final = 16 * 1024 * 1024
"""Of the entries that are read at once, unless a single one is larger."""

host_leases = Table(
    "host_leases",
    metadata,
    Column("key", Text, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("desktop_id", Text, nullable=False),
    Column("mark", Text, nullable=False),
    Column("body", Text, nullable=False),
    PrimaryKeyConstraint("key", "epoch"),
    Index("host_leases_mark", "mark", unique=True),
    Index("host_leases_desktop", "desktop_id"),
)

host_offers = Table(
    "host_offers",
    metadata,
    Column("number", COUNTER, primary_key=True, autoincrement=True),
    Column("desktop_id", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("worker_id", Text, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("request_id", Text, nullable=False),
    Column("key_id", Text, nullable=False),
    Column("wrapped", LargeBinary, nullable=False),
    Column("sealed", LargeBinary, nullable=False),
    Index("host_offers_request", "key", "epoch", "request_id", unique=True),
    Index("host_offers_desktop", "desktop_id", "number"),
    sqlite_autoincrement=True,
)

host_entries = Table(
    "host_entries",
    metadata,
    Column("key", Text, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("n", BigInteger, nullable=False),
    Column("request_id", Text, nullable=False),
    Column("at_us", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    PrimaryKeyConstraint("key", "epoch", "n"),
    Index("host_entries_request", "key", "epoch", "request_id"),
)


class _EntryBody(ReceiptBody, omit_defaults=True, kw_only=True):
    """An entry as JSON."""

    line: str = ""


_leases = msgspec.json.Decoder(HostLease)
_entries = msgspec.json.Decoder(_EntryBody)


class SqlHostLeaseRows(HostLeaseRows):
    """The `ports.store.workers.dialled.HostLeaseRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def put(self, lease: HostLease) -> None:
        """See the port."""
        table = host_leases.c
        this = (table.key == lease.key, table.epoch == lease.epoch)
        await self._connection.execute(delete(host_leases).where(*this))
        row = {
            "key": lease.key,
            "epoch": lease.epoch,
            "desktop_id": lease.desktop_id,
            "mark": lease.mark,
            "body": msgspec.json.encode(lease).decode(),
        }
        await self._connection.execute(insert(host_leases), row)

    async def get(self, key: WorkerKey, epoch: int) -> HostLease | None:
        """See the port."""
        table = host_leases.c
        cursor = await self._connection.execute(
            select(table.body).where(table.key == key, table.epoch == epoch)
        )
        return _lease(cursor.scalar())

    async def newest(self, key: WorkerKey) -> HostLease | None:
        """See the port."""
        table = host_leases.c
        cursor = await self._connection.execute(
            select(table.body).where(table.key == key).order_by(table.epoch.desc()).limit(1)
        )
        return _lease(cursor.scalar())

    async def by_mark(self, mark: str) -> HostLease | None:
        """See the port."""
        table = host_leases.c
        cursor = await self._connection.execute(select(table.body).where(table.mark == mark))
        return _lease(cursor.scalar())

    async def of_desktop(self, desktop_id: DesktopId) -> list[HostLease]:
        """See the port."""
        table = host_leases.c
        cursor = await self._connection.execute(
            select(table.body)
            .where(table.desktop_id == desktop_id)
            .order_by(table.key, table.epoch)
        )
        return [_leases.decode(body) for body in cursor.scalars()]

    async def remove(self, key: WorkerKey) -> None:
        """See the port."""
        await self._connection.execute(delete(host_leases).where(host_leases.c.key == key))


class SqlHostOfferRows(HostOfferRows):
    """The `ports.store.workers.dialled.HostOfferRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def add(self, offer: SealedOffer) -> None:
        """See the port."""
        table = host_offers.c
        known = await self._connection.execute(
            select(table.number).where(*_offer_conditions(offer.key, offer.epoch, offer.request_id))
        )
        if known.scalar() is not None:
            return
        await self._connection.execute(insert(host_offers), _columns(offer))

    async def put(self, offer: SealedOffer) -> None:
        """See the port."""
        table = host_offers.c
        await self._connection.execute(delete(host_offers).where(table.number == offer.number))
        row = {**_columns(offer), "number": offer.number}
        await self._connection.execute(insert(host_offers), row)

    async def page(self, desktop_id: DesktopId, after: int, limit: int) -> list[SealedOffer]:
        """See the port."""
        table = host_offers.c
        cursor = await self._connection.execute(
            select(host_offers)
            .where(table.desktop_id == desktop_id, table.number > after)
            .order_by(table.number)
            .limit(limit)
        )
        return [_offer(row) for row in cursor.mappings()]

    async def everything(self) -> list[SealedOffer]:
        """See the port."""
        table = host_offers.c
        cursor = await self._connection.execute(
            select(host_offers).order_by(table.desktop_id, table.number)
        )
        return [_offer(row) for row in cursor.mappings()]

    async def remove(self, key: WorkerKey, epoch: int, request_id: str) -> None:
        """See the port."""
        await self._connection.execute(
            delete(host_offers).where(*_offer_conditions(key, epoch, request_id))
        )

    async def clear(self, key: WorkerKey) -> None:
        """See the port."""
        await self._connection.execute(delete(host_offers).where(host_offers.c.key == key))


class SqlHostEntryRows(HostEntryRows):
    """The `ports.store.workers.dialled.HostEntryRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def add(self, key: WorkerKey, epoch: int, entries: Sequence[HostEntry]) -> None:
        """See the port."""
        rows = [
            {
                "key": key,
                "epoch": epoch,
                "n": entry.n,
                "request_id": entry.request_id,
                "at_us": to_us(entry.at),
                "body": storable(_encode_entry(entry)),
            }
            for entry in entries
        ]
        if rows:
            await self._connection.execute(insert(host_entries), rows)

    async def page(self, key: WorkerKey, epoch: int, after: int, limit: int) -> list[HostEntry]:
        """See the port."""
        table = host_entries.c
        these = (table.key == key, table.epoch == epoch, table.n > after)
        sizes = await self._connection.execute(
            select(table.n, func.length(table.body)).where(*these).order_by(table.n).limit(limit)
        )
        last, size = after, 0
        for n, length in sizes:
            size += length
            if last > after and size > PAGE_CHARACTERS:
                break
            last = n
        if last == after:
            return []
        cursor = await self._connection.execute(
            select(host_entries).where(*these, table.n <= last).order_by(table.n)
        )
        return [_entry(row) for row in cursor.mappings()]

    async def size(self, key: WorkerKey, epoch: int) -> int:
        """See the port."""
        table = host_entries.c
        cursor = await self._connection.execute(
            select(func.sum(func.length(table.body))).where(table.key == key, table.epoch == epoch)
        )
        return int(cursor.scalar() or 0)

    async def answer(self, key: WorkerKey, epoch: int, request_id: str) -> HostEntry | None:
        """See the port."""
        table = host_entries.c
        cursor = await self._connection.execute(
            select(host_entries)
            .where(table.key == key, table.epoch == epoch, table.request_id == request_id)
            .order_by(table.n)
            .limit(1)
        )
        row = cursor.mappings().first()
        return None if row is None else _entry(row)

    async def free(self, key: WorkerKey, epoch: int, upto: int) -> None:
        """See the port."""
        table = host_entries.c
        of_this = (table.epoch == epoch) & (table.n <= upto)
        await self._connection.execute(
            delete(host_entries).where(table.key == key, or_(table.epoch < epoch, of_this))
        )

    async def clear(self, key: WorkerKey) -> None:
        """See the port."""
        await self._connection.execute(delete(host_entries).where(host_entries.c.key == key))


def _lease(body: str | None) -> HostLease | None:
    return None if body is None else _leases.decode(body)


def _offer_conditions(
    key: WorkerKey, epoch: int, request_id: str
) -> tuple[ColumnElement[bool], ...]:
    table = host_offers.c
    return (table.key == key, table.epoch == epoch, table.request_id == request_id)


def _columns(offer: SealedOffer) -> dict[str, str | int | bytes]:
    return {
        "desktop_id": offer.desktop_id,
        "key": offer.key,
        "worker_id": offer.worker_id,
        "epoch": offer.epoch,
        "request_id": offer.request_id,
        "key_id": offer.sealed.key_id,
        "wrapped": offer.sealed.wrapped,
        "sealed": offer.sealed.body,
    }


def _offer(row: RowMapping) -> SealedOffer:
    return SealedOffer(
        DesktopId(row["desktop_id"]),
        WorkerKey(row["key"]),
        WorkerId(row["worker_id"]),
        row["epoch"],
        row["request_id"],
        Sealed(row["key_id"], row["wrapped"], row["sealed"]),
        row["number"],
    )


def _encode_entry(entry: HostEntry) -> str:
    body = _EntryBody(line=entry.line)
    body.hold(entry.receipt)
    return msgspec.json.encode(body).decode()


def _entry(row: RowMapping) -> HostEntry:
    body = _entries.decode(row["body"])
    at = from_us(row["at_us"])
    return HostEntry(row["n"], at, body.line, row["request_id"], body.receipt)
