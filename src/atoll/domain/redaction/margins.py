"""Margins that programs put between two rows of a text that they fold: borders, dumps' columns.

Pure. The rows are those of `views.View.shown`, in which nothing of a line's end is left. So a
margin is the end of one row and the beginning of the next: ` || `, `> `, `",    "`, or the
characters of `hexdump -C` with the offset that follows them.
"""

import re
from collections.abc import Iterator
from typing import Final

from atoll.domain.redaction.texts import Texts

Span = tuple[int, int]
Found = tuple[tuple[Span, ...], bool]
"""The pieces of a text without the margins, and whether it is whole: what is not, the end of the
data cuts off."""

LONGEST: Final = 400
"""The bytes of the longest margin: a wide row's padding, with a border on both sides."""

_ASCII_EDGE: Final = b" |>+-:#*;,.\"'`\\[]()"
_EDGE: Final = rb"(?:[%s]|\xe2[\x94-\x96][\x80-\xbf])" % re.escape(_ASCII_EDGE)
"""A character of quotes, diffs, lists and tables, or one of a box (U+2500 to U+25BF)."""

_EDGES: Final = re.compile(_EDGE + rb"{0,%d}+" % LONGEST)
_DIGITS: Final = re.compile(rb"[0-9]{1,9}")

_OFFSET: Final = rb"[0-9a-fA-F]{6,16}:? {1,3}"
_NUMBER_HERE: Final = re.compile(_OFFSET + rb"|[0-9]{1,9}" + _EDGE)
"""A margin whose first digits may be those that the text goes on with."""

_DUMPED: Final = tuple(
    re.compile(pattern)
    for pattern in (
        # Hex digits, then the text beside them, then the next row's offset.
        rb" {0,9}(?:[|>][ -~]{1,64}[|<]|[ -~]{1,64}?)?" + _OFFSET,
        # The text, then the next row's offset and digits.
        rb"[|<]?" + _OFFSET + rb"(?:[0-9a-fA-F]{2,16} {1,3}){1,64} {0,100}[|>]?",
    )
)
_DUMP_SEEN: Final = re.compile(rb"[0-9a-fA-F]{6,16}:? ")
_GAPS: Final = 3
"""The places with two blanks that are looked at: behind the offset, amid the digits, after them."""

_OFFSET_END: Final = re.compile(rb"[0-9a-fA-F]{1,16}:? {0,3}\Z")
_UNFINISHED: Final = re.compile(
    rb" {0,9}(?:[|>][ -~]{0,64}[|<]?| [ -~]{0,64})?[0-9a-fA-F]{0,16}:? {0,3}\Z"
    rb"|[|<]?[0-9a-fA-F]{1,16}:? {0,3}(?:[0-9a-fA-F]{2,16} {1,3}){0,64}[0-9a-fA-F]{0,16} {0,100}\Z"
)
"""A margin of a dump that the end of the data cuts off."""

_STRONG: Final = re.compile(rb"[ |>\"'`,]|\xe2[\x94-\x96]|[0-9a-fA-F]{7,16}[: ]")
"""Beginnings of a margin where the text seems to go on, since its next character is the same."""

_HEX: Final = re.compile(rb"[0-9a-fA-F ]+\Z")

_RETURNED: Final = 9
"""The characters of a row's end that may belong to the margin, such as the digit that begins an
offset."""

_ENOUGH: Final = 4
"""The characters behind a margin that must be the right ones, where there are as many."""

_LEAST_OFFSET: Final = 6
_LONGEST_OFFSET: Final = 20
_BLANKS: Final = 3
"""The most blanks behind an offset that are searched."""

_TRIES: Final = 8
_MAY_END: Final = frozenset(
    bytes((each,)) for each in (*_ASCII_EDGE, *b"0123456789<", *range(0x80, 0xC0))
)
_LONGEST_DUMPED: Final = 240
_MAY_BEGIN: Final = frozenset(
    bytes((each,)) for each in _ASCII_EDGE + b"0123456789abcdefABCDEF<\xe2"
)


