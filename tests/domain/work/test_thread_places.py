"""Places of review threads: found in a diff, on either side, also of a renamed file."""

from datetime import UTC, datetime

import pytest

from atoll.domain.ids import PERSONAL_ORG, PrincipalId, SandboxId
from atoll.domain.repository.diff import FileDiff, Hunk
from atoll.domain.work.anchor import Anchor
from atoll.domain.work.thread import Author, Remark, RemarkId, ReviewThread, ThreadId
from atoll.domain.work.thread_places import place_threads
from atoll.wire.words.library import Side

AT = datetime(2026, 1, 1, tzinfo=UTC)
NO_END = "\\ No newline at end of file"
FILE = FileDiff(
    "new.py",
    "old.py",
    hunks=(
        Hunk(1, 2, 1, 3, "", (" one", "-two", "+deux", "+trois")),
        Hunk(9, 2, 10, 2, "", (" nine", "-ten", "+dix", NO_END)),
    ),
)


def thread(path: str, side: Side, line: int, *lines: str) -> ReviewThread:
    remark = Remark(RemarkId("rmk_1"), Author(PrincipalId("ann"), "Ann"), "Why?", AT)
    anchor = Anchor(0, path, side, line, lines)
    box = SandboxId("sb_1")
    return ReviewThread(ThreadId("thr_1"), box, PERSONAL_ORG, anchor, AT, (remark,))


@pytest.mark.parametrize(
    ("side", "line", "lines", "now"),
    [
        (Side.NEW, 8, ("trois",), 3),
        (Side.OLD, 1, ("two",), 2),
        (Side.NEW, 1, ("two",), None),
        (Side.OLD, 1, ("deux",), None),
        (Side.NEW, 1, ("nine", "dix"), 10),
        (Side.OLD, 1, ("nine", "ten"), 9),
        (Side.NEW, 1, ("trois", "nine"), None),
        (Side.NEW, 1, (NO_END[1:],), None),
        (Side.NEW, 0, (), 0),
    ],
)
def test_thread_is_where_its_lines_are(
    side: Side, line: int, lines: tuple[str, ...], now: int | None
) -> None:
    assert place_threads(FILE, [thread("new.py", side, line, *lines)]) == [("thr_1", now)]


def test_thread_follows_a_rename_and_leaves_other_files_alone() -> None:
    assert place_threads(FILE, [thread("old.py", Side.NEW, 1, "deux")]) == [("thr_1", 2)]
    assert place_threads(FILE, [thread("else.py", Side.NEW, 1, "deux")]) == []
    assert place_threads(FILE, [thread("", Side.NEW, 0)]) == []


def test_lines_that_are_not_shown_match_nothing() -> None:
    assert place_threads(FILE, [thread("new.py", Side.NEW, 5, "")]) == [("thr_1", None)]
