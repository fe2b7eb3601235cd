"""A single execution of work that many callers request at once.

The first caller does the work; the others wait for its result. No result is kept.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class SingleFlight(Generic[T]):
    """The table of work in progress, by key, on one event loop."""

    def __init__(self) -> None:
        self._running: dict[str, asyncio.Future[T | None]] = {}

    async def join(self, key: str, work: Callable[[], Awaitable[T]]) -> T:
        """Return the result of the work in progress under `key`, else of `work`.

        An error reaches every caller that waits. When the working caller is cancelled, the next
        one takes over.
        """
        while (other := self._running.get(key)) is not None:
            outcome = await asyncio.shield(other)
            if outcome is not None:
                return outcome
        mine: asyncio.Future[T | None] = asyncio.get_running_loop().create_future()
        self._running[key] = mine
        try:
            result = await work()
        except Exception as error:
            mine.set_exception(error)
            mine.exception()  # marks the error as retrieved: there may be nobody else waiting
            raise
        else:
            mine.set_result(result)
            return result
        finally:
            del self._running[key]
            if not mine.done():
                mine.set_result(None)
