"""Work that many callers request at once and that is done once.

The first to request it does it; the others wait for its result. Nothing is kept after it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Flights(Generic[T]):
    """A table of work in progress, by key; for one event loop."""

    def __init__(self) -> None:
        self._aloft: dict[str, asyncio.Future[T | None]] = {}

    async def join(self, key: str, work: Callable[[], Awaitable[T]]) -> T:
        """Return the result of the work in progress under `key`, else of `work`.

        An error reaches everybody who waits; when the one who works is cancelled, the next takes
        over.
        """
        while (other := self._aloft.get(key)) is not None:
            outcome = await asyncio.shield(other)
            if outcome is not None:
                return outcome
        mine: asyncio.Future[T | None] = asyncio.get_running_loop().create_future()
        self._aloft[key] = mine
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
            del self._aloft[key]
            if not mine.done():
                mine.set_result(None)
