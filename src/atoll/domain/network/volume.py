"""How many bytes may pass a door in an hour, each way, pure.

A bound on what can be carried out by a host that is allowed, not on speed. The hour is a
bucket that refills steadily; seconds of a steady clock come in as a value.
"""

HOUR = 3600.0


class HourlyBytes:
    """One direction. `limit` None never ends."""

    __slots__ = ("_at", "_left", "_limit")

    def __init__(self, limit: int | None, now: float) -> None:
        self._limit = limit
        self._left = float(limit or 0)
        self._at = now

    def limit(self, limit: int | None, now: float) -> None:
        """Live by another limit; what was spent of the one before stays spent."""
        if limit == self._limit:
            return
        spent = 0.0 if self._limit is None else self._limit - self._left
        self._limit, self._at = limit, now
        self._left = max(0.0, (limit or 0) - spent)

    def spend(self, count: int, now: float) -> bool:
        """Take `count` bytes; False when they are not there any more."""
        if self._limit is None:
            return True
        refilled = self._left + (now - self._at) * self._limit / HOUR
        self._left, self._at = min(float(self._limit), refilled), now
        if self._left < count:
            return False
        self._left -= count
        return True
