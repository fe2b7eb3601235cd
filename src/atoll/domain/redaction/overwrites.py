"""Terminal rows that a program overwrites.

Follows the cursor along one row: backspace, carriage return, tabs, cursor left and right, columns,
erasing, inserting and deleting. A move to another row begins that row at its left edge. The width
at which a terminal folds a long row is not known here.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from atoll.domain.redaction.patterns import Patterns
from atoll.wire.terminal.parser import C0, SEQUENCE, Function, Parser, Piece, Text

Span = tuple[int, int]

MAX_ROW_BYTES = 4096
"""The number of bytes kept of an unfinished row, since later bytes may overwrite them."""

_MAX_COLUMN = 1000
_MAX_MOMENTS = 1024 * 1024
"""The number of columns remembered as they were between two changes, in all."""

_BACK = re.compile(rb"\x1b\[[%(c)s0-;]*+[DGZ`]|\x1b[%(c)s]" % {b"c": C0})
"""The sequences that may move back within a row, besides backspace and carriage return."""

_RETURN = re.compile(rb"\r(?!\n|\Z)")
"""A carriage return that ends no row. One at the end may be the first half of a row's end."""

_TOKEN = re.compile(
    rb"(?P<text>[ -~\x80-\xfe]+)|(?P<control>[\x08-\x0d])"
    rb"|\x1b\[(?P<first>[0-9]{0,5})(?:;(?P<second>[0-9]{0,5}))?(?P<final>[@-Z`adef])"
    rb"|\x1b\[[0-9;]*+[b-~]|(?P<sequence>%s)" % SEQUENCE
)
_BLANK = "\0"
"""The mark of a column without a character: never written, or erased."""
_SECOND = "\1"
"""The mark of the second column of a wide character."""
_NO_CHARACTER = dict.fromkeys(map(ord, _BLANK + _SECOND))

_TO_ROW = {b"A": False, b"B": False, b"d": False, b"e": False, b"S": False, b"T": False}
_TO_ROW |= {b"E": True, b"F": True, b"L": True, b"M": True}
"""Finals that lead to another row, and whether to its left edge."""


def moves_back(data: bytes) -> bool:
    """Return whether something in these bytes may be overwritten within its row."""
    if b"\x08" in data:
        return True
    if _RETURN.search(data) is not None:
        return True
    return b"\x1b" in data and _BACK.search(data) is not None


def row_begin(data: bytes, at: int) -> int:
    """Return where the row of this position begins, which later bytes may overwrite.

    In a long row it is a place behind a carriage return, or the position when there is none.
    """
    begin = data.rfind(b"\n", 0, at) + 1
    if at - begin <= MAX_ROW_BYTES:
        return begin
    found = data.find(b"\r", at - MAX_ROW_BYTES, at)
    return at if found < 0 else found + 1


@dataclass(frozen=True, slots=True)
class _Columns:
    """A part of a row: the character in each column, and its position in the bytes."""

    text: str
    places: list[int]

    def spans(self, found: Sequence[Span]) -> Iterator[Span]:
        """Return intervals of the shown text as intervals of the bytes."""
        every = self.bytes() if found else []
        return ((at, at + 1) for begin, end in found for at in every[begin:end])

    def bytes(self) -> list[int]:
        """Return the positions of all bytes that are shown."""
        several = (
            range(at, at + len(_encode_text(letter)))
            for letter, at in zip(self.text, self.places, strict=True)
        )
        return list(chain.from_iterable(several))


