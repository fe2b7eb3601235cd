"""Tables and rows of the event log, and of the gaps that pruning leaves.

Streams of the log are read together, by position. A stream apart has no positions, so that no
reader of the log finds it: `worker.workers` keeps what agents said in such streams.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import cast

import msgspec
from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Row,
    Select,
    Table,
    Text,
    bindparam,
    delete,
    func,
    insert,
    literal,
    select,
    text,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.audit import append_entries
from atoll.adapters.storage.columns import from_us, metadata, storable, to_us
from atoll.adapters.storage.engines.whole import WholeStatements
from atoll.adapters.storage.engines.writer import DriverStatement
from atoll.adapters.storage.sandboxes import sandboxes
from atoll.domain.event import SANDBOX_STREAMS, Event, EventDraft, Gap, Json
from atoll.domain.event_kind import check
from atoll.domain.event_retention import Removal, StreamSpan
from atoll.domain.ids import EVERY_MEMBER, EventId, OrgId, PrincipalId
from atoll.ports import EventQuery
from atoll.ports.store.events import EventRows
from atoll.wire.words.sandboxes import Scope


def _index(name: str, condition: str, *columns: str, unique: bool = False) -> Index:
    """Return an index of some rows. A query finds it by the same condition, spelled out: a database
    cannot tell that a parameter fits. A comparison with a position says that there is one."""
    where = text(condition)
    return Index(name, *columns, unique=unique, sqlite_where=where, postgresql_where=where)


events = Table(
    "events",
    metadata,
    Column("position", BigInteger),
    Column("id", Text),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("stream", Text, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("event_type", Text, nullable=False),
    Column("event_version", Integer, nullable=False),
    Column("at_us", BigInteger, nullable=False),
    Column("actor_kind", Text, nullable=False),
    Column("actor_id", Text, nullable=False),
    Column("reason", Text),
    Column("payload", Text, nullable=False),
    PrimaryKeyConstraint("stream", "seq"),
    _index("events_by_position", "position IS NOT NULL", "position", unique=True),
    _index("events_by_id", "position IS NOT NULL", "id", unique=True),
    _index("events_by_owner", "position IS NOT NULL", "org_id", "owner", "position"),
    _index("events_apart_by_age", "position IS NULL", "at_us"),
    _index("events_lost", "event_type = 'worker.lost'", "at_us"),
    _index("events_started", "event_type = 'worker.started'", "stream", "seq"),
)
"""Events without a position, and so without an id, are those of streams apart."""

event_gaps = Table(
    "event_gaps",
    metadata,
    Column("stream", Text, nullable=False),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("removed", BigInteger, nullable=False),
    PrimaryKeyConstraint("stream", "org_id", "owner"),
    Index("event_gaps_by_owner", "org_id", "owner", "position"),
)
"""The newest removed event of each stream and owner, and how many were removed."""

_earlier = events.alias()
_next_seq = (
    select(func.coalesce(func.max(_earlier.c.seq), 0) + 1)
    .where(_earlier.c.stream == bindparam("in_stream"))
    .scalar_subquery()
)
_next_position = (
    select(func.coalesce(func.max(_earlier.c.position), 0) + 1)
    .where(_earlier.c.position.is_not(None))
    .scalar_subquery()
)
_append = DriverStatement(
    insert(events)
    .values(seq=_next_seq, position=_next_position)
    .returning(events.c.position, events.c.seq)
)
"""The statement that appends one event. The newest event is never removed, so its position is the
highest that was given; a sequence of PostgreSQL would leave gaps where a transaction is rolled
back."""

newest_position = select(func.max(events.c.position)).where(events.c.position.is_not(None))
"""The newest position, None in an empty log. The condition makes it one look at an index."""


def append_apart(**values: ColumnElement[str] | str) -> DriverStatement:
    """Return the statement that appends one event with these values to a stream apart."""
    return DriverStatement(
        insert(events)
        .values(seq=_next_seq, position=None, id=None, **values)
        .returning(events.c.seq)
    )


BATCH = 100
"""Events that are appended by one statement."""

_decoder: msgspec.json.Decoder[dict[str, object]] = msgspec.json.Decoder(dict[str, object])


class SqlEventRows(EventRows):
    """The `ports.store.events.EventRows` on one connection.

    Positions and `seq` are gap-free in the order of commits because writing transactions are
    serialised (SQLite by its write lock, PostgreSQL by an advisory one).
    """

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def append(self, drafts: Sequence[EventDraft]) -> list[Event]:
        """See the port."""
        appended = []
        for batch in _batches(drafts):
            appended += await (self._append_one(*batch) if len(batch) == 1 else self._many(batch))
        origins = (draft.actor.origin for draft in drafts)
        await append_entries(self._writing, list(zip(appended, origins, strict=True)))
        return appended

    @property
    def _writing(self) -> WholeStatements:
        """Return the connection as it is in a transaction that writes."""
        return cast(WholeStatements, self._connection)

    async def _append_one(self, draft: EventDraft) -> list[Event]:
        values = _draft_row(draft) | {"in_stream": draft.stream}
        ((position, seq),) = await self._writing.fetch(_append, values)
        return [_event_of(draft, position, seq)]

    async def _many(self, drafts: Sequence[EventDraft]) -> list[Event]:
        """Append in two statements: one that numbers, one that inserts. No other writer comes in
        between."""
        streams = sorted({draft.stream for draft in drafts})
        newest = await self._connection.execute(
            select(
                newest_position.scalar_subquery(),
                *(_select_newest_seq(stream).scalar_subquery() for stream in streams),
            )
        )
        position, *numbers = (number or 0 for number in newest.one())
        last = dict(zip(streams, numbers, strict=True))
        appended, rows = [], []
        for place, draft in enumerate(drafts, position + 1):
            last[draft.stream] += 1
            event = _event_of(draft, place, last[draft.stream])
            appended.append(event)
            rows.append(_draft_row(draft) | {"position": event.position, "seq": event.seq})
        await self._connection.execute(insert(events), rows)
        return appended

    async def page(self, query: EventQuery) -> list[Event]:
        """See the port."""
        page: list[Event] = []
        for conditions in await reader_conditions(self._connection, query):
            page += await _page(self._connection, query, conditions(events))
        page.sort(key=lambda event: event.position)
        return page[-query.limit :] if query.latest else page[: query.limit]

    async def after(
        self, position: int, limit: int, *, kinds: frozenset[str] | None = None
    ) -> list[Event]:
        """See the port."""
        place = events.c.position
        wanted = () if kinds is None else (events.c.event_type.in_(sorted(kinds)),)
        cursor = await self._connection.execute(
            select(events).where(place > position, *wanted).order_by(place).limit(limit)
        )
        return [event_of_row(row) for row in cursor]

    async def last_position(self) -> int:
        """See the port."""
        return (await self._connection.execute(newest_position)).scalar_one() or 0

    async def gap(self, query: EventQuery) -> Gap | None:
        """See the port."""
        newest = await self.last_position()
        if query.after > newest:
            return Gap(query.after, newest)
        return await _gap(self._connection, query)

    async def give(self, stream: str, before: PrincipalId, after: PrincipalId) -> None:
        """See the port."""
        own = (events.c.stream == stream, events.c.owner == before)
        await self._connection.execute(update(events).where(*own).values(owner=after))
        await _give_gaps(self._connection, stream, before=before, after=after)

    async def next_stream(self, after: str) -> StreamSpan | None:
        """See the port."""
        return await _next_stream(self._connection, after)

    async def remove(self, removal: Removal) -> int:
        """See the port."""
        return await _remove(self._connection, removal)


def _batches(drafts: Sequence[EventDraft]) -> Iterator[Sequence[EventDraft]]:
    return (drafts[start : start + BATCH] for start in range(0, len(drafts), BATCH))


def _draft_row(draft: EventDraft) -> dict[str, str | int | None]:
    kind = check(draft.event_type, draft.payload)
    return {
        "id": draft.id,
        "org_id": draft.org_id,
        "owner": draft.owner,
        "stream": draft.stream,
        "event_type": draft.event_type,
        "event_version": kind.version,
        "at_us": to_us(draft.at),
        "actor_kind": draft.actor.kind.value,
        "actor_id": draft.actor.id,
        "reason": None if draft.reason is None else storable(draft.reason),
        "payload": msgspec.json.encode(draft.payload).decode(),
    }


def _event_of(draft: EventDraft, position: int, seq: int) -> Event:
    return Event(
        id=draft.id,
        position=position,
        stream=draft.stream,
        seq=seq,
        event_type=draft.event_type,
        event_version=check(draft.event_type, draft.payload).version,
        at=draft.at,
        org_id=draft.org_id,
        actor_kind=draft.actor.kind.value,
        actor_id=draft.actor.id,
        reason=draft.reason,
        payload=draft.payload,
    )


def event_of_row(row: Row[tuple[object, ...]]) -> Event:
    """Return the event of a row of `events`."""
    columns = row._mapping
    payload: dict[str, Json] = _decoder.decode(columns["payload"])  # type: ignore[assignment]
    return Event(
        id=EventId(columns["id"]),
        position=columns["position"],
        stream=columns["stream"],
        seq=columns["seq"],
        event_type=columns["event_type"],
        event_version=columns["event_version"],
        at=from_us(columns["at_us"]),
        org_id=OrgId(columns["org_id"]),
        actor_kind=columns["actor_kind"],
        actor_id=columns["actor_id"],
        reason=columns["reason"],
        payload=payload,
    )


Conditions = Callable[[Table], list[ColumnElement[bool]]]
"""The conditions for rows of `events` or of `event_gaps`."""


async def reader_conditions(connection: AsyncConnection, query: EventQuery) -> list[Conditions]:
    """Return the conditions for what the reader of a query may read, by owner: each part is read in
    the order of the index of owners, however long the log is."""
    parts: list[Conditions] = [partial(_owner_conditions, query=query, owner=query.owner)]
    if query.team:
        if query.owner != EVERY_MEMBER:
            parts.append(partial(_owner_conditions, query=query, owner=EVERY_MEMBER))
        table = sandboxes.c
        shared = (table.org_id == query.org_id, table.scope == Scope.SHARED.value)
        others = await connection.execute(
            select(table.owner).where(*shared, table.owner != query.owner).distinct()
        )
        streams = select(literal(SANDBOX_STREAMS).concat(table.id)).where(*shared)
        for owner in sorted(others.scalars()):
            theirs = streams.where(table.owner == owner)
            parts.append(partial(_owner_conditions, query=query, owner=owner, streams=theirs))
    return parts


def _owner_conditions(
    table: Table, *, query: EventQuery, owner: str, streams: Select[str] | None = None
) -> list[ColumnElement[bool]]:
    """Return the conditions for the rows of an owner, only in `streams` if given."""
    column = table.c
    conditions = [
        column.org_id == query.org_id,
        column.owner == owner,
        column.position > query.after,
    ]
    if query.stream is not None:
        conditions.append(column.stream == query.stream)
    if streams is not None:
        conditions.append(column.stream.in_(streams))
    return conditions


async def _page(
    connection: AsyncConnection, query: EventQuery, conditions: list[ColumnElement[bool]]
) -> list[Event]:
    position = events.c.position
    place = position.desc() if query.latest else position
    if query.kinds is not None:
        conditions = [*conditions, events.c.event_type.in_(sorted(query.kinds))]
    cursor = await connection.execute(
        select(events).where(*conditions).order_by(place).limit(query.limit)
    )
    return [event_of_row(row) for row in cursor]


async def _next_stream(connection: AsyncConnection, after: str) -> StreamSpan | None:
    """Return the stream whose name follows `after`: two look-ups in the index of `stream` and
    `seq`, and one for each stream apart that lies between."""
    table = events.c
    while True:
        cursor = await connection.execute(
            select(table.stream, table.seq, table.at_us, table.position)
            .where(table.stream > after)
            .order_by(table.stream, table.seq)
            .limit(1)
        )
        oldest = cursor.one_or_none()
        if oldest is None:
            return None
        if oldest.position is not None:
            break
        after = oldest.stream
    newest = await connection.execute(_select_newest_seq(oldest.stream))
    return StreamSpan(oldest.stream, oldest.seq, from_us(oldest.at_us), newest.scalar_one())


async def _remove(connection: AsyncConnection, removal: Removal) -> int:
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


async def _gap(connection: AsyncConnection, query: EventQuery) -> Gap | None:
    """Return the events that the query's reader can no longer get; None when there are none."""
    ends = []
    for conditions in await reader_conditions(connection, query):
        cursor = await connection.execute(
            select(func.max(event_gaps.c.position)).where(*conditions(event_gaps))
        )
        ends.append(cursor.scalar_one())
    to = max((end for end in ends if end is not None), default=None)
    return None if to is None else Gap(query.after, to)


