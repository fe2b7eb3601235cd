"""docs/run/backends.md is what the reports say, and no report is older than what it reports on."""

import msgspec
import pytest

from atoll.testing.check.page import own_extensions, page, read_reports, staleness
from tests.places import ROOT

DOCS = ROOT / "docs"
REPORTS = read_reports(DOCS / "reports")


def test_page_is_made_from_the_reports() -> None:
    made = page(REPORTS, own_extensions()).rstrip() + "\n"
    assert (DOCS / "run" / "backends.md").read_text() == made, "run scripts/backends"


@pytest.mark.parametrize("report", REPORTS, ids=lambda one: one.extension)
def test_report_passed_and_is_not_stale(report: object) -> None:
    (found,) = [one for one in REPORTS if one is report]
    assert found.passed
    assert not staleness(found), f"run `atoll extension check` for {found.extension} again"
    assert found.extension in own_extensions() and found.note


def test_report_of_another_time_is_stale() -> None:
    report = REPORTS[0]
    older = msgspec.structs.replace(report, atoll="0.0.1")
    assert "0.0.1" in staleness(older)
    fewer = msgspec.structs.replace(report, tests=report.tests[1:])
    assert report.tests[0] in staleness(fewer)
    more = msgspec.structs.replace(report, tests=(*report.tests, "test_gone"))
    assert "test_gone" in staleness(more)
    assert "no report" in page([], own_extensions())
