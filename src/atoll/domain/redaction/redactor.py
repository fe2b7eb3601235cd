"""A stream of output with its secrets masked, wherever it is cut into pieces.

Bytes that begin no secret pass at once. A beginning of up to seven bytes is held until the next
tick of a clock that does not depend on the data; a longer one until it is decided or the stream
ends. Bytes that were sent early are remembered, so that the rest of a secret is still masked.
"""

from collections.abc import Iterable
from typing import Protocol

from atoll.domain.redaction.lexicon import Findings, merge_spans
from atoll.domain.redaction.views import Span

TICK_SECONDS = 0.02
"""The period of the clock: the longest delay of a typed letter."""

STAYS_FROM = 8
"""The bytes of a beginning that a tick does not release."""

ROOM_BYTES = 64 * 1024
"""The stretch of escape sequences in an unfinished secret after which it is masked unfinished."""


class Finder(Protocol):
    """The texts to find (false when there are none), and their masks.

    `longest` is in bytes. `context` is what must precede the bytes from a position on to be read as
    there.
    """

    longest: int

    def __bool__(self) -> bool: ...
    def find(self, data: bytes) -> Findings: ...
    def find_plain(self, data: bytes) -> Findings: ...
    def context(self, data: bytes, at: int) -> bytes: ...
    def mask(self, data: bytes, spans: Iterable[Span]) -> bytes: ...


class Redactor:
    """A redactor of one stream, over a lexicon that may be replaced while it flows. With `binary`,
    pieces that hold a NUL byte are no text: in them a secret is looked for byte for byte alone, as
    in anything else the other views find beginnings everywhere."""

    __slots__ = ("__weakref__", "_binary", "_held", "_shown", "_spans", "_stays", "lexicon")

    def __init__(self, lexicon: Finder, *, binary: bool = False) -> None:
        self.lexicon = lexicon
        self._binary = binary
        self._held = b""
        """The bytes that may still become a secret, and their row, which may be overwritten; the
        first `_shown` bytes have been sent already."""
        self._shown = 0
        self._spans: tuple[Span, ...] = ()
        self._stays = False

    def use(self, lexicon: Finder) -> None:
        """Look for this lexicon's secrets from now on."""
        self.lexicon = lexicon

    @property
    def waiting(self) -> bool:
        """True while something is held that the next tick would release."""
        return not self._stays and self._shown < len(self._held)

    def feed(self, data: bytes) -> bytes:
        """Take `data`; return what may be sent now."""
        if not self._held and not self.lexicon:
            return data
        whole = self._held + data
        plain = self._binary and b"\0" in data
        found = self.lexicon.find_plain(whole) if plain else self.lexicon.find(whole)
        if not (self._held or found.spans or found.live or found.row is not None):
            # What is no text opens no escape sequence for what follows.
            self._begin_anew(b"" if plain else data)
            return data
        # A secret found before may reach into the held bytes; its beginning is gone by now.
        self._spans = merge_spans((*self._spans, *found.spans))
        begin = min((begin for begin, _ in found.live), default=len(whole))
        if len(whole) - begin > self.lexicon.longest + ROOM_BYTES:
            return self._give_up(whole, begin)
        return self._settle(whole, found)

    def tick(self) -> bytes:
        """Return what may be sent because time has passed."""
        if not self.waiting:
            return b""
        out = self._between(self._held, self._shown, len(self._held))
        self._shown = len(self._held)
        return out

    def flush(self) -> bytes:
        """Return the held bytes; the stream is over."""
        out = self._between(self._held, self._shown, len(self._held))
        self._begin_anew(b"")
        return out

    def _begin_anew(self, whole: bytes) -> None:
        """Keep nothing of these bytes but the escape sequence that is open at their end."""
        self._held = self.lexicon.context(whole, len(whole))
        self._shown = len(self._held)
        self._spans, self._stays = (), False

    def _settle(self, whole: bytes, found: Findings) -> bytes:
        """Send what is decided; keep the rest, and what a later match needs."""
        shown = self._shown
        decided = min((begin for begin, _ in found.live), default=len(whole))
        keep_from = decided if found.row is None else min(decided, found.row)
        self._stays = any(size >= STAYS_FROM for _, size in found.live)
        out = self._between(whole, shown, decided)
        context = self.lexicon.context(whole, keep_from)
        moved = keep_from - len(context)
        self._held = context + whole[keep_from:]
        self._shown = max(shown, decided) - moved
        self._spans = tuple(
            (max(begin, keep_from) - moved, end - moved)
            for begin, end in self._spans
            if end > keep_from
        )
        return out

    def _give_up(self, whole: bytes, begin: int) -> bytes:
        """Mask an unfinished secret from `begin` on that is open for too long, and begin anew."""
        self._spans = merge_spans((*self._spans, (begin, len(whole))))
        out = self._between(whole, self._shown, len(whole))
        self._begin_anew(whole)
        return out

    def _between(self, whole: bytes, begin: int, end: int) -> bytes:
        """Return `whole[begin:end]`, masked."""
        if begin >= end:
            return b""
        spans = tuple(
            (max(first, begin) - begin, min(last, end) - begin)
            for first, last in self._spans
            if first < end and last > begin
        )
        out = whole[begin:end]
        return self.lexicon.mask(out, spans) if spans else out