async def _give_gaps(
    connection: AsyncConnection, stream: str, *, before: PrincipalId, after: PrincipalId
) -> None:
    """Add what is told of one owner's removed events to what is told of another's."""
    table = event_gaps.c
    theirs = (table.stream == stream, table.owner.in_((before, after)))
    gaps = (await connection.execute(select(event_gaps).where(*theirs))).mappings().all()
    if not any(row["owner"] == before for row in gaps):
        return
    await connection.execute(delete(event_gaps).where(*theirs))
    joined = {
        "stream": stream,
        "org_id": gaps[0]["org_id"],
        "owner": after,
        "position": max(row["position"] for row in gaps),
        "removed": sum(row["removed"] for row in gaps),
    }
    await connection.execute(insert(event_gaps), joined)


async def _going(
    connection: AsyncConnection, removal: Removal
) -> Sequence[Row[int, int, int, str, str]]:
    """Return the first events of the stream that are old enough or too many, up to the first that
    is not."""
    table = events.c
    cursor = await connection.execute(
        select(table.position, table.seq, table.at_us, table.org_id, table.owner)
        .where(
            table.stream == removal.stream,
            table.seq < _select_newest_seq(removal.stream).scalar_subquery(),
        )
        .order_by(table.seq)
        .limit(removal.limit)
    )
    going, before_us = [], to_us(removal.before)
    for row in cursor:
        if row.at_us >= before_us and row.seq >= removal.below:
            break
        if removal.until is not None and row.position > removal.until:
            break
        going.append(row)
    return going


def _select_newest_seq(stream: str) -> Select[int]:
    return select(func.max(events.c.seq)).where(events.c.stream == stream)
