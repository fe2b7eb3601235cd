"""Tables and rows of previews and their visits."""

from collections.abc import Sequence
from datetime import datetime

import msgspec
from sqlalchemy import BigInteger, Column, Index, Table, Text, delete, insert, select, text, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import metadata, read_page, to_us
from atoll.adapters.storage.sandboxes import GONE, sandboxes
from atoll.domain.errors import Conflict
from atoll.domain.ids import SandboxId
from atoll.domain.paging import PageQuery, RowPage
from atoll.domain.previews.preview import Preview, PreviewId
from atoll.domain.previews.visit import Visit
from atoll.ports.store.previews import PreviewRows, PreviewVisitRows
from atoll.wire.words.previews import PreviewState

_SHOWN = text("pull_request IS NOT NULL AND state <> 'gone'")
_LIVING = text("state <> 'gone'")
"""Conditions of partial indexes, which queries spell with the same constants."""

previews = Table(
    "previews",
    metadata,
    Column("id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("sandbox_id", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("pull_request", Text),
    Column("created_us", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    Index("previews_by_sandbox", "sandbox_id", "created_us", "id"),
    Index("previews_by_name", "pull_request"),
    Index(
        "previews_living_name",
        "pull_request",
        unique=True,
        sqlite_where=_SHOWN,
        postgresql_where=_SHOWN,
    ),
    Index("previews_living", "state", sqlite_where=_LIVING, postgresql_where=_LIVING),
)

preview_visits = Table(
    "preview_visits",
    metadata,
    Column("mark", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("sandbox_id", Text, nullable=False),
    Column("preview_id", Text),
    Column("created_us", BigInteger, nullable=False),
    Column("expires_us", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    Index("preview_visits_by_sandbox", "sandbox_id", "created_us"),
    Index("preview_visits_by_preview", "preview_id"),
    Index("preview_visits_by_end", "expires_us"),
)

_previews = msgspec.json.Decoder(Preview)
_visits = msgspec.json.Decoder(Visit)


class SqlPreviewRows(PreviewRows):
    """The `ports.store.previews.previews.PreviewRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def put(self, preview: Preview) -> None:
        """See the port."""
        row = {
            "owner": preview.owner,
            "state": preview.state.value,
            "body": msgspec.json.encode(preview).decode(),
        }
        mine = previews.c.id == preview.id
        new = row | {
            "id": preview.id,
            "org_id": preview.org_id,
            "sandbox_id": preview.sandbox_id,
            "pull_request": None if preview.pr_number is None else preview.label,
            "created_us": to_us(preview.created_at),
        }
        known = await self.get(preview.id) is not None
        try:
            if known:
                await self._connection.execute(update(previews).where(mine), row)
            else:
                await self._connection.execute(insert(previews), new)
        except IntegrityError as err:
            raise Conflict(
                f"{preview.label} is shown by another preview: tear that one down first.",
                code="preview_name_taken",
            ) from err

    async def get(self, preview_id: PreviewId) -> Preview | None:
        """See the port."""
        cursor = await self._connection.execute(
            select(previews.c.body).where(previews.c.id == preview_id)
        )
        body = cursor.scalar_one_or_none()
        return None if body is None else _previews.decode(body)

    async def of(self, sandbox_id: SandboxId) -> Sequence[Preview]:
        """See the port."""
        cursor = await self._connection.execute(
            select(previews.c.body)
            .where(previews.c.sandbox_id == sandbox_id)
            .order_by(previews.c.created_us, previews.c.id)
        )
        return [_previews.decode(body) for body in cursor.scalars()]

    async def page(self, sandbox_id: SandboxId, page: PageQuery) -> RowPage[Preview]:
        """See the port."""
        rows = select(previews.c.body, previews.c.created_us, previews.c.id).where(
            previews.c.sandbox_id == sandbox_id
        )
        return await read_page(self._connection, rows, page, decode=_previews.decode)

    async def named(self, label: str) -> Sequence[Preview]:
        """See the port."""
        cursor = await self._connection.execute(
            select(previews.c.body).where(previews.c.pull_request == label)
        )
        return [_previews.decode(body) for body in cursor.scalars()]

    async def building(self) -> Sequence[Preview]:
        """See the port."""
        cursor = await self._connection.execute(
            select(previews.c.body).where(_LIVING, previews.c.state == PreviewState.BUILDING.value)
        )
        return [_previews.decode(body) for body in cursor.scalars()]

    async def orphaned(self) -> Sequence[Preview]:
        """See the port."""
        gone = select(sandboxes.c.id).where(sandboxes.c.state.in_(GONE))
        cursor = await self._connection.execute(
            select(previews.c.body).where(_LIVING, previews.c.sandbox_id.in_(gone))
        )
        return [_previews.decode(body) for body in cursor.scalars()]


class SqlPreviewVisitRows(PreviewVisitRows):
    """The `ports.store.previews.previews.PreviewVisitRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def add(self, visit: Visit, *, most: int) -> None:
        """See the port."""
        await self._connection.execute(
            insert(preview_visits),
            {
                "mark": visit.mark,
                "org_id": visit.org_id,
                "owner": visit.owner,
                "sandbox_id": visit.sandbox_id,
                "preview_id": visit.address.preview_id,
                "created_us": to_us(visit.created_at),
                "expires_us": to_us(visit.expires_at),
                "body": msgspec.json.encode(visit).decode(),
            },
        )
        beyond = (
            select(preview_visits.c.mark)
            .where(preview_visits.c.sandbox_id == visit.sandbox_id)
            .order_by(preview_visits.c.created_us.desc(), preview_visits.c.mark)
            .offset(most)
        )
        over = (await self._connection.execute(beyond)).scalars().all()
        if over:
            await self._connection.execute(
                delete(preview_visits).where(preview_visits.c.mark.in_(over))
            )

    async def marked(self, mark: str) -> Visit | None:
        """See the port."""
        cursor = await self._connection.execute(
            select(preview_visits.c.body).where(preview_visits.c.mark == mark)
        )
        body = cursor.scalar_one_or_none()
        return None if body is None else _visits.decode(body)

    async def of(self, sandbox_id: SandboxId) -> Sequence[Visit]:
        """See the port."""
        cursor = await self._connection.execute(
            select(preview_visits.c.body)
            .where(preview_visits.c.sandbox_id == sandbox_id)
            .order_by(preview_visits.c.created_us, preview_visits.c.mark)
        )
        return [_visits.decode(body) for body in cursor.scalars()]

    async def remove(self, mark: str) -> bool:
        """See the port."""
        there = await self.marked(mark) is not None
        await self._connection.execute(delete(preview_visits).where(preview_visits.c.mark == mark))
        return there

    async def remove_of(self, preview_id: PreviewId) -> None:
        """See the port."""
        await self._connection.execute(
            delete(preview_visits).where(preview_visits.c.preview_id == preview_id)
        )

    async def forget(self, before: datetime) -> None:
        """See the port."""
        await self._connection.execute(
            delete(preview_visits).where(preview_visits.c.expires_us <= to_us(before))
        )