class Rows:
    """The rows that some bytes draw, spelled as `views.View` spells them."""

    __slots__ = (
        "_before",
        "_changed",
        "_column",
        "_data",
        "_moments",
        "_over",
        "_places",
        "_reach",
        "_room",
        "_text",
    )

    def __init__(self, data: bytes, reach: int) -> None:
        """Begin with `reach`, the most columns beside a change that are searched together with
        it."""
        self._data = data
        self._reach = reach
        self._before: list[_Columns] = []
        self._text = ""
        self._places: list[int] = []
        self._column = 0
        self._over = False
        self._changed: tuple[int, int] | None = None
        self._moments: dict[str, list[_Columns]] = {}
        self._room = _MAX_MOMENTS
        for token in _TOKEN.finditer(data):
            self._take(token)

    def find(self, patterns: Patterns) -> tuple[list[Span], list[Span]]:
        """Return the bytes of everything shown, and where unfinished text at the cursor begins.

        Shown is what the row shows now, or showed between two changes. The length of the unfinished
        text is returned too.
        """
        rows = [*self._before, _Columns(self._text, self._places)]
        spans = list(_join_rows(rows).spans(patterns.sight(_encode_rows(rows)).spans))
        # Most states are alike, as those of a progress bar; and few show anything.
        if patterns.sight(b"\xff".join(map(_encode_text, self._moments))).spans:
            for text, several in self._moments.items():
                found = patterns.sight(_encode_text(text)).spans
                spans += (span for each in several for span in each.spans(found))
        rows[-1] = _Columns(self._text[: self._column], self._places[: self._column])
        tail = _encode_rows(rows)[-self._reach :]
        size = len(tail) - patterns.sight(tail).live_from
        return spans, [(_begin_of_last(rows, size), size)] if size else []

    def _take(self, token: re.Match[bytes]) -> None:
        match token.lastgroup:
            case "text":
                self._draw(token.start(), token.end())
            case "control":
                self._control(token[0])
            case "final":
                self._function(token["final"], token["first"], token["second"] or b"")
            case "sequence":
                for piece in Parser().feed(token[0]):
                    self._perform(piece)
            case _:
                pass

    def _perform(self, piece: Piece) -> None:
        """Perform a sequence, also in a spelling that few programs use."""
        match piece:
            case Text(control):
                self._control(control)
            case Function(b"[", parameters, b"", final):
                first, _, rest = parameters[:16].partition(b";")
                self._function(final, first, rest.partition(b";")[0])
            case Function(b"", _, b"", b"D" | b"M"):
                self._begin_row(self._column)
            case Function(b"", _, b"", b"E" | b"c"):
                self._begin_row(0)
            case _:
                pass

    def _draw(self, begin: int, end: int) -> None:
        text = self._data[begin:end].decode("utf-8", "surrogateescape")
        if text.isascii():
            self._put(self._column, text, range(begin, end))
        else:
            text, places = _columns(text, begin)
            self._put(self._column, text, places)
        if self._over:
            first, last = self._changed or (self._column, self._column)
            self._changed = (min(first, self._column), max(last, self._column + len(text)))
        self._column += len(text)

    def _put(self, at: int, text: str, places: Iterable[int]) -> None:
        """Write columns. A remaining half of a wide character is erased with its other half, so
        that no row begins with one."""
        row = self._text
        if at > len(row):
            self._places += [0] * (at - len(row))
            row = row.ljust(at, _BLANK)
        end = at + len(text)
        left = row[: at - 1] + _BLANK if row[at : at + 1] == _SECOND else row[:at]
        right = _BLANK + row[end + 1 :] if row[end : end + 1] == _SECOND else row[end:]
        self._text = left + text + right
        self._places[at:end] = places

    def _erase(self, begin: int, end: int) -> None:
        if begin < end:
            self._put(begin, _BLANK * (end - begin), range(begin, end))

    def _control(self, control: bytes) -> None:
        match control:
            case b"\n" | b"\x0b" | b"\x0c":
                self._begin_row(0)
            case b"\r":
                self._move(0)
            case b"\b":
                self._move(self._column - 1)
            case _:
                self._move((self._column // 8 + 1) * 8)

    def _function(self, final: bytes, first: bytes, second: bytes) -> None:
        count = max(1, _parse_number(first))
        match final:
            case b"D":
                self._move(self._column - count)
            case b"C" | b"a":
                self._move(self._column + count)
            case b"G" | b"`":
                self._move(count - 1)
            case b"I":
                self._move((self._column // 8 + count) * 8)
            case b"Z":
                self._move((-(-self._column // 8) - count) * 8)
            case b"H" | b"f":
                self._begin_row(max(1, _parse_number(second)) - 1)
            case final if final in _TO_ROW:
                self._begin_row(0 if _TO_ROW[final] else self._column)
            case _:
                self._change(final, count, first)

    def _change(self, final: bytes, count: int, how: bytes) -> None:
        """Erase, delete or insert columns."""
        self._remember()
        at, size = self._column, len(self._text)
        match final:
            case b"K" | b"J":
                self._erase(
                    at if how in (b"", b"0") else 0, min(size, at + 1) if how == b"1" else size
                )
            case b"X":
                self._erase(at, min(at + count, size))
            case b"P":
                self._erase(at, min(at + count, size))
                self._text = self._text[:at] + self._text[at + count :]
                del self._places[at : at + count]
            case b"@" if at < size:
                count = min(count, _MAX_COLUMN)
                self._put(at, "", ())
                self._text = self._text[:at] + _BLANK * count + self._text[at:]
                self._places[at:at] = [0] * count
            case _:
                return
        self._changed = (at, at)
        self._remember()

    def _move(self, column: int) -> None:
        self._remember()
        column = min(max(0, column), _MAX_COLUMN)
        self._over |= column < self._column
        self._column = column

    def _remember(self) -> None:
        """Keep what the row showed since the last change, before the next one."""
        if self._changed is not None and self._room > 0:
            first, last = self._changed
            seen = slice(max(0, first - self._reach), last + self._reach)
            text = self._text[seen]
            self._moments.setdefault(text, []).append(_Columns(text, self._places[seen]))
            self._room -= len(text)
        self._changed = None

    def _begin_row(self, column: int) -> None:
        if self._text:
            self._before.append(_Columns(self._text, self._places))
        self._text, self._places, self._column = "", [], column
        self._over, self._changed = False, None


def _parse_number(digits: bytes) -> int:
    """Return a decimal number; 0 for any other bytes."""
    return int(digits) if digits.isdigit() else 0


def _columns(text: str, begin: int) -> tuple[str, list[int]]:
    """Return text as columns, and their positions when the first byte stands at `begin`."""
    columns: list[str] = []
    places: list[int] = []
    for letter in text:
        wide = unicodedata.east_asian_width(letter) in "WF"
        columns += (letter, _SECOND) if wide else letter
        places += (begin, begin) if wide else (begin,)
        begin += len(letter.encode("utf-8", "surrogateescape"))
    return "".join(columns), places


def _encode_text(text: str) -> bytes:
    """Return the shown characters of these columns, in their original spelling."""
    return text.translate(_NO_CHARACTER).encode("utf-8", "surrogateescape")


def _encode_rows(rows: Iterable[_Columns]) -> bytes:
    return _encode_text("".join(each.text for each in rows))


def _begin_of_last(rows: list[_Columns], size: int) -> int:
    """Return where the last bytes that are still shown begin."""
    last: list[int] = []
    for row in reversed(rows):
        if len(last) < size:
            last = row.bytes() + last
    return min(last[-size:])


def _join_rows(rows: Iterable[_Columns]) -> _Columns:
    several = list(rows)
    places = chain.from_iterable(each.places for each in several)
    return _Columns("".join(each.text for each in several), list(places))
