"""Anchors of review threads: they move with their lines, and are bounded."""

import pytest

from atoll.domain.errors import Invalid
from atoll.domain.work.anchor import (
    MAX_ANCHOR_BYTES,
    MAX_PATH_BYTES,
    Anchor,
    line_now,
)
from atoll.wire.words.library import MAX_ANCHOR_LINES, MAX_LINE, MAX_REPOS, Side

TWO = Anchor(0, "src/a.py", Side.NEW, 3, ("x = 1", "y = 2"))


@pytest.mark.parametrize(
    ("lines", "number"),
    [
        (["", "", "x = 1", "y = 2"], 3),
        (["", "", "", "", "x = 1", "y = 2"], 5),
        (["x = 1", "y = 2"], 1),
        (["x = 1", "y = 2", "", "", "x = 1", "y = 2"], 1),
        (["x = 1", "y = 2", "", "x = 1", "y = 2"], 4),
        (["x = 1", "", "y = 2"], None),
        (["x = 1"], None),
        (["x = 1 ", "y = 2"], None),
        ([], None),
    ],
)
def test_anchor_moves_with_its_lines(lines: list[str], number: int | None) -> None:
    assert line_now(TWO, lines) == number


@pytest.mark.parametrize("path", ["", "src/a.py"])
def test_anchor_without_lines_is_never_gone(path: str) -> None:
    assert line_now(Anchor(0, path, Side.NEW, 0), []) == 0


@pytest.mark.parametrize(
    ("repo", "path", "line", "lines", "field"),
    [
        (-1, "a", 1, ("x",), "repo"),
        (MAX_REPOS, "a", 1, ("x",), "repo"),
        (0, "", 1, ("x",), "line"),
        (0, "a", 0, ("x",), "line"),
        (0, "a", MAX_LINE + 1, ("x",), "line"),
        (0, "a", 1, (), "lines"),
        (0, "a", 1, ("x",) * (MAX_ANCHOR_LINES + 1), "lines"),
        (0, "a", 1, ("é" * (MAX_ANCHOR_BYTES // 2) + "x",), "lines"),
        (0, "a", 1, ("x\ny",), "lines"),
        (0, "a", 1, ("\0",), "lines"),
        (0, "a", 1, ("\ud800",), None),
        (0, "a\0", 1, ("x",), "path"),
        (0, "a" * (MAX_PATH_BYTES + 1), 1, ("x",), "path"),
        (0, "/etc/passwd", 1, ("x",), "path"),
        (0, "a/../../b", 1, ("x",), "path"),
        (0, "a//b", 1, ("x",), "path"),
        (0, "./a", 1, ("x",), "path"),
        (0, "\ud800", 0, (), None),
    ],
)
def test_anchor_out_of_bounds_is_refused(
    repo: int, path: str, line: int, lines: tuple[str, ...], field: str | None
) -> None:
    with pytest.raises(Invalid) as refused:
        Anchor(repo, path, Side.NEW, line, lines)
    assert refused.value.field == field


def test_anchor_at_its_bounds_is_taken() -> None:
    Anchor(MAX_REPOS - 1, "a" * MAX_PATH_BYTES, Side.OLD, MAX_LINE, ("x",) * MAX_ANCHOR_LINES)
    Anchor(0, "a..b/.c", Side.OLD, 1, ("x" * MAX_ANCHOR_BYTES,))
