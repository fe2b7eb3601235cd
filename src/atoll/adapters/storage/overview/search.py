"""Statements of a search. Each looks at a bounded number of the newest rows."""

from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Text, and_, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.expression import FunctionElement

from atoll.adapters.storage.columns import storable
from atoll.adapters.storage.dashboards.dashboards import visible_to
from atoll.adapters.storage.dashboards.tables import dashboards
from atoll.adapters.storage.events import event_of_row, events, reader_conditions
from atoll.adapters.storage.sandboxes import sandboxes
from atoll.domain.dashboards.dashboard import Dashboard
from atoll.domain.event import Event
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import EventQuery
from atoll.ports.store.overview.search import SearchRows, TextQuery
from atoll.wire.words.sandboxes import Scope, State

_decoder = msgspec.json.Decoder(Sandbox)
_dashboards = msgspec.json.Decoder(Dashboard)


class SqlSearchRows(SearchRows):
    """The `ports.store.overview.search.SearchRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def sandboxes(self, query: TextQuery) -> list[Sandbox]:
        """See the port."""
        table = sandboxes.c
        visible = (table.owner == query.owner) | (table.scope == Scope.SHARED.value)
        newest = (
            select(table.created_us, table.id, table.name, table.body)
            .where(table.org_id == query.org_id, visible, table.state != State.DESTROYED.value)
            .order_by(table.created_us.desc(), table.id.desc())
            .limit(query.depth)
            .subquery()
        )
        body = newest.c.body
        texts = (newest.c.name, _Part(body, "task"), _Part(body, "repos"))
        cursor = await self._connection.execute(
            select(body)
            .where(_hold(query, *texts, json=True))
            .order_by(newest.c.created_us.desc(), newest.c.id.desc())
            .limit(query.limit)
        )
        return [_decoder.decode(body) for body in cursor.scalars()]

    async def dashboards(self, query: TextQuery) -> list[Dashboard]:
        """See the port."""
        table = dashboards.c
        newest = (
            select(table.created_us, table.id, table.body)
            .where(visible_to(query.org_id, query.owner, query.subjects))
            .order_by(table.created_us.desc(), table.id.desc())
            .limit(query.depth)
            .subquery()
        )
        cursor = await self._connection.execute(
            select(newest.c.body)
            .where(_hold(query, _Part(newest.c.body, "name")))
            .order_by(newest.c.created_us.desc(), newest.c.id.desc())
            .limit(query.limit)
        )
        return [_dashboards.decode(body) for body in cursor.scalars()]

    async def events(self, query: TextQuery) -> list[Event]:
        """See the port."""
        place, page = events.c.position, []
        whose = EventQuery(query.org_id, query.owner, team=query.team)
        for conditions in await reader_conditions(self._connection, whose):
            newest = (
                select(events)
                .where(*conditions(events))
                .order_by(place.desc())
                .limit(query.depth)
                .subquery()
            )
            texts = (newest.c.event_type, newest.c.reason)
            cursor = await self._connection.execute(
                select(newest)
                .where(newest.c.reason.is_not(None), _hold(query, *texts))
                .order_by(newest.c.position.desc())
                .limit(query.limit)
            )
            page += [event_of_row(row) for row in cursor]
        page.sort(key=lambda event: event.position, reverse=True)
        return page[: query.limit]


class _Part(FunctionElement[str]):
    """The text of one member of a JSON object, NULL where it has none. What a search must not look
    at, an environment say, is then never looked at."""

    inherit_cache = True
    type = Text()

    def __init__(self, body: ColumnElement[str], member: str) -> None:
        super().__init__(body, member)


@compiles(_Part, "sqlite")
def _in_sqlite(element: _Part, compiler: Any, **more: Any) -> str:
    body, member = (compiler.process(clause, **more) for clause in element.clauses)
    return f"json_extract({body}, '$.' || {member})"


@compiles(_Part, "postgresql")
def _in_postgres(element: _Part, compiler: Any, **more: Any) -> str:
    body, member = (compiler.process(clause, **more) for clause in element.clauses)
    return f"(CAST({body} AS json) ->> {member})"


def _hold(query: TextQuery, *texts: ColumnElement[Any], json: bool = False) -> ColumnElement[bool]:
    """Return the condition that these texts hold all words between them. SQLite folds letters of
    ASCII alone, so that others are found as they were typed."""
    typed = texts[0]
    for text in texts[1:]:
        typed = typed.concat("\n").concat(func.coalesce(text, ""))
    folded, spelled = func.lower(typed), _in_json if json else storable
    return and_(
        *(
            or_(
                folded.contains(spelled(word.lower()), autoescape=True),
                typed.contains(spelled(word), autoescape=True),
            )
            for word in query.words
        )
    )


def _in_json(word: str) -> str:
    """Return a word as JSON spells it within a text."""
    return storable(msgspec.json.encode(word).decode()[1:-1])
