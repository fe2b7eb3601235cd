"""The read model `worker_summaries`: how much of each worker's stream is derived."""

from atoll.wire.api.fields import FIRST_PAGE, Paging
from atoll.wire.api.operation import Answer, Area, Stream, operation
from atoll.wire.http.media_types import SSE
from atoll.wire.words.workers import SummaryStatus


class WorkerSummaryView(Answer):
    """The summary of a worker has the events of its stream up to `last_seq`. It is `in_sync` with
    the stream, or `lag_events` are not in it yet."""

    worker_id: str
    status: SummaryStatus
    lag_events: int
    last_seq: int


class WorkerSummaryPage(Answer):
    """A page of summaries, of the newest worker first."""

    worker_summaries: list[WorkerSummaryView]
    next: str | None


class WorkerSummaries(Area):
    """The summaries of the caller's workers."""

    tag = "workers"
    needs = "agent.read"

    @operation("GET /v1/projections/worker_summaries", name="list_worker_summaries")
    def list(self, *, page: Paging = FIRST_PAGE) -> WorkerSummaryPage:
        """List the summaries of the caller's workers."""

    @operation(
        "GET /v1/projections/worker_summaries/stream",
        name="follow_worker_summaries",
        stream=SSE,
        about="A server-sent event `all`, then one `changed` for each change.",
    )
    def follow(self) -> Stream:
        """Follow the summaries of the caller's newest 1000 workers: all, then those that change."""
