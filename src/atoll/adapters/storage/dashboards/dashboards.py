"""Rows of dashboards, and of who may see them."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import (
    ColumnElement,
    Table,
    and_,
    delete,
    func,
    insert,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import from_us, metadata, to_us
from atoll.adapters.storage.dashboards.documents import (
    SqlDashboardHistoryRows,
    SqlDocumentAuthorRows,
    SqlDocumentRows,
)
from atoll.adapters.storage.dashboards.tables import (
    dashboard_people,
    dashboard_sandboxes,
    dashboards,
)
from atoll.adapters.storage.people.organizations import members
from atoll.adapters.storage.sandboxes import sandboxes
from atoll.domain.dashboards.dashboard import Dashboard, without_linked
from atoll.domain.ids import DashboardId, OrgId, PrincipalId, SandboxId
from atoll.domain.paging import PageQuery, RowPage, cut_page
from atoll.ports.store.dashboards.dashboards import DashboardRows
from atoll.wire.words.dashboards import DashboardScope
from atoll.wire.words.sandboxes import State

# The rows of this noun, which the store finds here.
__all__ = [
    "SqlDashboardHistoryRows",
    "SqlDashboardRows",
    "SqlDocumentAuthorRows",
    "SqlDocumentRows",
    "visible_to",
]

_dashboards = msgspec.json.Decoder(Dashboard)
_COLUMNS = (dashboards.c.body, dashboards.c.updated_us, dashboards.c.item_count)


class SqlDashboardRows(DashboardRows):
    """The `ports.store.dashboards.dashboards.DashboardRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def put(self, dashboard: Dashboard) -> None:
        """See the port."""
        row = {
            "owner": dashboard.owner,
            "scope": dashboard.scope.value,
            "deleted_us": None if dashboard.deleted_at is None else to_us(dashboard.deleted_at),
            "body": msgspec.json.encode(dashboard).decode(),
        }
        mine = dashboards.c.id == dashboard.id
        known = await self._connection.execute(select(dashboards.c.id).where(mine))
        if known.first() is None:
            new = {
                "id": dashboard.id,
                "org_id": dashboard.org_id,
                "created_us": to_us(dashboard.created_at),
                "updated_us": to_us(dashboard.updated_at),
                "item_count": dashboard.items,
            }
            await self._connection.execute(insert(dashboards), row | new)
        else:
            await self._connection.execute(update(dashboards).where(mine).values(row))
        home = () if dashboard.sandbox_id is None else (dashboard.sandbox_id,)
        subjects = [person.subject for person in dashboard.people]
        await self._name(dashboard, dashboard_people, "subject", subjects)
        await self._name(dashboard, dashboard_sandboxes, "sandbox_id", {*home, *dashboard.linked})

    async def _name(
        self, dashboard: Dashboard, table: Table, column: str, named: Collection[str]
    ) -> None:
        theirs = table.c.dashboard_id == dashboard.id
        await self._connection.execute(delete(table).where(theirs))
        ours = {
            "dashboard_id": dashboard.id,
            "org_id": dashboard.org_id,
            "owner": dashboard.owner,
        }
        if named:
            await self._connection.execute(
                insert(table), [{**ours, column: subject} for subject in sorted(named)]
            )

    async def owned(self, org_id: OrgId, owner: PrincipalId) -> list[Dashboard]:
        """See the port."""
        table = dashboards.c
        mine = and_(table.org_id == org_id, table.owner == owner, table.deleted_us.is_(None))
        cursor = await self._connection.execute(select(*_COLUMNS).where(mine).order_by(table.id))
        return await self._read(cursor.all())

    async def ownerless(self, org_id: OrgId | None, page: PageQuery) -> RowPage[Dashboard]:
        """See the port."""
        table, place = dashboards.c, (dashboards.c.created_us, dashboards.c.id)
        present = select(members.c.owner).where(members.c.org_id == table.org_id)
        rows = select(*_COLUMNS).where(
            table.deleted_us.is_(None), present.exists(), table.owner.not_in(present)
        )
        if org_id is not None:
            rows = rows.where(table.org_id == org_id)
        if page.after is not None:
            rows = rows.where(tuple_(*place) > tuple_(to_us(page.after[0]), page.after[1]))
        ordered = rows.order_by(*place).limit(page.limit + 1)
        listed = await self._read((await self._connection.execute(ordered)).all())
        return cut_page(listed, page.limit, lambda dashboard: (dashboard.created_at, dashboard.id))

    async def showing(self, sandbox_id: SandboxId) -> list[Dashboard]:
        """See the port."""
        table = dashboard_sandboxes.c
        naming = select(table.dashboard_id).where(table.sandbox_id == sandbox_id)
        cursor = await self._connection.execute(
            select(*_COLUMNS)
            .where(dashboards.c.id.in_(naming), dashboards.c.deleted_us.is_(None))
            .order_by(dashboards.c.id)
        )
        return await self._read(cursor.all())

    async def get(self, dashboard_id: DashboardId) -> Dashboard | None:
        """See the port."""
        cursor = await self._connection.execute(
            select(*_COLUMNS).where(dashboards.c.id == dashboard_id)
        )
        return next(iter(await self._read(cursor.all())), None)

    async def visible(
        self, org_id: OrgId, owner: PrincipalId, subjects: Collection[str], page: PageQuery
    ) -> RowPage[Dashboard]:
        """See the port."""
        table = dashboards.c
        rows = select(*_COLUMNS).where(visible_to(org_id, owner, subjects))
        place = (table.created_us, table.id)
        if page.after is not None:
            after = tuple_(to_us(page.after[0]), page.after[1])
            rows = rows.where(tuple_(*place) < after)
        ordered = rows.order_by(*(column.desc() for column in place)).limit(page.limit + 1)
        listed = await self._read((await self._connection.execute(ordered)).all())
        return cut_page(listed, page.limit, lambda dashboard: (dashboard.created_at, dashboard.id))

    async def _read(self, rows: Sequence[Any]) -> list[Dashboard]:
        """Return dashboards by their rows, without links to sandboxes that were destroyed."""
        listed = [_read(row) for row in rows]
        linking = [dashboard.id for dashboard in listed if dashboard.linked]
        if not linking:
            return listed
        links = dashboard_sandboxes.c
        named = select(links.sandbox_id).where(links.dashboard_id.in_(linking))
        gone = await self._connection.execute(
            select(sandboxes.c.id).where(
                sandboxes.c.id.in_(named), sandboxes.c.state == State.DESTROYED.value
            )
        )
        ids = frozenset(gone.scalars())
        return [without_linked(dashboard, ids) for dashboard in listed]

    async def count(self, org_id: OrgId, owner: PrincipalId) -> int:
        """See the port."""
        table = dashboards.c
        cursor = await self._connection.execute(
            select(func.count()).where(table.org_id == org_id, table.owner == owner)
        )
        return int(cursor.scalar_one())

    async def note_change(self, dashboard_id: DashboardId, at: datetime, items: int) -> None:
        """See the port."""
        await self._connection.execute(
            update(dashboards)
            .where(dashboards.c.id == dashboard_id)
            .values({"updated_us": to_us(at), "item_count": items})
        )

    async def deleted(self, before: datetime, limit: int) -> list[DashboardId]:
        """See the port."""
        table = dashboards.c
        cursor = await self._connection.execute(
            select(table.id).where(table.deleted_us < to_us(before)).order_by(table.id).limit(limit)
        )
        return [DashboardId(each) for each in cursor.scalars()]

    async def erase(self, dashboard_id: DashboardId) -> None:
        """See the port."""
        for table in metadata.sorted_tables:
            if "dashboard_id" in table.c:
                await self._connection.execute(
                    delete(table).where(table.c.dashboard_id == dashboard_id)
                )
        await self._connection.execute(delete(dashboards).where(dashboards.c.id == dashboard_id))


def visible_to(org_id: OrgId, owner: PrincipalId, subjects: Collection[str]) -> ColumnElement[bool]:
    """Return the condition for dashboards that a person sees, see `DashboardRows.visible`."""
    table, people = dashboards.c, dashboard_people.c
    named = select(people.dashboard_id).where(
        people.org_id == org_id, people.subject.in_(list(subjects))
    )
    seen = or_(
        table.owner == owner, table.scope == DashboardScope.SHARED.value, table.id.in_(named)
    )
    return and_(table.org_id == org_id, table.deleted_us.is_(None), seen)


def _read(row: Any) -> Dashboard:
    body, updated_us, items = row
    return replace(_dashboards.decode(body), updated_at=from_us(updated_us), items=items)
