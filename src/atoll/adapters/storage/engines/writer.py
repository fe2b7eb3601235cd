"""The connection of a database that writes, kept from one transaction to the next.

SQLAlchemy opens it and executes most statements on it. What every transaction repeats goes to the
driver itself, in a tenth of the time: its begin and end, savepoints, and `DriverStatement`.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol, cast

from sqlalchemy import ClauseElement
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from sqlalchemy.sql.compiler import SQLCompiler

from atoll.ports import StoreUnavailable


class WriteLink(Protocol):
    """A driver's own connection. Raises `StoreUnavailable`."""

    def is_closed(self) -> bool:
        """Return whether the connection is known to be lost."""
        ...

    async def begin(self) -> None:
        """Begin a transaction that no other writer shares, at the latest with its first
        statement."""
        ...

    async def commit(self) -> None:
        """Commit what was begun."""
        ...

    async def rollback(self) -> None:
        """Roll back what was begun; nothing to do where nothing was."""
        ...

    async def fetch(self, statement: str, *values: object) -> Sequence[Sequence[Any]]:
        """Execute one statement and return its rows."""
        ...


@dataclass(frozen=True, slots=True)
class Writing:
    """A transaction: the connection for SQLAlchemy's statements, the link for the driver's."""

    connection: AsyncConnection
    link: WriteLink


class DriverStatement:
    """A statement that is compiled once and executed by the driver itself. Its values are text,
    whole numbers and None, which no driver converts."""

    def __init__(self, statement: ClauseElement) -> None:
        self._statement = statement
        self._compiled: dict[str, tuple[str, list[tuple[str, object]]]] = {}

    def on(self, dialect: Any, values: Mapping[str, object]) -> tuple[str, list[object]]:
        """Return the text for a database, and the values in their places there."""
        compiled = self._compiled.get(dialect.name)
        if compiled is None:
            # A statement with values compiles to no other kind.
            made = cast(
                SQLCompiler, self._statement.compile(dialect=dialect, column_keys=list(values))
            )
            places = [(name, made.params[name]) for name in made.positiontup or ()]
            compiled = self._compiled[dialect.name] = (made.string, places)
        text, places = compiled
        return text, [values.get(name, constant) for name, constant in places]


class Writer:
    """The one connection that writes. `wrapped` returns the link for a driver's connection."""

    def __init__(self, engine: AsyncEngine, wrapped: Callable[[Any], WriteLink]) -> None:
        self._engine = engine
        self._wrapped = wrapped
        self._held: Writing | None = None
        self._turn = asyncio.Lock()

    @property
    def busy(self) -> bool:
        """Return whether a transaction is open."""
        return self._turn.locked()

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Writing]:
        """Open a transaction. It commits when its block ends, and leaves nothing when the block
        raises."""
        async with self._turn:
            held = await self._ensure_connection()
            try:
                await held.link.begin()
                yield held
                await held.link.commit()
            except BaseException:
                await self._undo(held)
                raise

    async def close(self) -> None:
        """Close the connection, after a transaction that is open."""
        async with self._turn:
            held, self._held = self._held, None
            if held is not None:
                await held.connection.close()
            await self._engine.dispose()

    async def _ensure_connection(self) -> Writing:
        """Return the open connection; open a new one if there is none."""
        if self._held is not None and self._held.link.is_closed():
            await self._drop()
        if self._held is None:
            connection = await self._engine.connect()
            raw = await connection.get_raw_connection()
            self._held = Writing(connection, self._wrapped(raw.driver_connection))
        return self._held

    async def _undo(self, held: Writing) -> None:
        """Roll back, or give the connection up where that is not possible. Raises nothing but a
        cancellation: whoever calls has an error already."""
        try:
            await held.link.rollback()
        except StoreUnavailable:
            await self._drop()
        except BaseException:
            await self._drop()
            raise
        if held.link.is_closed() or held.connection.invalidated:
            await self._drop()

    async def _drop(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            await held.connection.invalidate()
            await held.connection.close()
