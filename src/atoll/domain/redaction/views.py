"""Terminal output split into the bytes that are shown and those that control how.

The grammar is that of `wire.terminal.parser`, as regular expressions over whole chunks. Characters
that have no column of their own (combining and zero-width ones) are left out of what is shown.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable
from functools import cache
from itertools import pairwise

from atoll.wire.terminal.parser import C0, ESC, OPEN, SEQUENCE, partial_character, seven_bit

Span = tuple[int, int]

_ESCAPE = re.compile(rb"\x1b\[[0-9;]*+m|" + SEQUENCE)
"""The pattern of escape sequences, colours first: they are most of all sequences, and match in half
the time so."""

_DROPPED = re.compile(SEQUENCE + rb"|[\x00-\x1a\x1c-\x1f\x7f\xff]+")
"""The dropped bytes. ESC stands in no run of control characters, since the run would include the
beginning of the sequence behind it."""

_NOTHING = b"\xff"
"""The substitute for each byte of an invisible character: in UTF-8 it has no other meaning."""

_ASCII = bytes(range(128))
_C1 = re.compile(rb"\xc2[\x80-\x9f]")
_NOT_SHOWN = bytes(range(32)) + b"\x7f" + _NOTHING
_SHAPE = re.compile(
    ESC + rb"(?:(\[)[%(c)s -?]*+([@-~])?|([]PX^_])|[%(c)s -/]*+([0-~]))" % {b"c": C0}
)
"""The bytes of a sequence without which it would swallow what follows."""

_ROW_ENDS = re.compile(rb"[\n\r\x0b\x0c]|\x1b(?:\[[0-9;]*[ABEFHdf]|[DEM])")
"""The controls that lead to another row."""

_SAME = 9
"""The characters at a row's end that are looked at for its end, too."""

_LONG_OPENING = 64
"""The bytes of an unfinished sequence that are kept unchanged."""


class View:
    """The shown part of some bytes, and the position of each piece of it there."""

    __slots__ = ("data", "shown")

    def __init__(self, data: bytes) -> None:
        data = data[: len(data) - len(partial_character(data))]
        # Every byte keeps its place.
        self.data = data if data.isascii() else _plainer(data)
        self.shown = _strip(self.data)

    def spans(self, found: Iterable[Span]) -> Iterable[Span]:
        """Return intervals of the shown text as intervals of the bytes themselves."""
        kept = _find_runs(self.data)
        return (raw for begin, end in found for raw in _to_raw_spans(kept, begin, end))

    def folded(self, pieces: Iterable[Span]) -> list[Span]:
        """Return these pieces of the shown text as intervals of the bytes; none where one follows
        another in the same row, behind more than a further space."""
        kept = _find_runs(self.data)
        several = [(begin, end) for begin, end in pieces if begin < end]
        for (begin, end), (below, _) in pairwise(several):
            if self.shown[end - 1 : below].strip(b" "):
                # The last characters may be those of the next row's margin, which are the same.
                above = _to_raw_spans(kept, max(begin, end - _SAME), end)[0][0]
                if (
                    _ROW_ENDS.search(self.data, above, _to_raw_spans(kept, below, below + 1)[0][0])
                    is None
                ):
                    return []
        return [raw for begin, end in several for raw in _to_raw_spans(kept, begin, end)]

    def begin_of_last(self, size: int) -> int:
        """Return where the last `size` bytes of the shown text begin.

        The search takes a window at the end that begins in no sequence and no character, so that
        its view ends the whole view.
        """
        reach = 2 * size + 64
        window = self._align_begin(len(self.data) - reach)
        while window > 0 and len(_strip(self.data[window:])) < size:
            reach *= 4
            window = self._align_begin(len(self.data) - reach)
        kept = _find_runs(self.data[window:])
        last, start, stop = kept[-1]
        return window + _to_raw_spans(kept, last + stop - start - size, 2**62)[0][0]

    def spared(self, spans: Iterable[Span]) -> Iterable[Span]:
        """Return the same intervals without the bytes that delimit a sequence."""
        for begin, end in spans:
            at = begin
            if b"\x1b" in self.data:
                for place in self._shape(begin, end):
                    if place > at:
                        yield at, place
                    at = place + 1
            if at < end:
                yield at, end

    def _shape(self, begin: int, end: int) -> list[int]:
        found = _SHAPE.finditer(self.data, self._align_begin(begin), end)
        places = (match.start(group) for match in found for group in (1, 2, 3, 4))
        return [place for place in places if place >= begin]

    def _align_begin(self, at: int) -> int:
        """Return `at`, or the beginning of the sequence or character around it; never below 0."""
        begin = self.data.rfind(b"\x1b", 0, max(at, 0))
        found = _ESCAPE.match(self.data, begin) if begin >= 0 else None
        if found is not None and found.end() > at:
            return begin
        while 0 < at < len(self.data) and self.data[at] & 0xC0 == 0x80:
            at -= 1
        return max(at, 0)


