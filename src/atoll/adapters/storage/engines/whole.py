"""Work at a connection that is finished once it began, also when its task is cancelled.

A driver gives a connection up when one of its calls is cancelled. Transactions that share it would
all be lost with it, so here a cancellation is raised as soon as the call is over.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any

from sqlalchemy import Dialect

from atoll.adapters.settled import run_to_end
from atoll.adapters.storage.engines.writer import DriverStatement, Writing


class WholeStatements:
    """The part of a connection that rows use; each statement is finished once it began.

    `writing` is the transaction of the block that is open. Statements outside of one are refused.
    """

    def __init__(self) -> None:
        self.writing: Writing | None = None

    @property
    def dialect(self) -> Dialect:
        """Dialect of the database."""
        return self._open.connection.dialect

    async def execute(self, *statement: Any) -> Any:
        """Execute a statement, with its parameters."""
        return await run_to_end(self._open.connection.execute(*statement))

    async def fetch(
        self, statement: DriverStatement, values: Mapping[str, object]
    ) -> Sequence[Sequence[Any]]:
        """Execute a statement by the driver itself, and return its rows."""
        writing = self._open
        text, placed = statement.on(writing.connection.dialect, values)
        return await run_to_end(writing.link.fetch(text, *placed))

    @property
    def _open(self) -> Writing:
        if self.writing is None:
            raise RuntimeError("rows are used after the end of their transaction")
        return self.writing


class WholeTransaction:
    """A context that is entered and left without being interrupted. `committed` is True once it
    was left without an error."""

    def __init__(self, context: AbstractAsyncContextManager[Writing]) -> None:
        self._context = context
        self.committed = False

    async def __aenter__(self) -> Writing:
        """Enter; leave again when cancelled meanwhile."""
        work = asyncio.ensure_future(self._context.__aenter__())  # noqa: TID251 - awaited to its end, here
        try:
            return await run_to_end(work)
        except asyncio.CancelledError as err:
            if not work.cancelled() and work.exception() is None:
                await run_to_end(self._context.__aexit__(type(err), err, err.__traceback__))
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave. A cancellation is raised once that is done."""
        work = asyncio.ensure_future(self._context.__aexit__(kind, error, trace))  # noqa: TID251 - awaited to its end, here
        try:
            await run_to_end(work)
        finally:
            done = not work.cancelled() and work.exception() is None
            self.committed = kind is None and done
