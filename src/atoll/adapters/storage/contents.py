"""The tables of contents, their blobs and their keys, and their rows."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final, TypeVar

import msgspec
from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    Integer,
    Table,
    Text,
    delete,
    exists,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import metadata, to_us
from atoll.adapters.storage.records import RecordTable, SqlRecords
from atoll.domain.contents.content import Content, ContentId
from atoll.domain.ids import OrgId
from atoll.ports.store.contents import ContentBlob, ContentKey

T = TypeVar("T")

content_keys = Table(
    "content_keys",
    metadata,
    Column("org_id", Text, primary_key=True),
    Column("body", Text, nullable=False),
)

contents = Table(
    "contents",
    metadata,
    Column("id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("draft_until", BigInteger, nullable=True),
    Column("made_at", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    Index("contents_of_org", "org_id", "made_at"),
    Index("contents_drafts", "draft_until"),
)

content_blobs = Table(
    "content_blobs",
    metadata,
    Column("name", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("condemned_at", BigInteger, nullable=True),
    Column("doomed", Integer, nullable=False),
    Index("content_blobs_by_digest", "org_id", "digest"),
    Index("content_blobs_condemned", "condemned_at"),
)

content_references = Table(
    "content_references",
    metadata,
    Column("content_id", Text, primary_key=True),
    Column("blob", Text, primary_key=True),
    Index("content_references_by_blob", "blob"),
)

_BATCH: Final = 500
"""The most names in one statement: databases bound its parameters."""

_decode = msgspec.json.Decoder(Content).decode
_REFERRED = exists().where(content_references.c.blob == content_blobs.c.name)


class SqlContentKeyRows(SqlRecords[ContentKey, OrgId]):
    """Keys of contents, by organization."""

    records = RecordTable(content_keys, ContentKey, lambda key: {"org_id": key.org_id})

    async def everything(self) -> list[ContentKey]:
        """See the port."""
        return await self._all()


class SqlContentRows:
    """The `ports.store.contents.ContentRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def begin(self, content_id: ContentId, org_id: OrgId, until: datetime) -> None:
        """See the port."""
        row = {"id": content_id, "org_id": org_id, "draft_until": to_us(until)}
        await self._connection.execute(insert(contents), {**row, "made_at": 0, "body": ""})

    async def renew(self, content_id: ContentId, until: datetime) -> bool:
        """See the port."""
        return await self._change_draft(content_id, {"draft_until": to_us(until)})

    async def commit(self, content: Content) -> bool:
        """See the port."""
        body = msgspec.json.encode(content).decode()
        made_at = to_us(content.made_at)
        row = {"draft_until": None, "made_at": made_at, "body": body}
        return await self._change_draft(content.id, row)

    async def get(self, org_id: OrgId, content_id: ContentId) -> Content | None:
        """See the port."""
        cursor = await self._connection.execute(
            select(contents.c.body).where(
                contents.c.id == content_id,
                contents.c.org_id == org_id,
                contents.c.draft_until.is_(None),
            )
        )
        body = cursor.scalar_one_or_none()
        return None if body is None else _decode(body)

    async def of(self, org_id: OrgId) -> list[Content]:
        """See the port."""
        cursor = await self._connection.execute(
            select(contents.c.body)
            .where(contents.c.org_id == org_id, contents.c.draft_until.is_(None))
            .order_by(contents.c.made_at, contents.c.id)
        )
        return [_decode(body) for body in cursor.scalars()]

    async def remove(self, content_id: ContentId) -> None:
        """See the port."""
        await self._connection.execute(delete(contents).where(contents.c.id == content_id))

    async def ended_drafts(self, now: datetime) -> list[ContentId]:
        """See the port."""
        ended = select(contents.c.id).where(contents.c.draft_until < to_us(now))
        return [ContentId(id_) for id_ in (await self._connection.execute(ended)).scalars()]

    async def drafts(self) -> list[ContentId]:
        """See the port."""
        every = select(contents.c.id).where(contents.c.draft_until.is_not(None))
        return [ContentId(id_) for id_ in (await self._connection.execute(every)).scalars()]

    async def _change_draft(self, content_id: ContentId, row: Mapping[str, object]) -> bool:
        changed = await self._connection.execute(
            update(contents)
            .where(contents.c.id == content_id, contents.c.draft_until.is_not(None))
            .values(row)
        )
        return changed.rowcount == 1


class SqlContentBlobRows:
    """The `ports.store.contents.ContentBlobRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def add(self, org_id: OrgId, blobs: Sequence[ContentBlob]) -> None:
        """See the port."""
        for batch in _batches(blobs):
            rows = [
                {
                    "name": blob.name,
                    "org_id": org_id,
                    "digest": blob.digest,
                    "size": blob.size,
                    "condemned_at": None,
                    "doomed": 0,
                }
                for blob in batch
            ]
            await self._connection.execute(insert(content_blobs), rows)

    async def find(self, org_id: OrgId, digests: Collection[str]) -> dict[str, str]:
        """See the port."""
        table = content_blobs.c
        names: dict[str, str] = {}
        for batch in _batches([digest for digest in digests if digest]):
            cursor = await self._connection.execute(
                select(table.digest, table.name).where(
                    table.org_id == org_id, table.digest.in_(batch), table.doomed == 0
                )
            )
            names.update((digest, name) for digest, name in cursor)
        return names

    async def names(self, content_id: ContentId) -> dict[str, bool]:
        """See the port."""
        table = content_blobs.c
        cursor = await self._connection.execute(
            select(table.name, table.digest)
            .join(content_references, content_references.c.blob == table.name)
            .where(content_references.c.content_id == content_id)
        )
        return {name: bool(digest) for name, digest in cursor}

    async def refer(self, content_id: ContentId, names: Collection[str]) -> None:
        """See the port."""
        for batch in _batches(list(set(names))):
            await self.release(content_id, batch)
            rows = [{"content_id": content_id, "blob": name} for name in batch]
            await self._connection.execute(insert(content_references), rows)
            await self._connection.execute(
                update(content_blobs)
                .where(content_blobs.c.name.in_(batch), content_blobs.c.condemned_at.is_not(None))
                .values(condemned_at=None)
            )

    async def release(self, content_id: ContentId, names: Collection[str] | None = None) -> None:
        """See the port."""
        table = content_references.c
        if names is None:
            await self._connection.execute(
                delete(content_references).where(table.content_id == content_id)
            )
            return
        for batch in _batches(list(names)):
            await self._connection.execute(
                delete(content_references).where(
                    table.content_id == content_id, table.blob.in_(batch)
                )
            )

    async def distrust(self, names: Collection[str]) -> None:
        """See the port."""
        for batch in _batches(list(names)):
            damaged = update(content_blobs).where(content_blobs.c.name.in_(batch))
            await self._connection.execute(damaged.values(digest=""))

    async def condemn(self, now: datetime) -> None:
        """See the port."""
        await self._connection.execute(
            update(content_blobs)
            .where(content_blobs.c.condemned_at.is_(None), ~_REFERRED)
            .values(condemned_at=to_us(now))
        )

    async def doom(self, before: datetime, limit: int) -> list[str]:
        """See the port."""
        table = content_blobs.c
        await self._connection.execute(
            update(content_blobs)
            .where(table.condemned_at < to_us(before), table.doomed == 0, ~_REFERRED)
            .values(doomed=1)
        )
        doomed = select(table.name).where(table.doomed == 1).order_by(table.name).limit(limit)
        return list((await self._connection.execute(doomed)).scalars())

    async def drop(self, names: Collection[str]) -> None:
        """See the port."""
        for batch in _batches(list(names)):
            await self._connection.execute(
                delete(content_blobs).where(
                    content_blobs.c.name.in_(batch), content_blobs.c.doomed == 1
                )
            )

    async def known(self, names: Collection[str]) -> set[str]:
        """See the port."""
        known: set[str] = set()
        for batch in _batches(list(names)):
            statement = select(content_blobs.c.name).where(content_blobs.c.name.in_(batch))
            known.update((await self._connection.execute(statement)).scalars())
        return known

    async def stored(self, org_id: OrgId) -> int:
        """See the port."""
        total = select(func.coalesce(func.sum(content_blobs.c.size), 0)).where(
            content_blobs.c.org_id == org_id
        )
        return int((await self._connection.execute(total)).scalar_one())


def _batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield parts of a list, each for one statement."""
    for at in range(0, len(items), _BATCH):
        yield items[at : at + _BATCH]
