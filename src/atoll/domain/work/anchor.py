"""The anchor of a review thread: lines of one side of a file, known again by their text.

Pure. Files change while people talk about them. The lines are looked for by what they said, nearest
to where they were last; where they are gone, the thread is outdated.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from atoll.domain.errors import Invalid
from atoll.wire.words.library import MAX_ANCHOR_LINES, MAX_LINE, MAX_REPOS, Side

MAX_ANCHOR_BYTES: Final = 8192
"""The bound on the text of an anchor's lines in bytes."""

MAX_PATH_BYTES: Final = 4096


@dataclass(frozen=True, slots=True)
class Anchor:
    """The lines from number `line` on, counted from 1, of a file of repository number `repo`.

    `lines` are their texts, as they were. Without lines it is about the whole file, without a path
    about the whole change. Raises `Invalid`.
    """

    repo: int
    path: str
    side: Side
    line: int
    lines: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.repo < MAX_REPOS:
            raise Invalid(f"a repository's number is 0 to {MAX_REPOS - 1}", field="repo")
        _check_path(self.path)
        self._check_lines()

    def _check_lines(self) -> None:
        if not self.lines and self.line != 0:
            raise Invalid("a line is named with its text", field="lines")
        if not self.lines:
            return
        if not self.path or not 1 <= self.line <= MAX_LINE:
            raise Invalid(f"a line is 1 to {MAX_LINE}, of a file", field="line")
        if len(self.lines) > MAX_ANCHOR_LINES or _size(self.lines) > MAX_ANCHOR_BYTES:
            raise Invalid(
                f"a thread is about at most {MAX_ANCHOR_LINES} lines and {MAX_ANCHOR_BYTES} bytes",
                field="lines",
            )
        if any("\n" in line or "\0" in line for line in self.lines):
            raise Invalid("each line is the text of one line", field="lines")


def line_now(anchor: Anchor, lines: Sequence[str]) -> int | None:
    """Return the number of the anchor's first line in the file as it is now, counted from 1; None
    where its lines are gone. Of several places the nearest counts, the upper one of two. It is 0
    for an anchor without lines, which is never gone."""
    wanted = anchor.lines
    if not wanted:
        return 0
    first = wanted[0]
    places = (
        at + 1
        for at, line in enumerate(lines)
        if line == first and tuple(lines[at : at + len(wanted)]) == wanted
    )
    return min(places, key=lambda number: abs(number - anchor.line), default=None)


def _check_path(path: str) -> None:
    if not path:
        return
    if "\0" in path or _size((path,)) > MAX_PATH_BYTES:
        raise Invalid(f"a path has at most {MAX_PATH_BYTES} bytes, none of them 0", field="path")
    if not {"", ".", ".."}.isdisjoint(path.split("/")):
        raise Invalid("a path is relative to its repository, without `..`", field="path")


def _size(texts: Sequence[str]) -> int:
    """Return the bytes of texts. Raises `Invalid` for half of a surrogate pair."""
    try:
        return sum(len(text.encode()) for text in texts)
    except UnicodeEncodeError:
        raise Invalid("the text is not Unicode") from None
