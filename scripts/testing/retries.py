"""Tests that failed beside others and passed alone: such a test fails on its third occurrence.

Each occurrence is a line of `tests/retried.txt`, which is committed. A clone knows what others
have seen, two branches merge by keeping the lines of both, and who mends a test removes its lines.
"""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

OCCURRENCES = 3
HEADER = """\
# Tests that failed beside others and passed alone, a line for each time: the day and the test.
# scripts/test adds a line, and fails on a test's third. Commit what it adds; who mends a test
# removes its lines. docs/change/tests.md says more.
"""


def count_occurrences(text: str) -> Counter[str]:
    """Return how often each test has been noted."""
    lines = (line.split(" ", 1) for line in text.splitlines() if line and line[0] != "#")
    return Counter(line[1].strip() for line in lines if len(line) > 1)


def note_occurrences(file: Path, tests: Iterable[str], day: str) -> list[str]:
    """Add an occurrence of each test. Returns those that have occurred too often by now."""
    text = file.read_text() if file.exists() else HEADER
    added = sorted(set(tests))
    file.write_text(text + "".join(f"{day} {test}\n" for test in added))
    counts = count_occurrences(file.read_text())
    return [test for test in added if counts[test] >= OCCURRENCES]
