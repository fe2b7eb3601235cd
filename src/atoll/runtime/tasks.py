"""A place for tasks that outlive the request that started them.

Owned by one `async with`: leaving it cancels what still runs. A task that breaks is
logged and ends alone; its neighbours go on.
"""

import asyncio
import logging
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self

log = logging.getLogger("atoll.runtime")


class Tasks:
    """The tasks of one owner."""

    def __init__(self) -> None:
        self._group = asyncio.TaskGroup()
        self._live: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for task in list(self._live):
            task.cancel()
        await self._group.__aexit__(kind, error, trace)

    def spawn(self, work: Coroutine[Any, Any, None], what: str) -> asyncio.Task[None]:
        """Run `work` until it ends or the owner leaves; `what` names it in the log."""
        task = self._group.create_task(_run_and_log(work, what), name=what)
        self._live.add(task)
        task.add_done_callback(self._live.discard)
        return task


async def _run_and_log(work: Coroutine[Any, Any, None], what: str) -> None:
    """Run a task and log its defects: a defect in one terminal must not end the sandbox."""
    try:
        await work
    except Exception:
        log.exception("task %s broke; the rest of this runtime goes on", what)
