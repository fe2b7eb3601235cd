"""Rows of the event log."""

from collections.abc import Sequence

import msgspec
from sqlalchemy import Row, bindparam, func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage import event_gap_rows
from atoll.adapters.storage.moments import from_us, to_us
from atoll.adapters.storage.tables import events
from atoll.domain.event import Event, EventDraft, Gap, Json, check
from atoll.domain.event_retention import Removal, StreamSpan
from atoll.domain.ids import EventId, OrgId
from atoll.ports import EventQuery

_earlier = events.alias()
_next_seq = (
    select(func.coalesce(func.max(_earlier.c.seq), 0) + 1)
    .where(_earlier.c.stream == bindparam("in_stream"))
    .scalar_subquery()
)
_append = insert(events).values(seq=_next_seq).returning(events.c.position, events.c.seq)
"""The statement that appends one event: each must see the `seq` of the one before."""

_decoder: msgspec.json.Decoder[dict[str, object]] = msgspec.json.Decoder(dict[str, object])


class SqlEventRows:
    """The `ports.store.store.EventRows` on one connection.

    Positions and `seq` are gap-free in the order of commits because writing transactions are
    serialised (SQLite by its write lock, PostgreSQL by an advisory one).
    """

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def append(self, drafts: Sequence[EventDraft]) -> list[Event]:
        """See the port."""
        appended = []
        for draft in drafts:
            row = _row(draft)
            stored = await self._connection.execute(_append, row | {"in_stream": draft.stream})
            position, seq = stored.one()
            appended.append(_event_of(draft, position, seq))
        return appended

    async def page(self, query: EventQuery) -> list[Event]:
        """See the port."""
        table = events.c
        place = table.position.desc() if query.latest else table.position
        found = await self._connection.execute(
            select(events)
            .where(*event_gap_rows.wanted(events, query))
            .order_by(place)
            .limit(query.limit)
        )
        page = [_event(row) for row in found]
        return page[::-1] if query.latest else page

    async def last_position(self) -> int:
        """See the port."""
        found = await self._connection.execute(select(func.max(events.c.position)))
        return found.scalar_one() or 0

    async def gap(self, query: EventQuery) -> Gap | None:
        """See the port."""
        return await event_gap_rows.gap(self._connection, query)

    async def next_stream(self, after: str) -> StreamSpan | None:
        """See the port."""
        return await event_gap_rows.next_stream(self._connection, after)

    async def remove(self, removal: Removal) -> int:
        """See the port."""
        return await event_gap_rows.remove(self._connection, removal)


def _row(draft: EventDraft) -> dict[str, str | int | None]:
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
        "reason": draft.reason,
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


def _event(row: Row[tuple[object, ...]]) -> Event:
    found = row._mapping
    payload: dict[str, Json] = _decoder.decode(found["payload"])  # type: ignore[assignment]
    return Event(
        id=EventId(found["id"]),
        position=found["position"],
        stream=found["stream"],
        seq=found["seq"],
        event_type=found["event_type"],
        event_version=found["event_version"],
        at=from_us(found["at_us"]),
        org_id=OrgId(found["org_id"]),
        actor_kind=found["actor_kind"],
        actor_id=found["actor_id"],
        reason=found["reason"],
        payload=payload,
    )
