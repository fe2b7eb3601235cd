"""The lease: the right of one process, for a time, to do what only one may do.

Pure. Each grant to another holder has a higher `fence`. Whoever acts under a lease passes its fence
on, so that a holder who slept past the end of its lease is refused.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class Lease:
    """A granted lease. It ends at `until`, by the clock of the process that asked for it."""

    name: str
    holder: str
    fence: int
    until: datetime

    def held(self, now: datetime) -> bool:
        """Return whether the lease has not ended."""
        return now < self.until


def grant(
    last: Lease | None, name: str, *, holder: str, now: datetime, span: timedelta
) -> Lease | None:
    """Return the lease that `holder` receives, None while another one holds it.

    A holder who asks again before the end keeps its fence. `last` is the newest lease of the name.
    """
    if last is None:
        return Lease(name, holder, 1, now + span)
    if not last.held(now):
        return Lease(name, holder, last.fence + 1, now + span)
    if last.holder != holder:
        return None
    return Lease(name, holder, last.fence, now + span)
