"""The end of a sandbox as its runtime hears of it: from then on nothing is begun or confirmed.

After `POST /farewell` the control plane reads the journal for the last time. What a client was told
before is in there. What would be told afterwards might not be, so it is refused, although it may
have had some effect.
"""

import asyncio

from atoll.domain.errors import Conflict

HOLDS_SECONDS = 300.0
"""After a farewell that no end followed: the control plane died, and the sandbox was started
again."""

_NOTED = ("/execs", "/sessions", "/agents")
"""Beginnings of the paths at which a `POST` begins what the journal reports."""


def is_noted(method: str, path: str) -> bool:
    """Return whether the journal reports what such a request begins."""
    return method == "POST" and path.startswith(_NOTED)


class AnnouncedEnd:
    """Note of the announcement, which makes the routes refuse."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._until = 0.0

    def announce(self) -> None:
        """Note the announcement; each one counts anew."""
        self._until = self._loop.time() + HOLDS_SECONDS

    @property
    def announced(self) -> bool:
        """True from the announcement on, for as long as it holds."""
        return self._loop.time() < self._until

    def check(self) -> None:
        """Raise `Conflict` once the end was announced."""
        if self.announced:
            raise Conflict(
                "the sandbox ends: nothing is begun in it any more, and what was under way is "
                "not confirmed",
                code="not_running",
            )
