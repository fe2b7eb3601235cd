"""Places of review threads in a file as it is now, found in its diff. Pure.

The diff was computed inside a sandbox: it says where a thread is shown, and nothing else.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from atoll.domain.repository.diff import FileDiff
from atoll.domain.work.anchor import line_now
from atoll.domain.work.thread import ReviewThread, ThreadId
from atoll.wire.words.library import Side

_LEFT_OUT: Final = "\0"
"""In place of a line that the diff does not show. No anchor has a line with this character."""

_SIGNS: Final = {Side.OLD: " -", Side.NEW: " +"}


def place_threads(
    file: FileDiff, threads: Iterable[ReviewThread]
) -> list[tuple[ThreadId, int | None]]:
    """Return the threads that are about a file, each with the number of its first line in the file
    now: 0 where it is about the whole file, None where its lines are gone."""
    lines = {side: _lines_of(file, side) for side in Side}
    return [
        (thread.id, line_now(thread.anchor, lines[thread.anchor.side]))
        for thread in threads
        if thread.anchor.path in (file.path, file.old_path)
    ]


def _lines_of(file: FileDiff, side: Side) -> Sequence[str]:
    """Return the lines of one side, at their places."""
    lines: list[str] = []
    for hunk in file.hunks:
        start = hunk.old_start if side is Side.OLD else hunk.new_start
        lines += [_LEFT_OUT] * (start - 1 - len(lines))
        lines += [line[1:] for line in hunk.lines if line[:1] in _SIGNS[side]]
    return lines
