"""Typing priority: a terminal that floods is throttled while a person types at another.

A flood takes all the processor there is, and the echo of a key would wait behind it. So while
somebody types, every other terminal's flood is read at about ten MB a second; its program waits,
and nothing is lost.
"""

import asyncio

TYPING_SECONDS = 1.0
"""Seconds after a key in which its sender counts as typing."""


class TypingPriority:
    """The typing priority among the terminals of one runtime, by their ids."""

    __slots__ = ("_last", "_last_until", "_loop", "_others_until")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._last = ""
        self._last_until = 0.0
        self._others_until = 0.0

    def typed(self, terminal: str) -> None:
        """Note that somebody typed at this terminal."""
        if terminal != self._last:
            self._last, self._others_until = terminal, self._last_until
        self._last_until = self._loop.time() + TYPING_SECONDS

    def throttles(self, terminal: str) -> bool:
        """Return whether this terminal is throttled: somebody types at another."""
        until = self._others_until if terminal == self._last else self._last_until
        return until > self._loop.time()
