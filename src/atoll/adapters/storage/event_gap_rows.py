"""Rows of events that are no longer kept: their removal, and the record of it."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Row, Select, Table, delete, func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.moments import from_us, to_us
from atoll.adapters.storage.tables import event_gaps, events
from atoll.domain.event import Gap
from atoll.domain.event_retention import Removal, StreamSpan
from atoll.ports import EventQuery


def wanted(table: Table, query: EventQuery) -> list[ColumnElement[bool]]:
    """Return the conditions for rows of `events` or `event_gaps` that a query requests."""
    column = table.c
    conditions = [
        column.org_id == query.org_id,
        column.owner == query.owner,
        column.position > query.after,
    ]
    if query.stream is not None:
        conditions.append(column.stream == query.stream)
    return conditions


async def next_stream(connection: AsyncConnection, after: str) -> StreamSpan | None:
    """Return the stream whose name follows `after`: two look-ups in the index of `stream` and
    `seq`."""
    table = events.c
    found = await connection.execute(
        select(table.stream, table.seq, table.at_us)
        .where(table.stream > after)
        .order_by(table.stream, table.seq)
        .limit(1)
    )
    oldest = found.one_or_none()
    if oldest is None:
        return None
    newest = await connection.execute(_newest(oldest.stream))
    return StreamSpan(oldest.stream, oldest.seq, from_us(oldest.at_us), newest.scalar_one())


async def remove(connection: AsyncConnection, removal: Removal) -> int:
    """Remove events, and note the last of them for each owner in `event_gaps`."""
    table = events.c
    going = await _going(connection, removal)
    if not going:
        return 0
    await connection.execute(
        delete(events).where(table.stream == removal.stream, table.seq <= going[-1].seq)
    )
    for org_id, owner in sorted({(row.org_id, row.owner) for row in going}):
        theirs = [row.position for row in going if (row.org_id, row.owner) == (org_id, owner)]
        whose = {"stream": removal.stream, "org_id": org_id, "owner": owner}
        same = [event_gaps.c[name] == value for name, value in whose.items()]
        before = await connection.execute(select(event_gaps.c.removed).where(*same))
        removed = len(theirs) + (before.scalar_one_or_none() or 0)
        await connection.execute(delete(event_gaps).where(*same))
        await connection.execute(
            insert(event_gaps), {**whose, "position": max(theirs), "removed": removed}
        )
    return len(going)


async def gap(connection: AsyncConnection, query: EventQuery) -> Gap | None:
    """Return the events that the query's reader can no longer get; None when there are none."""
    found = await connection.execute(
        select(func.max(event_gaps.c.position)).where(*wanted(event_gaps, query))
    )
    to = found.scalar_one()
    return None if to is None else Gap(query.after, to)


async def _going(
    connection: AsyncConnection, removal: Removal
) -> Sequence[Row[int, int, int, str, str]]:
    """Return the first events of the stream that are old enough or too many, up to the first that
    is not."""
    table = events.c
    found = await connection.execute(
        select(table.position, table.seq, table.at_us, table.org_id, table.owner)
        .where(
            table.stream == removal.stream, table.seq < _newest(removal.stream).scalar_subquery()
        )
        .order_by(table.seq)
        .limit(removal.limit)
    )
    going, before_us = [], to_us(removal.before)
    for row in found:
        if row.at_us >= before_us and row.seq >= removal.below:
            break
        going.append(row)
    return going


def _newest(stream: str) -> Select[int]:
    return select(func.max(events.c.seq)).where(events.c.stream == stream)
