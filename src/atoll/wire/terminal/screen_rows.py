"""The rows of a screen, as an emulator shows them: characters without colours or history.

Reads the functions that full-screen programs draw with, by the parser of hostile output. Nothing is
answered, and no byte is too strange: an unknown function changes nothing. Cost and size are bounded
by what is fed and by the screen.
"""

import re
import unicodedata

from atoll.wire.terminal.parser import Control, Function, Parser, Text

MAX_CELLS = 1000
"""The most rows, and the most columns."""
_ALTERNATE = frozenset({"47", "1047", "1049"})
_LAID_OUT = re.compile(r"[^\x08-\x0d]+|[\x08-\x0d]")
_TAB = 8
_STEPS = {
    "A": (-1, 0), "F": (-1, 0), "B": (1, 0), "E": (1, 0), "e": (1, 0), "C": (0, 1), "a": (0, 1),
    "D": (0, -1),
}  # fmt: skip
"""Rows down and columns to the right, of functions that move by a count."""


class ScreenRows:
    """A screen of so many columns and rows. A wide character takes two cells, the second empty."""

    def __init__(self, cols: int, rows: int) -> None:
        self._cols, self._height = min(max(cols, 1), MAX_CELLS), min(max(rows, 1), MAX_CELLS)
        self._parser = Parser()
        self._reset()

    def feed(self, data: bytes) -> None:
        """Draw what a program wrote."""
        for piece in self._parser.feed(data):
            match piece:
                case Text(text):
                    for run in _LAID_OUT.findall(text.decode("utf-8", "replace")):
                        self._write(run)
                case Function(b"[", parameters, b"", final):
                    self._perform(parameters.decode("ascii"), final.decode("ascii"))
                case Function(b"", _, b"", final):
                    self._escape(final)
                case Control() | Function() | _:
                    pass

    def lines(self) -> tuple[str, ...]:
        """Return each row, without the spaces at its end."""
        return tuple("".join(row).rstrip() for row in self._rows)

    def _reset(self) -> None:
        self._rows = [self._blank() for _ in range(self._height)]
        self._row = self._column = 0
        self._saved = (0, 0)
        self._top, self._bottom = 0, self._height - 1
        self._aside: list[list[str]] | None = None

    def _blank(self) -> list[str]:
        return [" "] * self._cols

    def _write(self, run: str) -> None:
        match run:
            case "\r":
                self._column = 0
            case "\n" | "\x0b" | "\x0c":
                self._feed_line()
            case "\b":
                self._column = max(0, min(self._column, self._cols - 1) - 1)
            case "\t":
                self._column = min(self._cols - 1, (self._column // _TAB + 1) * _TAB)
            case _ if run.isascii():
                self._write_narrow(run)
            case _:
                for character in run:
                    self._put(character)

    def _write_narrow(self, run: str) -> None:
        while run:
            if self._column >= self._cols:
                self._wrap()
            piece = run[: self._cols - self._column]
            self._rows[self._row][self._column : self._column + len(piece)] = piece
            self._column += len(piece)
            run = run[len(piece) :]

    def _put(self, character: str) -> None:
        width = _width(character)
        if not width:
            return
        if self._column + width > self._cols:
            self._wrap()
        row = self._rows[self._row]
        row[self._column] = character
        if width > 1 and self._column + 1 < self._cols:
            row[self._column + 1] = ""
        self._column += width

    def _wrap(self) -> None:
        self._column = 0
        self._feed_line()

    def _feed_line(self) -> None:
        if self._row == self._bottom:
            self._scroll(self._top, 1)
        else:
            self._row = min(self._row + 1, self._height - 1)

    def _scroll(self, top: int, count: int) -> None:
        """Move the rows from `top` up; a negative count moves them down."""
        last = self._bottom
        for _ in range(min(abs(count), last - top + 1)):
            if count > 0:
                del self._rows[top]
                self._rows.insert(last, self._blank())
            else:
                del self._rows[last]
                self._rows.insert(top, self._blank())

    def _escape(self, final: bytes) -> None:
        match final:
            case b"7":
                self._saved = (self._row, self._column)
            case b"8":
                self._row, self._column = self._saved
            case b"D" | b"E":
                self._column = 0 if final == b"E" else self._column
                self._feed_line()
            case b"M":
                if self._row == self._top:
                    self._scroll(self._top, -1)
                else:
                    self._row = max(0, self._row - 1)
            case b"c":
                self._reset()
            case _:
                pass

    def _perform(self, parameters: str, final: str) -> None:
        if parameters[:1] == "?" and final in "hl":
            self._switch(parameters[1:], on=final == "h")
        if parameters[:1] in ("?", ">", "<", "="):
            if parameters[:1] == "?" and final in "JK":
                parameters = parameters[1:]
            else:
                return
        numbers = _numbers(parameters)
        first = numbers[0] if numbers else 0
        if final in "ABCDEFGHfd`aesu":
            self._move(final, numbers, max(1, first))
        elif final in "JKX":
            self._erase(final, first)
        else:
            self._shift(final, numbers, max(1, first))

    def _move(self, final: str, numbers: list[int], count: int) -> None:
        row, column = self._row, min(self._column, self._cols - 1)
        if final == "s":
            self._saved = (row, column)
        elif final == "u":
            row, column = self._saved
        elif final in "Hf":
            row, column = count - 1, max(1, numbers[1] if len(numbers) > 1 else 1) - 1
        elif final in "G`":
            column = count - 1
        elif final == "d":
            row = count - 1
        else:
            down, right = _STEPS[final]
            row, column = row + down * count, column + right * count
        self._row = min(max(0, row), self._height - 1)
        self._column = 0 if final in "EF" else min(max(0, column), self._cols - 1)

    def _erase(self, final: str, how: int) -> None:
        at, row = min(self._column, self._cols - 1), self._rows[self._row]
        if final == "X":
            end = min(self._cols, at + max(1, how))
            row[at:end] = " " * (end - at)
            return
        if how == 0:
            row[at:] = " " * (self._cols - at)
        elif how == 1:
            row[: at + 1] = " " * (at + 1)
        elif how == 2:
            row[:] = self._blank()
        if final == "J":
            first, last = (
                (self._row + 1, self._height),
                (0, self._row),
                (0, self._height),
                (0, 0),
            )[min(how, 3)]
            for n in range(first, last):
                self._rows[n] = self._blank()

    def _shift(self, final: str, numbers: list[int], count: int) -> None:
        at, row = min(self._column, self._cols - 1), self._rows[self._row]
        count_here = min(count, self._cols - at)
        match final:
            case "@":
                row[at:] = [" "] * count_here + row[at : self._cols - count_here]
            case "P":
                row[at:] = row[at + count_here :] + [" "] * count_here
            case "L" | "M" if self._top <= self._row <= self._bottom:
                self._scroll(self._row, count if final == "M" else -count)
            case "S" | "T":
                self._scroll(self._top, count if final == "S" else -count)
            case "r":
                bottom = numbers[1] if len(numbers) > 1 and numbers[1] else self._height
                self._limit(count - 1, bottom - 1)
            case _:
                pass

    def _limit(self, top: int, bottom: int) -> None:
        """Have only these rows scroll; bounds that are none change nothing."""
        if top < bottom < self._height:
            self._top, self._bottom = top, bottom
            self._row = self._column = 0

    def _switch(self, modes: str, *, on: bool) -> None:
        if not _ALTERNATE & set(modes.split(";")[:32]):
            return
        if on and self._aside is None:
            self._aside, self._rows = self._rows, [self._blank() for _ in range(self._height)]
            self._saved = (self._row, self._column)
        elif not on and self._aside is not None:
            self._rows, self._aside = self._aside, None
            self._row, self._column = self._saved


def _numbers(parameters: str) -> list[int]:
    """Return the parameters; 0 for one that is no number of at most 4 digits."""
    return [
        int(word) if word.isdigit() and len(word) < 5 else 0 for word in parameters.split(";")[:16]
    ]


def _width(character: str) -> int:
    """Return the cells that a character takes."""
    if unicodedata.category(character) in ("Mn", "Me", "Cf", "Cc"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
