"""A SQLite connection on a thread of its own, called once for each statement.

aiosqlite crosses to its thread four times for one statement: to make a cursor, execute, fetch, and
close. A crossing costs more than most statements, so here a cursor is made and emptied there in one
call. It knows no SQL and no schema.
"""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Self

import aiosqlite

from atoll.adapters.settled import run_to_end
from atoll.adapters.storage.engines.engines import unavailable

_ROWS_AT_A_TIME = 64


class _Cursor:
    """The part of a cursor that SQLAlchemy's asyncio adapter uses; rows are here after
    `execute`."""

    def __init__(self, link: "Link") -> None:
        self._link = link
        self._rows: list[Any] = []
        self.arraysize = 1
        self.description: Any = None
        self.rowcount = -1
        self.lastrowid: int | None = None

    async def __aenter__(self) -> Self:
        return self

    async def execute(self, operation: str, parameters: Sequence[Any] = ()) -> Self:
        """Run one statement."""
        await self._link.run(lambda: self._execute(operation, parameters))
        return self

    async def executemany(self, operation: str, parameters: Iterable[Sequence[Any]]) -> Self:
        """Run one statement for each of `parameters`."""
        await self._link.run(lambda: self._executemany(operation, parameters))
        return self

    async def fetchall(self) -> list[Any]:
        """Return the rows, once."""
        rows, self._rows = self._rows, []
        return rows

    async def close(self) -> None:
        """Do nothing: no cursor is open."""

    def _execute(self, operation: str, parameters: Sequence[Any]) -> None:
        self._link.begin_if_due()
        self._keep(self._link.database.execute(operation, parameters))

    def _executemany(self, operation: str, parameters: Iterable[Sequence[Any]]) -> None:
        self._link.begin_if_due()
        self._keep(self._link.database.executemany(operation, parameters))

    def _keep(self, cursor: sqlite3.Cursor) -> None:
        self.description, self.lastrowid = cursor.description, cursor.lastrowid
        self._rows = cursor.fetchall() if cursor.description else []
        self.rowcount = cursor.rowcount
        cursor.close()


class Link(aiosqlite.Connection):
    """An aiosqlite connection with these cursors.

    A transaction that was announced by `begin` begins with its first statement, in the same call.
    """

    _due = False

    @property
    def database(self) -> sqlite3.Connection:
        """The connection itself; for the thread only."""
        return self._conn

    async def begin(self) -> None:
        """Begin a transaction that writes, with the next statement."""
        self._due = True

    def begin_if_due(self) -> None:
        """Begin what was announced; for the thread only."""
        if self._due:
            # Before: where it cannot begin, a rollback ends what is open.
            self._due = False
            self.database.execute("BEGIN IMMEDIATE")

    async def commit(self) -> None:
        """Commit, unless nothing was begun. Raises `StoreUnavailable`."""
        await self._end(super().commit)

    async def rollback(self) -> None:
        """Roll back, unless nothing was begun. Raises `StoreUnavailable`."""
        await self._end(super().rollback)

    async def _end(self, end: Callable[[], Awaitable[None]]) -> None:
        if self._due:
            self._due = False
            return
        try:
            await end()
        except sqlite3.Error as err:
            raise unavailable(err) from err

    async def run(self, call: Callable[[], None]) -> None:
        """Run `call` on the thread, and when cancelled return only after its end.

        The thread reports to the event loop, which may be closed soon after a cancellation.
        """
        try:
            await self._execute(call)  # type: ignore[no-untyped-call]
        except asyncio.CancelledError:
            await run_to_end(self._execute(_nothing))  # type: ignore[no-untyped-call]
            raise

    def is_closed(self) -> bool:
        """Return False: a file is not lost."""
        return False

    async def fetch(self, statement: str, *values: Any) -> list[Any]:
        """Execute a statement and return its rows, in one call. Raises `StoreUnavailable`."""
        cursor = _Cursor(self)
        try:
            await cursor.execute(statement, values)
        except sqlite3.Error as err:
            raise unavailable(err) from err
        return await cursor.fetchall()

    def cursor(self) -> Any:
        """Return a cursor; costs nothing."""
        return _Cursor(self)


def _nothing() -> None:
    """Do nothing: the thread gets to this when all before is done."""


async def link(path: str) -> Link:
    """Open the file at `path`. A cancelled call returns once the thread is over. Raises
    `sqlite3.Error`."""
    connection = Link(lambda: sqlite3.connect(path), _ROWS_AT_A_TIME)
    # A process that ends does not wait for this thread: uncommitted changes are dropped anyway.
    connection._thread.daemon = True
    try:
        await run_to_end(connection)
    except BaseException:
        await run_to_end(connection.close())
        if connection._thread.ident is not None:  # an event loop that ends may cancel before that
            connection._thread.join()  # at most the end of a connection that did not open is left
        raise
    return connection
