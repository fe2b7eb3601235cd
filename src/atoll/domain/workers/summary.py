"""The read model `worker_summaries`: how much of each worker's stream is derived.

Pure. One process derives it from the streams, a moment behind them; whoever reads a summary is told
how far behind. It holds nothing that is not in the stream.
"""

from dataclasses import dataclass

from atoll.domain.ids import WorkerKey
from atoll.domain.workers.create import WorkerId
from atoll.wire.words.workers import SummaryStatus


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of the summary of a worker: `derived` is the number of the last event that is in it,
    `newest` that of the newest event of the stream."""

    key: WorkerKey
    derived: int = 0
    newest: int = 0

    @property
    def behind(self) -> bool:
        """Report whether something is to be derived; also where a stream begins anew."""
        return self.derived != self.newest


@dataclass(frozen=True, slots=True)
class WorkerSummary:
    """A summary, as readers get it. `lag_events` are not in it yet."""

    worker_id: WorkerId
    status: SummaryStatus
    lag_events: int
    last_seq: int


def summary(worker_id: WorkerId, progress: Progress) -> WorkerSummary:
    """Return the summary of a worker."""
    last = min(progress.derived, progress.newest)
    status = SummaryStatus.LAGGING if progress.behind else SummaryStatus.IN_SYNC
    return WorkerSummary(worker_id, status, progress.newest - last, last)
