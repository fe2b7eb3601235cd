"""Pauses between two looks at something that announces itself to nobody.

A look costs a request or even a process. So pauses grow with the time that has passed: looking
takes a bounded share of a long wait, and what happens is seen soon after it did.
"""

import asyncio
import time

SHORTEST, LONGEST = 0.02, 0.25
SHARE = 1 / 20
"""Of what has passed already."""


class Pauses:
    """The pauses of one wait, which begins now."""

    def __init__(self) -> None:
        self._begun = time.monotonic()

    def seconds(self) -> float:
        """Return how long the next pause is."""
        return min(LONGEST, max(SHORTEST, (time.monotonic() - self._begun) * SHARE))

    def sleep(self) -> None:
        """Pause this thread."""
        time.sleep(self.seconds())

    async def wait(self) -> None:
        """Pause this task."""
        await asyncio.sleep(self.seconds())
