"""Bounds on calls of tools, by caller and tool: how often, and how many at a time.

They are counted in this process: of several replicas each allows as much.
"""

from collections import OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from atoll.domain.errors import LimitReached
from atoll.ports import Clock

PER_MINUTE: Final = 60
AT_ONCE: Final = 8
MAX_KNOWN: Final = 10_000
"""The callers and tools that are remembered; the one that called the longest ago is forgotten."""

_MINUTE = timedelta(minutes=1)


@dataclass(slots=True)
class _Use:
    """The use of one tool by one caller: the times of its calls, and how many run."""

    times: deque[datetime] = field(default_factory=deque)
    running: int = 0


class CallBounds:
    """Counts calls."""

    def __init__(
        self, clock: Clock, *, per_minute: int | None = None, at_once: int | None = None
    ) -> None:
        self._clock = clock
        self._per_minute, self._at_once = per_minute, at_once
        self._uses: OrderedDict[tuple[str, str], _Use] = OrderedDict()

    @contextmanager
    def counted(self, caller: str, tool: str) -> Iterator[None]:
        """Count a call while it runs. Raises `LimitReached` for one too many."""
        use = self._use((caller, tool))
        now = self._clock.now()
        while use.times and now - use.times[0] >= _MINUTE:
            use.times.popleft()
        per_minute, at_once = self._per_minute or PER_MINUTE, self._at_once or AT_ONCE
        if len(use.times) >= per_minute:
            raise LimitReached(f"{tool} was called {per_minute} times within a minute: wait")
        if use.running >= at_once:
            raise LimitReached(f"{at_once} calls of {tool} run already: wait for one of them")
        use.times.append(now)
        use.running += 1
        try:
            yield
        finally:
            use.running -= 1

    def _use(self, key: tuple[str, str]) -> _Use:
        use = self._uses.setdefault(key, _Use())
        self._uses.move_to_end(key)
        if len(self._uses) > MAX_KNOWN:
            oldest = next((place for place, known in self._uses.items() if not known.running), None)
            if oldest is not None:
                del self._uses[oldest]
        return use
