"""Writing transactions of this process, one at a time, of which those that wait are committed at
once.

A commit costs a sync of the disk and round trips, so the transactions that queue behind one join
it: each becomes a savepoint of one transaction of the database. A block that raises is rolled back
to its savepoint and leaves nothing. A block whose rows another one saw is answered with it: all of
a group are committed, or none.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field

from atoll.adapters.settled import run_to_end
from atoll.adapters.storage.engines.engines import unavailable
from atoll.adapters.storage.engines.whole import WholeTransaction
from atoll.adapters.storage.engines.writer import Writing

_SAVE = "SAVEPOINT atoll"
_UNDO = "ROLLBACK TO SAVEPOINT atoll"


@dataclass(slots=True)
class _Group:
    """A transaction of the database that several blocks share. `failure` is set once it cannot be
    committed; `cancelled`, when its first block was cancelled while it waited for the others."""

    writing: Writing
    over: asyncio.Event = field(default_factory=asyncio.Event)
    failure: BaseException | None = None
    cancelled: asyncio.CancelledError | None = None


class GroupCommit:
    """The writing transactions over `begin`, which opens one in the database."""

    def __init__(self, begin: Callable[[], AbstractAsyncContextManager[Writing]]) -> None:
        self._begin = begin
        self._turn = asyncio.Lock()  # first come, first served
        self._queued = 0
        self._open: _Group | None = None

    @asynccontextmanager
    async def block(self) -> AsyncIterator[Writing]:
        """Open a transaction. It is committed when this returns; raises what `begin` does."""
        self._queued += 1
        try:
            await self._turn.acquire()
        finally:
            self._queued -= 1
        opened = self._lead() if self._open is None else self._join(self._open)
        async with opened as writing:
            yield writing

    @asynccontextmanager
    async def _lead(self) -> AsyncIterator[Writing]:
        group: _Group | None = None
        transaction = WholeTransaction(self._begin())
        try:
            async with transaction as writing:
                yield writing
                if self._queued:
                    group = _Group(writing)
                    await self._let_others_in(group)
        except BaseException as err:
            if group is not None and not transaction.committed:
                group.failure = err
            raise
        finally:
            if group is not None:
                group.over.set()
            self._turn.release()
        if group is not None and group.cancelled is not None:
            raise group.cancelled

    async def _let_others_in(self, group: _Group) -> None:
        """Give the turn to those that wait, and take it again behind them."""
        self._open = group
        self._turn.release()
        while True:
            try:
                await self._turn.acquire()
                break
            except asyncio.CancelledError as err:
                # What the others did must be committed all the same.
                group.cancelled = err
        self._open = None
        if group.failure is not None:
            raise unavailable(group.failure)

    @asynccontextmanager
    async def _join(self, group: _Group) -> AsyncIterator[Writing]:
        try:
            if group.failure is not None:
                raise unavailable(group.failure)
            try:
                await run_to_end(group.writing.link.fetch(_SAVE))
            except asyncio.CancelledError:
                raise  # nothing was written yet
            except BaseException as err:
                group.failure = err
                raise
            try:
                yield group.writing
            except BaseException:
                await _undo(group)
                raise
        finally:
            self._turn.release()
        await group.over.wait()
        if group.failure is not None:
            raise unavailable(group.failure)


async def _undo(group: _Group) -> None:
    try:
        await run_to_end(group.writing.link.fetch(_UNDO))
    except asyncio.CancelledError:
        raise  # it was undone; the task has to end, whatever the block failed with
    except BaseException as err:  # noqa: BLE001 - the block's own error is the one to raise
        group.failure = err
