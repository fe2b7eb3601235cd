"""A bar on stderr for something long, redrawn in place; only ever on a terminal.

Without a terminal the caller prints lines instead.
"""

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

from atoll.surfaces.cli.console.output import clean, note


@dataclass(frozen=True, slots=True)
class Measure:
    """A unit in which progress is shown: its size, and its name."""

    size: int
    name: str


MIB = Measure(2**20, "MiB")
WIDTH = 24
_ERASE = "\r\x1b[K"


class Bar:
    """Progress bar: `with Bar(title) as bar:` draws; leaving takes the bar away."""

    def __init__(self, title: str, measure: Measure = MIB) -> None:
        self._measure = measure
        self._title = clean(title)
        self._drawn = False
        self._terminal = sys.stderr.isatty()

    def __enter__(self) -> "Bar":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._erase()

    @property
    def headway(self) -> Callable[[int, int], None] | None:
        """Function that draws progress; None where there is no terminal."""
        return self._draw if self._terminal else None

    def line(self, text: str) -> None:
        """Print a line for the person, above the bar."""
        self._erase()
        note(text)

    def _draw(self, done: int, expected: int) -> None:
        columns = shutil.get_terminal_size().columns
        text = f"{self._title} {draw_bar(done, expected, self._measure)}"
        sys.stderr.write(_ERASE + text[: max(columns - 1, 1)])
        sys.stderr.flush()
        self._drawn = True

    def _erase(self) -> None:
        if self._drawn:
            sys.stderr.write(_ERASE)
            sys.stderr.flush()
            self._drawn = False


def draw_bar(done: int, expected: int, measure: Measure = MIB) -> str:
    """Return the bar: a share where the end is known, else how much there is. What grows past what
    was expected stays just short of the end: a line reports the end."""
    if not expected:
        return f"{done / measure.size:.0f} {measure.name}"
    share = min(done / expected, 0.99)
    filled = int(share * WIDTH)
    shown = "#" * filled + "." * (WIDTH - filled)
    amount = f"{done / measure.size:.0f} of {expected / measure.size:.0f} {measure.name}"
    return f"[{shown}] {share * 100:3.0f}%  {amount}"
