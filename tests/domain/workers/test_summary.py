from atoll.domain.ids import WorkerKey
from atoll.domain.workers.create import WorkerId
from atoll.domain.workers.summary import Progress, WorkerSummary, summary
from atoll.wire.words.workers import SummaryStatus

NAME, KEY = WorkerId("w"), WorkerKey("wk_a")


def test_summary_with_the_newest_event_is_in_sync() -> None:
    assert summary(NAME, Progress(KEY)) == WorkerSummary(NAME, SummaryStatus.IN_SYNC, 0, 0)
    assert summary(NAME, Progress(KEY, 7, 7)) == WorkerSummary(NAME, SummaryStatus.IN_SYNC, 0, 7)


def test_summary_says_how_many_events_it_lacks() -> None:
    lagging = WorkerSummary(NAME, SummaryStatus.LAGGING, 5, 7)
    assert summary(NAME, Progress(KEY, 7, 12)) == lagging


def test_summary_of_a_stream_that_began_anew_tells_no_number_that_is_not_there() -> None:
    found = summary(NAME, Progress(KEY, 12, 3))
    assert found == WorkerSummary(NAME, SummaryStatus.LAGGING, 0, 3)
