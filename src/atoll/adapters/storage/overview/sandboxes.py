"""Statements over every sandbox of an organization: filtered, sorted and cut by the database."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, ColumnExpressionArgument, Select, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import storable
from atoll.adapters.storage.overview.usage import sandbox_usage
from atoll.adapters.storage.sandboxes import sandboxes
from atoll.domain.ids import OrgId, SandboxId
from atoll.domain.overview.usage import DoorCounts
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports.store.overview.sandboxes import OverviewQuery, OverviewRow, OverviewSandboxRows
from atoll.wire.words.overview import SortKey
from atoll.wire.words.sandboxes import State

_decoder = msgspec.json.Decoder(Sandbox)
_COUNTS = tuple(counter.name for counter in fields(DoorCounts))


def _sum(left: str, right: str) -> ColumnElement[int]:
    table = sandbox_usage.c
    return func.coalesce(table[left] + table[right], 0)


_COLUMNS: Mapping[SortKey, ColumnElement[Any]] = {
    SortKey.NAME: func.lower(sandboxes.c.name),
    SortKey.STATE: sandboxes.c.state,
    SortKey.OWNER: sandboxes.c.owner,
    SortKey.CREATED: sandboxes.c.created_us,
    SortKey.TOKENS: _sum("tokens_in", "tokens_out"),
    SortKey.TRAFFIC: _sum("bytes_in", "bytes_out"),
}


class SqlOverviewSandboxRows(OverviewSandboxRows):
    """The `ports.store.overview.sandboxes.OverviewSandboxRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def page(self, query: OverviewQuery) -> list[OverviewRow]:
        """See the port."""
        table, column = sandboxes.c, _COLUMNS[query.sort]
        # The id decides between equal ones, so that pages neither repeat nor lose a row.
        keys = (column, table.id)
        # Places first: to sort ten thousand whole sandboxes takes many times as long.
        places = (
            _with_usage(select(column.label("place"), table.id).select_from(sandboxes))
            .where(*_fitting(query), _in_states(query))
            .order_by(*_order_columns(query, *keys))
            .limit(query.limit)
            .offset(query.offset)
            .subquery()
        )
        cursor = await self._connection.execute(
            _rows()
            .join(places, places.c.id == table.id)
            .order_by(*_order_columns(query, places.c.place, places.c.id))
        )
        return [_decode_row(row._mapping) for row in cursor]

    async def tally(self, query: OverviewQuery) -> Mapping[State, int]:
        """See the port."""
        state = sandboxes.c.state
        cursor = await self._connection.execute(
            select(state, func.count()).where(*_fitting(query)).group_by(state)
        )
        return {State(name): count for name, count in cursor}

    async def get(self, org_id: OrgId, sandbox_id: SandboxId) -> OverviewRow | None:
        """See the port."""
        table = sandboxes.c
        cursor = await self._connection.execute(
            _rows(table.org_id == org_id, table.id == storable(sandbox_id))
        )
        row = cursor.one_or_none()
        return None if row is None else _decode_row(row._mapping)


def _with_usage(rows: Select[Any]) -> Select[Any]:
    return rows.join(sandbox_usage, sandbox_usage.c.sandbox_id == sandboxes.c.id, isouter=True)


def _rows(*wanted: ColumnExpressionArgument[bool]) -> Select[Any]:
    counts = (sandbox_usage.c[name] for name in _COUNTS)
    return _with_usage(select(sandboxes.c.body, *counts).select_from(sandboxes)).where(*wanted)


def _order_columns(query: OverviewQuery, *keys: ColumnElement[Any]) -> list[ColumnElement[Any]]:
    """Return the columns in the query's direction, ascending or descending."""
    return [key.desc() if query.descending else key.asc() for key in keys]


def _fitting(query: OverviewQuery) -> list[ColumnElement[bool]]:
    table = sandboxes.c
    wanted: list[ColumnElement[bool]] = [table.org_id == query.org_id]
    if query.owner is not None:
        wanted.append(table.owner == storable(query.owner))
    if query.text:
        wanted.append(
            func.lower(table.name).contains(storable(query.text).lower(), autoescape=True)
        )
    return wanted


def _in_states(query: OverviewQuery) -> ColumnElement[bool]:
    state = sandboxes.c.state
    if query.states:
        return state.in_([wanted.value for wanted in query.states])
    return state != State.DESTROYED.value


def _decode_row(columns: Mapping[Any, Any]) -> OverviewRow:
    counts = DoorCounts(*(columns[name] or 0 for name in _COUNTS))
    return OverviewRow(_decoder.decode(columns["body"]), counts)
