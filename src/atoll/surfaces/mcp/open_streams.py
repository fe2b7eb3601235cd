"""Open streams of callers, bounded: each takes a connection and a place in the log.

They are counted in this process: of several replicas each allows as much. They end with it.
"""

import asyncio
from collections import Counter
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Final

from atoll.domain.errors import AtollError, LimitReached
from atoll.domain.people.principal import Principal

MAX_STREAMS: Final = 1024
"""The open streams of a caller from outside: all agents of a person may share one token."""

MAX_INSIDE: Final = 64
"""The open streams of a sandbox."""


class OpenStreams:
    """Counts open streams, standing and listening ones."""

    def __init__(self) -> None:
        self._open: Counter[tuple[str, str, str]] = Counter()
        self._ended = asyncio.Event()

    def end(self) -> None:
        """End what `run` runs: the server ends."""
        self._ended.set()

    async def run(self, *acts: Coroutine[Any, Any, None]) -> None:
        """Run the acts of a stream until one of them fails or `end` is called. Raises the first
        error of ours, as it is."""
        failures: list[AtollError] = []

        async def run(act: Coroutine[Any, Any, None]) -> None:
            try:
                await act
            except AtollError as error:
                failures.append(error)
                raise

        try:
            async with asyncio.TaskGroup() as tasks:
                running = [tasks.create_task(run(act)) for act in acts]
                await self._ended.wait()
                for one in running:
                    one.cancel()
        except* AtollError:
            pass
        if failures:
            raise failures[0]

    @contextmanager
    def counted(self, caller: Principal) -> Iterator[None]:
        """Count a stream while it is open. Raises `LimitReached` for one too many."""
        inside = None if caller.token is None else caller.token.sandbox_id
        key, bound = (caller.org_id, caller.id, inside or ""), MAX_INSIDE if inside else MAX_STREAMS
        if self._open[key] >= bound:
            raise LimitReached(f"{bound} streams are open already: close one of them first")
        self._open[key] += 1
        try:
            yield
        finally:
            self._open[key] -= 1
            if not self._open[key]:
                del self._open[key]
