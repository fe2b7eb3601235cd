"""The size of a terminal, in character cells."""

from dataclasses import dataclass

COLS = (2, 1000)
ROWS = (1, 500)


@dataclass(frozen=True, slots=True)
class Size:
    """Columns and rows, always within `COLS` and `ROWS`."""

    cols: int
    rows: int


def clamp(cols: int, rows: int) -> Size:
    """Return the nearest size a terminal may have."""
    return Size(min(max(cols, COLS[0]), COLS[1]), min(max(rows, ROWS[0]), ROWS[1]))


def nudge_size(size: Size) -> Size:
    """Return a size one row off: set for a moment, it makes a full-screen program repaint."""
    return Size(size.cols, size.rows - 1 if size.rows > ROWS[0] else size.rows + 1)
