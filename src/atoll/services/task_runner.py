"""Tasks that services start, and the one group they run in."""

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context, copy_context
from typing import Any

Act = Callable[[], Coroutine[Any, Any, None]]


class TaskRunner:
    """Queue of acts to start. Its callers bound it: each starts a few for a sandbox."""

    def __init__(self) -> None:
        self._waiting: asyncio.Queue[tuple[Act, Context]] = asyncio.Queue()
        self._running = False

    @property
    def running(self) -> bool:
        """Return whether acts are started at once."""
        return self._running

    def start(self, act: Act) -> None:
        """Start `act` as a task; before `run`, once it runs. An act must not raise. It keeps the
        caller's context, so that its log lines and spans name the request that it belongs to."""
        self._waiting.put_nowait((act, copy_context()))

    async def run(self) -> None:
        """Run what is started until cancelled, which cancels it all. It may be run again."""
        self._running = True
        try:
            async with asyncio.TaskGroup() as tasks:
                while True:
                    act, context = await self._waiting.get()
                    tasks.create_task(act(), context=context)
        finally:
            self._running = False
            self._waiting = asyncio.Queue()
