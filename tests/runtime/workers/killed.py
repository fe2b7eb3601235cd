"""A runtime in a process of its own that kills itself at one step of a request.

`python killed.py HOME PLACE STEP METHOD` opens the worker `w1` and sends it the request `r1`. What
the runtime cannot remove any more is in the folder PLACE, which its test removes.
"""

import asyncio
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

from atoll.runtime.agents.machine import MachineChannel
from atoll.runtime.workers.records import Ledger, Spool
from tests.runtime.workers.stage import seen, served

STEPS: dict[str, tuple[type, str, bool]] = {
    "before the ledger": (Ledger, "take", False),
    "before the pipe": (Ledger, "take", True),
    "after the pipe": (MachineChannel, "request", True),
    "before the receipt": (Spool, "append", False),
    "within the receipt": (Spool, "append", True),
    "after the receipt": (Ledger, "answer", True),
}

AT_MOST_SECONDS = 50
"""Then it ends by itself: its test may be gone."""


def die() -> None:
    """End this process at once."""
    os.kill(os.getpid(), signal.SIGKILL)


def arm(home: Path, step: str) -> None:
    """Make the step the last thing that this process does."""
    owner, name, after = STEPS[step]
    real = getattr(owner, name)

    def armed(*given: Any, **named: Any) -> Any:
        if not after:
            die()
        result = real(*given, **named)
        if asyncio.iscoroutine(result):
            return _finish(result, home)
        die()
        return None

    setattr(owner, name, armed)


async def _finish(result: Any, home: Path) -> None:
    """Let the loop write to the pipe."""
    await result
    while not seen(home, "test/hang"):  # noqa: ASYNC110 (another process writes it)
        await asyncio.sleep(0.01)
    die()


async def main(home: Path, step: str, method: str) -> None:
    """Serve, send, and die."""
    async with asyncio.timeout(AT_MOST_SECONDS), served(home) as worker:
        arm(home, step)
        await worker.request("r1", method)


home, place, *request = sys.argv[1:]
make = tempfile.mkdtemp
tempfile.mkdtemp = lambda **options: make(**{**options, "dir": place})  # type: ignore[assignment]
asyncio.run(main(Path(home), *request))
