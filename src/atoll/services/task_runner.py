"""Tasks that services start, the one group they run in, and acts that an end waits for."""

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context, copy_context
from typing import Any, Final

FINISH_SECONDS: Final = 2.0
"""The time that an end leaves to an act whose answer cannot be had a second time. The next leader
waits for as long."""

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


async def complete(act: Coroutine[Any, Any, None]) -> None:
    """Run `act`, and raise what it raises. When the caller is cancelled meanwhile, `act` has
    `FINISH_SECONDS` to end."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(_catch(act))
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            await asyncio.wait((task,), timeout=FINISH_SECONDS)
            raise
    error = task.result()
    if error is not None:
        raise error


async def _catch(act: Coroutine[Any, Any, None]) -> Exception | None:
    try:
        await act
    except Exception as error:  # noqa: BLE001 - raised again above, bare
        return error
    return None
