"""All forms of all secrets of one sandbox, compiled; and whole texts masked by them.

Two views are searched: the bytes as they are, and the same without escape sequences and
control characters, where a secret coloured letter by letter or folded into lines is whole.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from atoll.domain.redaction.forms import SHORTEST, forms, without_controls
from atoll.domain.redaction.patterns import Patterns

_SEQUENCE = (
    rb"\x1b(?:\[[ -?]*[@-~]?|\][^\x07\x1b]*(?:\x07|\x1b\\)?"
    rb"|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]*[0-~]?)"
)
"""An escape sequence (ECMA-48, section 5.4), finished, cut off or broken off. Where it ends depends
on no byte after it, so that a stream cut there is read as the whole."""

_ESCAPE = re.compile(_SEQUENCE)
_DROPPED = re.compile(_SEQUENCE + rb"|[\x00-\x1a\x1c-\x1f\x7f]+")
"""What `_stripped` removes: the two must agree byte by byte. ESC stands in no run of control
characters, since the run would swallow the beginning of the sequence behind it."""

_OPEN = re.compile(rb"\x1b(?:\[[ -?]*|\][^\x07\x1b]*|[PX^_][^\x1b]*|[ -/]*)")
"""An escape sequence that the next byte may still belong to."""

_LONG_OPENING = 64
"""Bytes of an unfinished sequence that are kept as they are."""

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Findings:
    """What stands in some bytes. `spans` are intervals to mask, in order and apart. `live` holds,
    for each view, where its longest unfinished secret begins and how many bytes of it are there."""

    spans: tuple[Span, ...]
    live: tuple[tuple[int, int], ...]


NOTHING = Findings((), ())


class Lexicon:
    """Immutable; shared by all streams of a sandbox. Without values it finds nothing."""

    __slots__ = ("_exact", "_stripped", "longest")

    def __init__(self, values: Iterable[str] = ()) -> None:
        exact = {form for value in values for form in forms(value)}
        shrunk = (without_controls(form) for form in exact)
        stripped = {form for form in shrunk if len(form) >= SHORTEST}
        # Where nothing was stripped, only the bytes themselves are searched: for both kinds.
        self._exact = Patterns(exact | stripped)
        self._stripped = Patterns(stripped)
        self.longest = self._exact.longest

    def __bool__(self) -> bool:
        return bool(self._exact)

    def find(self, data: bytes) -> Findings:
        """Everything in `data`, in both views."""
        exact = self._exact.sight(data)
        spans = list(exact.spans)
        live = (
            [(exact.live_from, len(data) - exact.live_from)] if exact.live_from < len(data) else []
        )
        view = _stripped(data)
        if len(view) < len(data):
            sighting = self._stripped.sight(view)
            if sighting.spans:
                kept = _kept(data)
                view_spans = joined(sighting.spans)
                spans += (raw for begin, end in view_spans for raw in _raw(kept, begin, end))
            if size := len(view) - sighting.live_from:
                live.append((_tail_begin(data, size), size))
        return Findings(joined(spans), tuple(live))

    def context(self, data: bytes, at: int) -> bytes:
        """Return what stands for the escape sequence that is open at this place, empty for none.
        It must precede the bytes from there on, so that they are read as parts of the sequence."""
        begin = data.rfind(b"\x1b", 0, at)
        if begin < 0 or _OPEN.fullmatch(data, begin, at) is None:
            return b""
        if at - begin <= _LONG_OPENING:
            return data[begin:at]
        # A control character within a string is of no effect; elsewhere the last byte decides.
        return data[begin : begin + 2] + (
            b"\0" if data[begin + 1] in b"]PX^_" else data[at - 1 : at]
        )

    def mask(self, data: bytes, spans: Iterable[Span]) -> bytes:
        """Asterisks in these intervals, as wide on a screen as what they hide."""
        return mask(data, spans, starred=_starred)

    def redact(self, data: bytes) -> bytes:
        """A whole text with every secret in it masked."""
        return self.mask(data, self.find(data).spans) if self else data

    def redact_text(self, text: str) -> str:
        """The same for words of ours: messages, logs, event payloads."""
        if not self:
            return text
        data = text.encode("utf-8", "surrogatepass")
        return self.redact(data).decode("utf-8", "surrogatepass")


def joined(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Intervals in order, those that touch made one."""
    apart: list[Span] = []
    for begin, end in sorted(spans):
        if apart and begin <= apart[-1][1]:
            apart[-1] = (apart[-1][0], max(apart[-1][1], end))
        else:
            apart.append((begin, end))
    return tuple(apart)


def mask(data: bytes, spans: Iterable[Span], *, starred: Callable[[bytes], bytes]) -> bytes:
    """`data` with what `starred` makes of these intervals in their place."""
    pieces: list[bytes] = []
    at = 0
    for begin, end in spans:
        pieces += (data[at:begin], starred(data[begin:end]))
        at = end
    return b"".join((*pieces, data[at:]))


def _starred(data: bytes) -> bytes:
    """One asterisk for each column; escape sequences' control characters stay."""
    if data.isascii() and data.isalnum():
        return b"*" * len(data)
    text = data.decode("utf-8", "replace")
    return "".join(map(_stars, text)).encode()


def _stars(character: str) -> str:
    if character < " " or character == "\x7f":
        return character
    if unicodedata.combining(character):
        return ""
    return "**" if unicodedata.east_asian_width(character) in "WF" else "*"


def _stripped(data: bytes) -> bytes:
    """Without escape sequences and control characters."""
    return without_controls(_ESCAPE.sub(b"", data) if b"\x1b" in data else data)


def _tail_begin(data: bytes, size: int) -> int:
    """Where in `data` the last `size` bytes of the stripped view begin. Looked for in a window
    at the end that begins in no escape sequence, so that its view is the end of the whole view."""
    reach = 2 * size + 64
    window = _outside(data, len(data) - reach)
    while window > 0 and len(_stripped(data[window:])) < size:
        reach *= 4
        window = _outside(data, len(data) - reach)
    kept = _kept(data[window:])
    last, start, stop = kept[-1]
    return window + _raw(kept, last + stop - start - size, 2**62)[0][0]


def _outside(data: bytes, at: int) -> int:
    """`at`, or where the escape sequence begins that it is in; never below 0."""
    begin = data.rfind(b"\x1b", 0, max(at, 0))
    found = _ESCAPE.match(data, begin) if begin >= 0 else None
    return max(at, 0) if found is None or found.end() <= at else begin


def _kept(data: bytes) -> list[tuple[int, int, int]]:
    """Runs that the stripped view keeps: where each begins there, and its interval in `data`."""
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


def _raw(kept: list[tuple[int, int, int]], begin: int, end: int) -> list[Span]:
    """An interval of the stripped view as intervals of the bytes themselves."""
    spans: list[Span] = []
    at = bisect_right(kept, begin, key=_place) - 1
    while at < len(kept) and kept[at][0] < end:
        first, start, stop = kept[at]
        spans.append((start + max(0, begin - first), start + min(stop - start, end - first)))
        at += 1
    return spans


def _place(run: tuple[int, int, int]) -> int:
    return run[0]
