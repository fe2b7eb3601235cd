"""Work that is finished once it began, also when the task that awaits it is cancelled."""

import asyncio
import shutil
from collections.abc import Awaitable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


async def run_to_end(act: Awaitable[T]) -> T:
    """Await `act` to its end; only then raise a cancellation that came meanwhile."""
    work = asyncio.ensure_future(act)  # noqa: TID251 - awaited to its end, here
    cancelled: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError as err:
            cancelled = err
        except BaseException:  # noqa: BLE001 - raised below, as the work's own
            break
    if cancelled is not None and not work.cancelled():
        work.exception()  # nobody else asks for it
        raise cancelled
    return work.result()


async def remove_tree(place: Path) -> None:
    """Delete a directory with everything in it, as far as that is possible. A cancellation does
    not leave it there: threads that are all busy would drop the work unseen."""
    await run_to_end(asyncio.to_thread(shutil.rmtree, place, ignore_errors=True))
