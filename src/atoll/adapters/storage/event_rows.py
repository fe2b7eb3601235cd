"""Rows of the event log."""

from collections.abc import Sequence

import msgspec
from sqlalchemy import Row, func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.moments import from_us, to_us
from atoll.adapters.storage.tables import events
from atoll.domain.event import Event, EventDraft, Json, check
from atoll.domain.ids import EventId, OrgId
from atoll.ports import EventQuery

_decoder: msgspec.json.Decoder[dict[str, object]] = msgspec.json.Decoder(dict[str, object])


class SqlEventRows:
    """`ports.store.EventRows` on one connection.

    Positions and `seq` are gap-free in the order of commits because writing transactions
    are serialised (SQLite by its write lock, PostgreSQL by an advisory one).
    """

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def append(self, drafts: Sequence[EventDraft]) -> list[Event]:
        """See the port."""
        rows = await self._numbered(drafts)
        if not rows:
            return []
        stored = await self._connection.execute(
            insert(events).returning(events.c.position, sort_by_parameter_order=True), rows
        )
        return [
            _event_of(draft, row, position)
            for draft, row, position in zip(drafts, rows, stored.scalars(), strict=True)
        ]

    async def page(self, query: EventQuery) -> list[Event]:
        """See the port."""
        table = events.c
        wanted = [
            table.org_id == query.org_id,
            table.owner == query.owner,
            table.position > query.after,
        ]
        if query.stream is not None:
            wanted.append(table.stream == query.stream)
        found = await self._connection.execute(
            select(events).where(*wanted).order_by(table.position).limit(query.limit)
        )
        return [_event(row) for row in found]

    async def last_position(self) -> int:
        """See the port."""
        found = await self._connection.execute(select(func.max(events.c.position)))
        return found.scalar_one() or 0

    async def _numbered(self, drafts: Sequence[EventDraft]) -> list[dict[str, str | int | None]]:
        """Rows with the next `seq` of their streams."""
        last: dict[str, int] = {}
        rows = []
        for draft in drafts:
            if draft.stream not in last:
                last[draft.stream] = await self._last_seq(draft.stream)
            last[draft.stream] += 1
            rows.append(_row(draft, last[draft.stream]))
        return rows

    async def _last_seq(self, stream: str) -> int:
        found = await self._connection.execute(
            select(func.max(events.c.seq)).where(events.c.stream == stream)
        )
        return found.scalar_one() or 0


def _row(draft: EventDraft, seq: int) -> dict[str, str | int | None]:
    kind = check(draft.event_type, draft.payload)
    return {
        "id": draft.id,
        "org_id": draft.org_id,
        "owner": draft.owner,
        "stream": draft.stream,
        "seq": seq,
        "event_type": draft.event_type,
        "event_version": kind.version,
        "at_us": to_us(draft.at),
        "actor_kind": draft.actor.kind.value,
        "actor_id": draft.actor.id,
        "reason": draft.reason,
        "payload": msgspec.json.encode(draft.payload).decode(),
    }


def _event_of(draft: EventDraft, row: dict[str, str | int | None], position: int) -> Event:
    return Event(
        id=draft.id,
        position=position,
        stream=draft.stream,
        seq=int(row["seq"] or 0),
        event_type=draft.event_type,
        event_version=int(row["event_version"] or 0),
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
