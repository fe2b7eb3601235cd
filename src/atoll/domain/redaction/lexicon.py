"""All forms of all secrets of one sandbox, compiled; and whole texts masked by them.

Three views are searched. The first is the bytes as they are. The second is what terminals show of
them, so that a secret coloured letter by letter or folded into lines is whole, also where a program
folded it and drew a margin. The third is what rows show that are overwritten.
"""

import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from atoll.domain.redaction.forms import SHORTEST, broken_forms, forms
from atoll.domain.redaction.margins import LONGEST as LONGEST_MARGIN
from atoll.domain.redaction.margins import ends_in_dump
from atoll.domain.redaction.overwrites import Rows, moves_back, row_begin
from atoll.domain.redaction.patterns import HEAD, Patterns
from atoll.domain.redaction.shapes import LONGEST, find_shapes
from atoll.domain.redaction.views import Span, View, context, shown_of


@dataclass(frozen=True, slots=True)
class Findings:
    """The secrets in some bytes.

    `spans` are intervals to mask, in order and apart. `live` holds, for each view, where its
    longest unfinished secret begins and how many bytes of it are there. Bytes from `row` on, where
    the first row begins that is not decided, may be overwritten by what follows; None: none may.
    """

    spans: tuple[Span, ...]
    live: tuple[tuple[int, int], ...]
    row: int | None = None


NOTHING = Findings((), ())


class Lexicon:
    """A compiled set of secrets, immutable and shared by all streams of a sandbox. Without values
    it finds Atoll's own secrets alone, and those only where no escape sequence parts them."""

    __slots__ = ("_exact", "_stripped", "longest")

    def __init__(self, values: Iterable[str] = ()) -> None:
        values = tuple(values)
        exact = {form for value in values for form in forms(value)}
        shrunk = map(shown_of, exact)
        stripped = {form for form in shrunk if len(form) >= SHORTEST}
        # Where nothing was stripped, the first two views are the same bytes: one search serves
        # both.
        self._exact = Patterns(exact | stripped)
        broken = (each for value in values for each in broken_forms(value))
        self._stripped = Patterns(
            stripped, ((form, size) for form, size in broken if form in stripped)
        )
        self.longest = max(self._exact.longest, LONGEST)

    def __bool__(self) -> bool:
        return True

    @property
    def named(self) -> bool:
        """Return whether secrets were named, which must not leave unmasked in files either."""
        return bool(self._exact)

    def find(self, data: bytes, *, drawn: bool = True) -> Findings:
        """Return everything in `data`, in every view; unless it is `drawn`, nothing is
        overwritten, and Atoll's own secrets are not looked for."""
        own = find_shapes(data) if drawn else ((), len(data))
        live = [(own[1], len(data) - own[1])] if own[1] < len(data) else []
        if self._exact:
            return self._find_all(data, own[0], live, drawn=drawn)
        return Findings(merge_spans(own[0]), tuple(live)) if own[0] or live else NOTHING

    def find_plain(self, data: bytes) -> Findings:
        """Return what stands in `data` byte for byte, for bytes that nobody reads as text."""
        own, own_from = find_shapes(data)
        exact = self._exact.sight(data)
        starts = {begin for begin in (own_from, exact.live_from) if begin < len(data)}
        live = tuple((begin, len(data) - begin) for begin in sorted(starts))
        return Findings(merge_spans((*own, *exact.spans)), live)

    def _find_all(
        self, data: bytes, own: Iterable[Span], live: list[Span], *, drawn: bool
    ) -> Findings:
        """Return the named secrets, and what was found already: intervals, and what is live."""
        exact = self._exact.sight(data)
        view = View(data)
        spans = [*view.spared(exact.spans), *view.spared(own)]
        if exact.live_from < len(data):
            live.append((exact.live_from, len(data) - exact.live_from))
        if len(view.shown) < len(data):
            spans += self._find_folded(view, view.shown, live)
        elif ends_in_dump(view.shown):
            # In one row nothing is folded yet; what is unfinished may be.
            self._find_folded(view, view.shown[-self._stripped.longest - LONGEST_MARGIN :], live)
        if not drawn:
            return Findings(merge_spans(spans), tuple(live))
        if moves_back(view.data):
            over, begun = Rows(view.data, self._stripped.longest).find(self._stripped)
            spans += over
            live += begun
        # A row read from its middle shows other text: what is undecided needs its row's beginning.
        undecided = min((begin for begin, _ in live), default=len(data))
        return Findings(merge_spans(spans), tuple(live), row_begin(data, undecided))

    def _find_folded(self, view: View, shown: bytes, live: list[Span]) -> list[Span]:
        """Return the intervals of what stands in the last part of what is shown, and add to `live`
        what is unfinished there."""
        sighting = self._stripped.sight_folded(shown)
        if size := len(shown) - sighting.live_from:
            there = min(size, HEAD - 1) if sighting.is_short else size
            live.append((view.begin_of_last(size), there))
        spans = [*view.spans(merge_spans(sighting.spans))] if sighting.spans else []
        return [*spans, *(span for pieces in sighting.folded for span in view.folded(pieces))]

    def context(self, data: bytes, at: int) -> bytes:
        """Return the text that reopens the escape sequence that is open at this place."""
        return context(data, at) if self._exact else b""

    def mask(self, data: bytes, spans: Iterable[Span]) -> bytes:
        """Return asterisks for these intervals, as wide on a screen as what they hide."""
        return mask(data, spans, starred=_star_out)

    def redact(self, data: bytes) -> bytes:
        """Return a whole text with every secret in it masked."""
        spans = self.find(data).spans
        return self.mask(data, spans) if spans else data

    def redact_text(self, text: str) -> str:
        """Return the same for texts of Atoll's own: messages, logs, event payloads."""
        data = text.encode("utf-8", "surrogatepass")
        return self.redact(data).decode("utf-8", "surrogatepass")


def merge_spans(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return intervals in order, merging those that touch."""
    apart: list[Span] = []
    for begin, end in sorted(spans):
        if apart and begin <= apart[-1][1]:
            apart[-1] = (apart[-1][0], max(apart[-1][1], end))
        else:
            apart.append((begin, end))
    return tuple(apart)


def mask(data: bytes, spans: Iterable[Span], *, starred: Callable[[bytes], bytes]) -> bytes:
    """Return `data` with the result of `starred` in place of these intervals."""
    pieces: list[bytes] = []
    at = 0
    for begin, end in spans:
        pieces += (data[at:begin], starred(data[begin:end]))
        at = end
    return b"".join((*pieces, data[at:]))


def _star_out(data: bytes) -> bytes:
    """Return one asterisk for each column; escape sequences' control characters stay."""
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
