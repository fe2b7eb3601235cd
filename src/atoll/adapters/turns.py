"""Turns at work of which only so much goes on at once: the rest waits, up to a bound.

`Turns` is for tasks of one process, `lock_in_turn` for processes that share a directory.
"""

import asyncio
import fcntl
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from atoll.domain.errors import LimitReached

LOCK_SECONDS = 600.0
"""The longest wait for a lock: an install or a pull of gigabytes may go on."""

_LOOK_EVERY = 0.1


class Turns:
    """Turns at one kind of work (`what`, in the plural), `at_once` of them together, first come
    first served. At most `waiting` others wait."""

    def __init__(self, what: str, *, at_once: int, waiting: int) -> None:
        self._what = what
        self._room = asyncio.Semaphore(at_once)
        self._most = waiting
        self._waiting = 0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a turn and hold it. Raises `LimitReached` where too many wait already."""
        if self._room.locked() and self._waiting >= self._most:
            raise LimitReached(f"{self._waiting} {self._what} wait their turn: try again later.")
        self._waiting += 1
        try:
            await self._room.acquire()
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._room.release()


def lock_in_turn(
    handle: int, *, waits: Callable[[], None] | None = None, seconds: float | None = None
) -> None:
    """Lock an open file once its holder is done; `waits` is called when that takes a wait. Raises
    `BlockingIOError` after `seconds`."""
    end = time.monotonic() + (LOCK_SECONDS if seconds is None else seconds)
    first = True
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                raise
        else:
            return
        if first and waits is not None:
            waits()
        first = False
        time.sleep(_LOOK_EVERY)
