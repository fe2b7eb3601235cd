"""Timeouts that hold on Python 3.11.0 to 3.11.2, which Debian 12 has.

There a task whose task group has failed once keeps a count of one cancellation. A timeout that ends
later in the same task then lets `CancelledError` out instead of `TimeoutError`, and the task ends
without a word. Mended in Python 3.11.3 (gh-102780), by the count at the timeout's beginning.
"""

import asyncio
import sys
from asyncio import timeouts
from types import TracebackType


def mend_timeouts() -> None:
    """Have `asyncio.timeout` count as later versions do. Call it before a loop runs."""
    if sys.version_info < (3, 11, 3) and timeouts.Timeout is not _MendedTimeout:
        timeouts.Timeout = _MendedTimeout  # type: ignore[misc]


class _MendedTimeout(timeouts.Timeout):  # type: ignore[misc]  # final for others
    _task_before: int = 0

    async def __aenter__(self) -> "_MendedTimeout":
        await super().__aenter__()
        self._task_before = _current_task().cancelling()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await super().__aexit__(kind, error, trace)
        # It has taken its own cancellation back by now.
        mine = self.expired() and kind is asyncio.CancelledError
        if mine and _current_task().cancelling() <= self._task_before:
            raise TimeoutError from error


def _current_task() -> "asyncio.Task[object]":
    task = asyncio.current_task()
    assert task is not None  # noqa: S101  a timeout outside a task is refused at its beginning
    return task