def context(data: bytes, at: int) -> bytes:
    """Return the text that reopens the escape sequence that is open at this place, empty for none.

    It must precede the bytes from there on, so that they are read as parts of the sequence.
    """
    # Half a character may be the first half of a control character.
    half = b"\xc2" if data[at - 1 : at] == b"\xc2" else b""
    data = seven_bit(data[: at - len(half)])
    begin = data.rfind(b"\x1b")
    found = OPEN.fullmatch(data, begin) if begin >= 0 else None
    if found is None:
        return half
    if len(data) - begin <= _LONG_OPENING:
        return data[begin:] + half
    control, command, device, final, string, middle = found.groups()
    # A control character within a string has no effect; elsewhere the last byte decides.
    opening = command or string or (device + final if final else device) or control or middle or b""
    return b"\x1b" + opening + (data[-1:] if control or middle else b"\0") + half


def shown_of(form: bytes) -> bytes:
    """Return a text as it stands in the view: without control and invisible characters."""
    return (form if form.isascii() else _blank_out(form, form)).translate(None, _NOT_SHOWN)


def _plainer(data: bytes) -> bytes:
    """Replace non-ASCII control characters by the spelling these patterns know; every byte keeps
    its place."""
    # Most text is ASCII: it returns here.
    high = data.translate(None, _ASCII)
    if _C1.search(high):
        data = seven_bit(data)
    return _blank_out(data, high)


def _blank_out(data: bytes, high: bytes) -> bytes:
    """Replace characters without a column of their own by `_NOTHING` (Unicode Mn, Me and Cf)."""
    for lead, several in _unseen().items():
        # A search for bytes is many times faster than one for a pattern, and most are absent.
        if lead in high:
            for head, pattern in several:
                if head in high and pattern.search(high):
                    data = pattern.sub(_blank, data)
    return data


@cache
def _unseen() -> dict[bytes, list[tuple[bytes, re.Pattern[bytes]]]]:
    """Return the patterns of those characters, by first byte, and by all bytes but the last."""
    lasts: dict[bytes, bytes] = {}
    for code in (*range(0x80, 0xD800), *range(0xE000, 0x20000), *range(0xE0000, 0xE0200)):
        if unicodedata.category(chr(code)) in ("Mn", "Me", "Cf"):
            packed = chr(code).encode()
            lasts[packed[:-1]] = lasts.get(packed[:-1], b"") + packed[-1:]
    by_lead: dict[bytes, list[tuple[bytes, re.Pattern[bytes]]]] = {}
    for head, some in lasts.items():
        pattern = re.compile(re.escape(head) + b"[" + re.escape(some) + b"]")
        by_lead.setdefault(head[:1], []).append((head, pattern))
    return by_lead


def _blank(found: re.Match[bytes]) -> bytes:
    return _NOTHING * len(found[0])


def _strip(data: bytes) -> bytes:
    data = _ESCAPE.sub(b"", data) if b"\x1b" in data else data
    return data.translate(None, _NOT_SHOWN)


def _find_runs(data: bytes) -> list[tuple[int, int, int]]:
    """Return the shown runs: where each begins in the view, and its interval in `data`."""
    runs: list[tuple[int, int, int]] = []
    at = begin_in_view = 0
    for dropped in _DROPPED.finditer(data):
        if dropped.start() > at:
            runs.append((begin_in_view, at, dropped.start()))
            begin_in_view += dropped.start() - at
        at = dropped.end()
    if at < len(data):
        runs.append((begin_in_view, at, len(data)))
    return runs


def _to_raw_spans(kept: list[tuple[int, int, int]], begin: int, end: int) -> list[Span]:
    """Translate an interval of the shown text to intervals of the bytes."""
    spans: list[Span] = []
    at = bisect_right(kept, begin, key=_place) - 1
    while at < len(kept) and kept[at][0] < end:
        first, start, stop = kept[at]
        spans.append((start + max(0, begin - first), start + min(stop - start, end - first)))
        at += 1
    return spans


def _place(run: tuple[int, int, int]) -> int:
    return run[0]
