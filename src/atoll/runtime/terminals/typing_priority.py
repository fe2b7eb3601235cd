"""Who gives way on a busy runtime: a terminal that floods, to a person who types at another.

A flood takes all the processor there is, and an echo would wait for its turn behind it. So
while somebody types, the flood of every other terminal is read at a measured pace, some ten
MB a second; its program waits, and nothing is lost. Who types decides nothing else.
"""

import asyncio

TYPING_SECONDS = 1.0
"""So long after a key its typist counts as typing."""


class Courtesy:
    """Shared by the terminals of one runtime; each is known by its id."""

    __slots__ = ("_last", "_last_until", "_loop", "_others_until")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._last = ""
        self._last_until = 0.0
        self._others_until = 0.0

    def typed(self, terminal: str) -> None:
        """Somebody typed at this one."""
        if terminal != self._last:
            self._last, self._others_until = terminal, self._last_until
        self._last_until = self._loop.time() + TYPING_SECONDS

    def owed(self, terminal: str) -> bool:
        """Whether this one has to give way to somebody who types at another."""
        until = self._others_until if terminal == self._last else self._last_until
        return until > self._loop.time()
