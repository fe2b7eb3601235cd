"""Reads that are shared by all who request the same at the same moment.

An event wakes every reader of the log at once, and most of them stand at the same place. A read is
joined only before it begins, so whoever joins sees all that was there at their request. It may
wait for a connection before that.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


Begin = Callable[[], None]
"""A function that a read calls when it begins: after what it waits for, before what it sees."""


class SharedReads(Generic[K, V]):
    """Reads by their keys. `read` must not depend on the caller, but on the key alone."""

    def __init__(self, read: Callable[[K, Begin], Awaitable[V]]) -> None:
        self._read = read
        self._next: dict[K, asyncio.Future[V]] = {}

    async def of(self, key: K) -> V:
        """Return what a read that begins after this call finds. Raises what `read` raises."""
        before = _cancellations()
        while (joined := self._next.get(key)) is not None:
            try:
                return await asyncio.shield(joined)
            except asyncio.CancelledError:
                # Where a whole group is cancelled, both we and the reader that we waited for are.
                if not joined.cancelled() or _cancellations() > before:
                    raise
        return await self._lead(key)

    async def _lead(self, key: K) -> V:
        mine: asyncio.Future[V] = asyncio.get_running_loop().create_future()
        self._next[key] = mine

        def begin() -> None:
            if self._next.get(key) is mine:
                del self._next[key]

        try:
            try:
                # All that the same event woke come here before this turn of the loop is over.
                await asyncio.sleep(0)
                outcome = await self._read(key, begin)
            finally:
                begin()
        except asyncio.CancelledError:
            mine.cancel()
            raise
        except BaseException as err:
            mine.set_exception(err)
            mine.exception()  # seen, should nobody have joined
            raise
        mine.set_result(outcome)
        return outcome


def _cancellations() -> int:
    """Return how many cancellations this task was sent."""
    task = asyncio.current_task()
    return 0 if task is None else task.cancelling()