def margin_ends(data: bytes, at: int) -> tuple[int, ...]:
    """Return where a margin that begins here may end: which one is there cannot always be told."""
    if data[at : at + 1] not in _MAY_BEGIN:
        return ()
    found = _EDGES.match(data, at)
    edge = at if found is None else found.end()
    # Characters of the text may look like a margin, too.
    ends = list(range(edge, max(at, edge - _RETURNED), -1))
    numbered = _DIGITS.match(data, edge)
    for end in range(edge + 1, numbered.end() + 1) if numbered else ():
        behind = _EDGES.match(data, end)
        after = end if behind is None else behind.end()
        # A number of its own row, or a dump's offset: not just a digit of another text.
        if edge > at or after > end or end - edge >= _LEAST_OFFSET:
            ends += range(after, max(end, after - _RETURNED), -1)
            ends.append(end)
    for pattern in _DUMPED:
        if (dumped := pattern.match(data, at)) is not None:
            # The blanks behind an offset may be those between two bytes.
            blanks = len(dumped[0]) - len(dumped[0].rstrip(b" "))
            ends += range(dumped.end(), dumped.end() - min(blanks, _BLANKS) - 1, -1)
    return tuple(ends)


class Folds:
    """Rows of some bytes, and the margins between them, each looked for once."""

    __slots__ = ("_begun", "_data", "_ends", "_open")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._ends: dict[int, tuple[int, ...]] = {}
        self._open: dict[int, bool] = {}
        self._begun: dict[tuple[int, bytes], Span | None] = {}

    def find(self, at: int, texts: Texts, known: int, *, unbroken: bool = False) -> Iterator[Found]:
        """Yield what stands here of these texts, of which there is one, with margins in it: only
        the first `known` bytes are known to stand here. With `unbroken` also without margins."""
        data = self._data
        nearest = texts.nearest(data, at)
        sizes = [_common(data, at, text) for text in nearest]
        longest = max(sizes)
        if at + longest == len(data):
            yield ((at, len(data)),), longest == min(map(len, nearest))
        elif unbroken and (size := texts.longest_at(data, at)):
            yield ((at, at + size),), True
        breaks = self._breaks(at + known, at + longest)
        for end in breaks:
            yield from self._broken_at(at, end, texts)
        for text, size in zip(nearest, sizes, strict=True) if breaks else ():
            if size < len(text) and self._is_unfinished(at + size, text[size:]):
                yield ((at, at + size),), False

    def _breaks(self, first: int, last: int) -> set[int]:
        """Return where a margin may begin: at the last place, and at others where it looks so."""
        breaks = {found.start() for found in _STRONG.finditer(self._data, first, last)}
        if self._data[last : last + 1] in _MAY_BEGIN:
            breaks.add(last)
            nearby = range(max(first, last - _RETURNED), last)
            breaks.update(at for at in nearby if _NUMBER_HERE.match(self._data, at))
        return breaks

    def _broken_at(self, at: int, end: int, texts: Texts) -> Iterator[Found]:
        """Yield what stands here up to `end`, and goes on behind a margin."""
        before = self._data[at:end]
        for behind in self._margin(end):
            for text in texts.beginning_with(before + self._data[behind : behind + 1]):
                found = self._match_rest(behind, text[end - at :])
                if found is not None:
                    yield ((at, end), *found[0]), found[1]

    def _match_rest(self, at: int, rest: bytes) -> Found | None:
        """Return the pieces of `rest` from here on; None where something else stands there."""
        pieces: list[Span] = []
        while True:
            size = _common(self._data, at, rest)
            if size == len(rest) or at + size == len(self._data):
                return (*pieces, (at, at + size)), size == len(rest)
            following = self._behind_margin(at, size, rest)
            if following is None:
                unfinished = self._is_unfinished(at + size, rest)
                return ((*pieces, (at, at + size)), False) if unfinished else None
            taken, end = following
            pieces.append((at, at + taken))
            at, rest = end, rest[taken:]

    def may_end(self, at: int) -> bool:
        """Return whether a margin may end here."""
        return self._data[at - 1 : at] in _MAY_END

    def begun_before(self, at: int, first: bytes) -> Span | None:
        """Return where `first` stands before a margin that ends here; None where it does not. Of a
        dump the blank behind it may be missing."""
        if self._data.endswith(first, 0, at):
            return None  # no margin: found by its beginning
        key = (at, first)
        if key not in self._begun:
            found = self._find_before(at, first)
            if found is None and first[-1:] == b" ":
                found = self._find_before(at, first[:-1])
            self._begun[key] = found
        return self._begun[key]

    def _find_before(self, at: int, first: bytes) -> Span | None:
        window = max(0, at - LONGEST - len(first))
        begin = self._data.rfind(first, window, at)
        for _ in range(_TRIES):
            if begin < 0:
                return None
            if at in self._margin(begin + len(first)):
                return begin, begin + len(first)
            begin = self._data.rfind(first, window, begin + len(first) - 1)
        return None

    def _margin(self, at: int) -> tuple[int, ...]:
        ends = self._ends.get(at)
        if ends is None:
            ends = self._ends[at] = margin_ends(self._data, at)
        return ends

    def _behind_margin(self, at: int, size: int, rest: bytes) -> tuple[int, int] | None:
        """Return how many bytes stand before a margin, and where the text goes on behind it."""
        data = self._data
        for taken in range(size, max(-1, size - _RETURNED), -1):
            wanted = rest[taken : taken + _ENOUGH]
            for end in self._margin(at + taken):
                if data.startswith(wanted[: len(data) - end], end):
                    return taken, end
            if data[at + taken : at + taken + 1] not in _MAY_BEGIN:
                break
        return None

    def _is_unfinished(self, at: int, rest: bytes) -> bool:
        if len(self._data) - at > _LONGEST_DUMPED:
            return False
        is_open = self._open.get(at)
        if is_open is None:
            is_open = self._open[at] = _UNFINISHED.match(self._data, at) is not None
        # In a text the same characters would be held for long without a reason.
        return is_open and (_HEX.match(rest) is not None or self._data[at : at + 1] != b" ")


