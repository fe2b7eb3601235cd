"""A bound on the bytes that pass a door in an hour, each way. Pure.

It limits how much can be sent out through an allowed host, not the speed. The hour is a bucket that
refills steadily; seconds of a steady clock come in as a value.
"""

HOUR = 3600.0


class HourlyBytes:
    """The bytes of one direction. A `limit` of None is unbounded."""

    __slots__ = ("_at", "_left", "_limit")

    def __init__(self, limit: int | None, now: float) -> None:
        self._limit = limit
        self._left = float(limit or 0)
        self._at = now

    def limit(self, limit: int | None, now: float) -> None:
        """Set another limit; bytes spent under the former limit stay spent."""
        if limit == self._limit:
            return
        spent = 0.0 if self._limit is None else self._limit - self._left
        self._limit, self._at = limit, now
        self._left = max(0.0, (limit or 0) - spent)

    def spend(self, count: int, now: float) -> bool:
        """Take `count` bytes; return False when fewer are left."""
        if self._limit is None:
            return True
        refilled = self._left + (now - self._at) * self._limit / HOUR
        self._left, self._at = min(float(self._limit), refilled), now
        if self._left < count:
            return False
        self._left -= count
        return True
