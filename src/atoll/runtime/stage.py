"""Stage at which output is changed before it is kept or shown, and the clock of held output.

Redaction works here, for terminals and execs alike. A stage decides what waits. This module only
keeps its clock, whose ticks are the same for all streams whatever flows in them.
"""

import asyncio
import math
from collections.abc import Callable
from typing import Protocol

from atoll.domain.redaction.redactor import TICK_SECONDS


class Stage(Protocol):
    """Transform of a stream. It may hold bytes back, and decides for how long."""

    @property
    def waiting(self) -> bool:
        """True when the next tick would let something go."""
        ...

    def feed(self, data: bytes) -> bytes:
        """Return what may go on, now that `data` has come."""
        ...

    def tick(self) -> bytes:
        """Return what may go on, now that a tick of the clock has passed."""
        ...

    def flush(self) -> bytes:
        """Return what was held back; no more will come."""
        ...


class PassThrough:
    """Changes nothing."""

    waiting = False

    def feed(self, data: bytes) -> bytes:
        """Return `data` itself."""
        return data

    def tick(self) -> bytes:
        """Return no bytes: nothing is held back."""
        return b""

    def flush(self) -> bytes:
        """Return no bytes: nothing is held back."""
        return b""


MakeStage = Callable[[], Stage]


def next_tick(now: float) -> float:
    """Return the time of the next tick, in seconds of the loop's clock."""
    return (math.floor(now / TICK_SECONDS) + 1) * TICK_SECONDS


class Flow:
    """A stage with its clock: what comes out of it is given to `onward`, never empty."""

    __slots__ = ("_onward", "_stage", "_timer")

    def __init__(self, stage: Stage, onward: Callable[[bytes], None]) -> None:
        self._stage = stage
        self._onward = onward
        self._timer: asyncio.TimerHandle | None = None

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        self._pass(self._stage.feed(data))
        if self._timer is None and self._stage.waiting:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_at(next_tick(loop.time()), self._tick)

    def end(self) -> None:
        """End the stream and pass on what was held."""
        self.stop()
        self._pass(self._stage.flush())

    def stop(self) -> None:
        """Stop passing output on."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def close(self) -> None:
        """Stop permanently and drop the listener. The listener mostly refers to this object, too,
        and such a cycle waits for the garbage collector."""
        self.stop()
        self._onward = _unheard

    def _tick(self) -> None:
        self._timer = None
        self._pass(self._stage.tick())

    def _pass(self, data: bytes) -> None:
        if data:
            self._onward(data)


def _unheard(data: bytes) -> None:
    """Discard what comes after the end."""