def ends_in_dump(data: bytes) -> bool:
    """Return whether the last rows may be those of a dump."""
    return _DUMP_SEEN.search(data, max(0, len(data) - _LONGEST_DUMPED)) is not None


def folded_ends(data: bytes, size: int) -> Iterator[tuple[int, bytes]]:
    """Yield where a margin may begin that reaches the end, or nearly: with the last few bytes, of
    which there are `size` at most, behind it."""
    dumped = ends_in_dump(data)
    for after in range(min(size, len(data)) + 1):
        last = len(data) - after
        if data[last - 1 : last] in _MAY_END or (dumped and not after):
            for end in (_row_end(data, last), *(_dump_ends(data, last) if dumped else ())):
                if end < last:
                    yield end, data[last:]


def _row_end(data: bytes, last: int) -> int:
    """Return where the margin before this place begins; the place itself where there is none."""
    begin = max(0, last - LONGEST)
    while True:
        kept = data[begin:last].rstrip(_ASCII_EDGE)
        last = begin + len(kept)
        if kept[-3:-2] != b"\xe2" or not 0x94 <= kept[-2] <= 0x96:
            return last
        last -= 3


def _dump_ends(data: bytes, last: int) -> Iterator[int]:
    """Yield where the margin of a dump before this place may begin: with the text beside the
    digits, or with the next row's offset, of which some is there."""
    offset = _OFFSET_END.search(data[max(0, last - _LONGEST_OFFSET) : last])
    if offset is not None and (last == len(data) or len(offset[0]) >= _LEAST_OFFSET):
        yield from range(last - len(offset[0]), last)
    end = last
    for _ in range(_GAPS):
        end = data.rfind(b"  ", max(0, last - _LONGEST_DUMPED), end)
        if end < 0:
            return
        end = len(data[:end].rstrip(b" ")) if data[end - 1 : end] == b" " else end
        yield end


def _common(data: bytes, at: int, rest: bytes) -> int:
    """Return how many bytes of `rest` stand there."""
    size = min(len(rest), len(data) - at)
    here, rest = data[at : at + size], rest[:size]
    if here == rest:
        return size
    different = int.from_bytes(here, "little") ^ int.from_bytes(rest, "little")
    return ((different & -different).bit_length() - 1) // 8
