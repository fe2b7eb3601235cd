"""The end of a sandbox as its runtime hears of it: from then on nothing is begun or confirmed.

After `POST /farewell` the control plane reads the journal for the last time. What a client was told
before is in there. What would be told afterwards might not be, so it is refused, although it may
have had some effect.
"""

import asyncio
import contextlib
from collections.abc import Iterator

from atoll.domain.errors import Conflict
from atoll.wire.contract.exec_pipe import PATH as PIPE_PATH
from atoll.wire.contract.journal import REST_SECONDS
from atoll.wire.contract.ports import SOCKETS_PATH

HOLDS_SECONDS = 300.0
"""After a farewell that no end followed: the control plane died, and the sandbox was started
again."""

_NOTED = ("/execs", "/sessions", "/agents")
"""Beginnings of the paths at which a `POST` begins what the journal reports."""


def is_noted(method: str, path: str) -> bool:
    """Return whether the journal reports what such a request begins."""
    return method == "POST" and path.startswith(_NOTED)


def is_use(method: str, path: str) -> bool:
    """Report whether such a request uses the sandbox, so that it is refused while that is about to
    sleep: it begins or changes something, or goes to a port."""
    if path.startswith("/ports/") or path in (PIPE_PATH, SOCKETS_PATH):
        return True
    return method != "GET" and path.startswith((*_NOTED, "/files", "/asks", "/wakes", "/workers"))


class AnnouncedEnd:
    """Note of the announcement, which makes the routes refuse; and of a rest before it."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._until = self._rests_until = 0.0
        self._under_way = 0

    @contextlib.contextmanager
    def use(self) -> Iterator[None]:
        """Count a request that begins something for as long as it is under way."""
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1

    @property
    def in_use(self) -> bool:
        """True while such a request is under way."""
        return self._under_way > 0

    def rest(self, seconds: float | None = None) -> None:
        """Begin nothing for so long, by default `REST_SECONDS`: the sandbox is about to end."""
        longest = REST_SECONDS if seconds is None else seconds
        self._rests_until = self._loop.time() + longest

    def check_rest(self) -> None:
        """Raise `Conflict` while it rests: what is asked then has no effect."""
        if self._loop.time() < self._rests_until:
            raise Conflict("the sandbox falls asleep: use it again", code="falling_asleep")

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
