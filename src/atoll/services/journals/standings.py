"""Progress of the collection of each running sandbox's journal, for monitoring.

Bounded by what runs: `keep` forgets the others. It holds numbers, and gives out sums alone.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from atoll.domain.ids import SandboxId
from atoll.ports import Clock
from atoll.wire.contract.journal import JournalPage


@dataclass(frozen=True, slots=True)
class _JournalReading:
    """The last reading of a journal: its time, the entries left, and the open terminals of the
    sandbox then."""

    read_at: datetime
    behind: int = 0
    terminals: int = 0


class Standings:
    """The standing of every journal that is collected."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[SandboxId, _JournalReading] = {}

    def keep(self, running: Iterable[SandboxId]) -> None:
        """Forget the sandboxes that do not run, and expect the others from now on."""
        now = self._clock.now()
        known = self._known
        self._known = {
            sandbox_id: known.get(sandbox_id) or _JournalReading(now) for sandbox_id in running
        }

    def read(self, sandbox_id: SandboxId, page: JournalPage, *, collected: int) -> None:
        """Record a page that was read, and the number up to which entries are in the log."""
        behind = max(0, page.last - collected)
        self._known[sandbox_id] = _JournalReading(self._clock.now(), behind, page.terminals)

    def collected(self, sandbox_id: SandboxId, *, entries: int) -> None:
        """Record that so many entries of the last page are in the log now."""
        known = self._known.get(sandbox_id)
        if known is not None:
            left = max(0, known.behind - entries)
            self._known[sandbox_id] = replace(known, behind=left)

    @property
    def lag_seconds(self) -> float:
        """The time since the journal that was not read for longest was read."""
        now = self._clock.now()
        lags = ((now - reading.read_at).total_seconds() for reading in self._known.values())
        return max(lags, default=0.0)

    @property
    def behind(self) -> int:
        """The entries that were known and not in the log, of all journals."""
        return sum(reading.behind for reading in self._known.values())

    @property
    def terminals(self) -> int:
        """The open terminals of all running sandboxes, as last read."""
        return sum(reading.terminals for reading in self._known.values())
