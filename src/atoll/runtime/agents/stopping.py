"""Ending an agent: three interrupts, then TERM, then KILL, each for its whole tree.

The tree is everything the agent started, daemons that left its session and group included.
"""

import asyncio
import contextlib
import signal
from dataclasses import dataclass

from atoll.ports.spawner import Process

LEFTOVER_SECONDS = 0.3
"""Seconds between TERM and KILL for processes left by an agent that ended by itself."""


@dataclass(frozen=True, slots=True)
class Gaps:
    """Seconds to wait after each INT and after TERM for the agent's end."""

    interrupts: tuple[float, ...] = (0.5, 0.5, 0.5)
    term: float = 1.5


async def stop(process: Process, gaps: Gaps) -> None:
    """End the agent. Returns when no process of its tree is left. Without any gap it is killed at
    once: what was paused does not run again."""
    if not any((*gaps.interrupts, gaps.term)):
        await process.signal(signal.SIGKILL, tree=True)
        await process.wait()
        return
    # A process that is stopped takes no signal but KILL and CONT.
    await process.signal(signal.SIGCONT, tree=True)
    steps = [(signal.SIGINT, seconds) for seconds in gaps.interrupts]
    for number, seconds in (*steps, (signal.SIGTERM, gaps.term)):
        await process.signal(number, tree=True)
        if await _wait_for_exit(process, seconds):
            await process.signal(signal.SIGTERM, tree=True)
            await asyncio.sleep(min(LEFTOVER_SECONDS, gaps.term))
            break
    await process.signal(signal.SIGKILL, tree=True)
    await process.wait()


async def _wait_for_exit(process: Process, seconds: float) -> bool:
    """Wait for a process. Returns whether it ended within this time."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await process.wait()
            return True
    return False
