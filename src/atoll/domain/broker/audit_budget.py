"""A bound on the audit records that a hostile program may cause: a burst, then one a second.

Pure. The rest is counted. Audit records are kept on disk, so without a bound a loop inside would
fill the host's disk.
"""

BURST = 300
PER_SECOND = 1.0


class AuditBudget:
    """A token bucket over seconds of a steady clock that comes in as a value."""

    __slots__ = ("_at", "_left", "_missed")

    def __init__(self, now: float) -> None:
        self._at = now
        self._left = float(BURST)
        self._missed = 0

    @property
    def missed(self) -> int:
        """The number of records dropped since the last one that was written."""
        return self._missed

    def affords(self, now: float) -> bool:
        """Report whether one more record may be written now."""
        self._left = min(BURST, self._left + (now - self._at) * PER_SECOND)
        self._at = now
        return self._left >= 1

    def take(self, now: float) -> int | None:
        """Return how many records were dropped before this one; None when it is dropped too."""
        if not self.affords(now):
            self._missed += 1
            return None
        self._left -= 1
        return self.told()

    def told(self) -> int:
        """Return how many records were dropped, and begin a new count."""
        missed, self._missed = self._missed, 0
        return missed
