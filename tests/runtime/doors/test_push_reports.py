"""Reports of held pushes: bounded, and the last one is never lost."""

import asyncio
from collections.abc import Mapping

import pytest

from atoll.domain.errors import Invalid
from atoll.runtime.doors.approvals.push_reports import PushReports


class Journal:
    """What was recorded; `news` rings at each entry."""

    def __init__(self) -> None:
        self.kinds: list[str] = []
        self.news = asyncio.Event()

    def record(self, kind: str, payload: Mapping[str, object]) -> None:
        assert payload == {}, "nothing from inside is told"
        self.kinds.append(kind)
        self.news.set()


async def test_flood_of_pushes_is_two_entries() -> None:
    journal = Journal()
    reports = PushReports(journal.record, 0.05)
    for _ in range(100):
        reports.report(("0", "fix"))
    assert journal.kinds == ["git.pushed"]
    journal.news.clear()
    await journal.news.wait()
    assert journal.kinds == ["git.pushed"] * 2
    reports.close()


async def test_closed_reports_owe_nothing() -> None:
    journal = Journal()
    reports = PushReports(journal.record, 60)
    reports.report(())
    reports.report(())
    reports.close()
    reports.report(())
    assert journal.kinds == ["git.pushed"] * 2
    reports.close()


async def test_report_of_too_many_words_is_refused() -> None:
    with pytest.raises(Invalid, match="at most 64 words"):
        PushReports(Journal().record).report(("x",) * 65)
