"""Rows of mentions of people on dashboards."""

from collections.abc import Collection
from typing import Any

import msgspec
from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Index,
    Select,
    Table,
    Text,
    and_,
    delete,
    insert,
    select,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import metadata, to_us
from atoll.domain.dashboards.comment import CommentId
from atoll.domain.dashboards.mention import DashboardMention, MentionId, MentionKind
from atoll.domain.ids import DashboardId, OrgId, PrincipalId
from atoll.ports.store.dashboards.mentions import DashboardMentionRows

mentions = Table(
    "dashboard_mentions",
    metadata,
    Column("id", Text, primary_key=True),
    Column("dashboard_id", Text, nullable=False),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("item_id", Text, nullable=False),
    Column("comment_id", Text),
    Column("kind", Text, nullable=False),
    Column("dismissed", BigInteger, nullable=False),
    Column("at_us", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    Index("dashboard_mentions_by_person", "org_id", "owner", "at_us", "id"),
    Index("dashboard_mentions_by_item", "dashboard_id", "item_id"),
)
"""`owner` is who is mentioned."""

_mentions = msgspec.json.Decoder(DashboardMention)
_ITEMS_AT_ONCE = 500


class SqlDashboardMentionRows(DashboardMentionRows):
    """The `ports.store.dashboards.mentions.DashboardMentionRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def put(self, mention: DashboardMention) -> None:
        """See the port."""
        row = {
            "dismissed": int(mention.dismissed),
            "body": msgspec.json.encode(mention).decode(),
        }
        changed = await self._connection.execute(
            update(mentions).where(mentions.c.id == mention.id).values(row)
        )
        if not changed.rowcount:
            new = {
                "id": mention.id,
                "dashboard_id": mention.dashboard_id,
                "org_id": mention.org_id,
                "owner": mention.person,
                "item_id": mention.item_id,
                "comment_id": mention.comment_id,
                "kind": mention.kind.value,
                "at_us": to_us(mention.at),
            }
            await self._connection.execute(insert(mentions).values(row | new))

    async def get(
        self, org_id: OrgId, person: PrincipalId, mention_id: MentionId
    ) -> DashboardMention | None:
        """See the port."""
        mine = and_(_person_condition(org_id, person), mentions.c.id == mention_id)
        listed = await self._read(select(mentions.c.body).where(mine))
        return listed[0] if listed else None

    async def of(self, org_id: OrgId, person: PrincipalId, limit: int) -> list[DashboardMention]:
        """See the port."""
        waiting = and_(_person_condition(org_id, person), mentions.c.dismissed == 0)
        newest = (mentions.c.at_us.desc(), mentions.c.id.desc())
        return await self._read(
            select(mentions.c.body).where(waiting).order_by(*newest).limit(limit)
        )

    async def of_todos(
        self, dashboard_id: DashboardId, items: Collection[str]
    ) -> list[DashboardMention]:
        """See the port."""
        wanted, listed = sorted(items), []
        for begin in range(0, len(wanted), _ITEMS_AT_ONCE):
            part = wanted[begin : begin + _ITEMS_AT_ONCE]
            listed += await self._read(
                select(mentions.c.body).where(
                    mentions.c.dashboard_id == dashboard_id,
                    mentions.c.item_id.in_(part),
                    mentions.c.kind == MentionKind.TODO.value,
                )
            )
        return listed

    async def of_comment(
        self, dashboard_id: DashboardId, comment_id: CommentId
    ) -> list[DashboardMention]:
        """See the port."""
        return await self._read(
            select(mentions.c.body)
            .where(mentions.c.dashboard_id == dashboard_id, mentions.c.comment_id == comment_id)
            .order_by(mentions.c.id)
        )

    async def remove(self, mention_id: MentionId) -> None:
        """See the port."""
        await self._connection.execute(delete(mentions).where(mentions.c.id == mention_id))

    async def cut(self, org_id: OrgId, person: PrincipalId, most: int) -> None:
        """See the port."""
        table = mentions.c
        newest = (
            select(table.id)
            .where(_person_condition(org_id, person))
            .order_by(table.at_us.desc(), table.id.desc())
            .limit(most)
        )
        await self._connection.execute(
            delete(mentions).where(_person_condition(org_id, person), table.id.not_in(newest))
        )

    async def _read(self, query: Select[Any]) -> list[DashboardMention]:
        cursor = await self._connection.execute(query)
        return [_mentions.decode(body) for body in cursor.scalars()]


def _person_condition(org_id: OrgId, person: PrincipalId) -> ColumnElement[bool]:
    """Return the condition for the mentions of a person."""
    return and_(mentions.c.org_id == org_id, mentions.c.owner == person)
