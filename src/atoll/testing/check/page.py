"""`python -m atoll.testing.check.page DOCS`: write `docs/run/backends.md` from the reports.

A report is stale when it is of another version of Atoll, or when the suites have other tests by
now: then it says nothing of what stands in the page.
"""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Final

import msgspec

import atoll
from atoll.adapters.apart.installed import is_ours, points
from atoll.testing.check.report import CheckReport, SuiteResult
from atoll.testing.check.suite import TestInstalled

WIDTH: Final = 100
FOR_TESTS = "in-memory"
"""The backend that has no sandboxes."""

HEAD = """# Backends

```console
$ atoll extension check namespaces --home ~/.local/state/atoll --report namespaces.json
```

This page is made by `scripts/backends` from the reports in `docs/reports`. Each report is the
answer of `atoll extension check` for one extension: its suites, run against the installed thing.
`scripts/backends --check` runs them all anew, against what one machine has.
How to write an extension: [add an extension](../change/add-an-extension.md).

`real` is the thing itself, `vendor's code` the code that a vendor publishes, run here, and `peer`
a program of ours in the vendor's place.
"""


def read_reports(folder: Path) -> list[CheckReport]:
    """Return the reports of a directory, by extension."""
    reports = (
        msgspec.json.decode(place.read_bytes(), type=CheckReport) for place in folder.glob("*.json")
    )
    return sorted(reports, key=lambda report: report.extension)


def own_extensions() -> list[str]:
    """Return the names of what comes with Atoll and has sandboxes."""
    names = (point.name for point in points() if is_ours(point))
    return sorted(f"ext.{name}" for name in names if name != FOR_TESTS)


def staleness(report: CheckReport) -> str:
    """Return why a report says nothing any more; empty while it does."""
    if report.atoll != atoll.__version__:
        return f"it is of Atoll {report.atoll}, and this is {atoll.__version__}"
    tests = {name for name in dir(TestInstalled) if name.startswith("test_")}
    if missing := tests - set(report.tests):
        return f"it lacks {', '.join(sorted(missing))}"
    if gone := set(report.tests) - tests:
        return f"there is no {', '.join(sorted(gone))} any more"
    return ""


def page(reports: Sequence[CheckReport], names: Iterable[str]) -> str:
    """Return the page."""
    known = {report.extension: report for report in reports}
    absent = [name for name in names if name not in known]
    return "\n".join(
        [
            HEAD,
            "| extension | isolation | ran against | date | version |",
            "|---|---|---|---|---|",
            *(_table_row(report) for report in reports),
            *(f"| `{name}` | - | no report | - | - |" for name in absent),
            "",
            *(line for report in reports for line in _section(report)),
        ]
    )


def _table_row(report: CheckReport) -> str:
    cells = (
        f"`{report.extension}`",
        report.isolation,
        report.against,
        report.at[:10],
        f"{report.package} {report.version}",
    )
    return f"| {' | '.join(cells)} |"


def _section(report: CheckReport) -> Iterable[str]:
    yield f"## {report.extension}"
    yield ""
    yield from wrap(f"Ran against: {report.note or report.against}.", WIDTH)
    yield ""
    yield "| suite | passed | failed | skipped |"
    yield "|---|---|---|---|"
    for suite in report.suites:
        yield _suite(suite)
    yield ""
    for suite in report.suites:
        if suite.not_run:
            yield f"- `{suite.suite}` was not run: {suite.not_run}."
        for test in (*suite.failed, *suite.skipped):
            yield f"- `{test.test}`:"
            yield f"  {test.reason}."
    yield ""


def _suite(suite: SuiteResult) -> str:
    if suite.not_run:
        return f"| {suite.suite} | - | - | - |"
    return f"| {suite.suite} | {suite.passed} | {len(suite.failed)} | {len(suite.skipped)} |"


def main(words: list[str]) -> int:
    """Write the page of a directory of docs; ends with 1 when a report is stale."""
    docs = Path(words[0])
    reports = read_reports(docs / "reports")
    (docs / "run" / "backends.md").write_text(page(reports, own_extensions()).rstrip() + "\n")
    stale = [(report.extension, why) for report in reports if (why := staleness(report))]
    for name, why in stale:
        print(f"{name}: its report is stale: {why}", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
