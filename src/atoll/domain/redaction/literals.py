"""A few texts searched for literally, where only they can come back: keys in a response.

Pure, and cheap to make for one stream. An encoded or split text passes; `lexicon.Lexicon` finds
those. A mask has as many bytes as its text, so that lengths announced before (of a body, of a
WebSocket's frames) stay true.
"""

from collections.abc import Iterable

from atoll.domain.redaction.lexicon import NOTHING, Findings, mask, merge_spans
from atoll.domain.redaction.shapes import beginning
from atoll.domain.redaction.views import Span


class Literals:
    """A set of texts, immutable. Raises `ValueError` for an empty text."""

    __slots__ = ("_texts", "longest")

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = tuple([each.encode() for each in texts])
        if b"" in self._texts:
            raise ValueError("an empty text would be everywhere")
        self.longest = max(map(len, self._texts), default=0)

    def __bool__(self) -> bool:
        return bool(self._texts)

    def touches(self, data: bytes) -> bool:
        """Report whether one of them stands in `data`, or begins at its end.

        Where neither holds, a stream with nothing held back passes the bytes unchanged.
        """
        for text in self._texts:  # noqa: SIM110  a generator costs as much as the search
            if text in data or beginning(text, data):
                return True
        return False

    def find(self, data: bytes) -> Findings:
        """Return everything in `data`, and the longest beginning of a text at its end."""
        spans: list[Span] = []
        live = 0
        for text in self._texts:
            begin = data.find(text)
            while begin != -1:
                spans.append((begin, begin + len(text)))
                begin = data.find(text, begin + 1)
            live = max(live, beginning(text, data))
        if not spans and not live:
            return NOTHING
        return Findings(merge_spans(spans), ((len(data) - live, live),) if live else ())

    def find_plain(self, data: bytes) -> Findings:
        """Return the same as `find`: there are no other views."""
        return self.find(data)

    def context(self, data: bytes, at: int) -> bytes:
        """Return nothing: a text is searched for wherever it stands."""
        return b""

    def mask(self, data: bytes, spans: Iterable[Span]) -> bytes:
        """Return an asterisk for each byte in these intervals."""
        return mask(data, spans, starred=_star_out)

    def redact(self, data: bytes) -> bytes:
        """Return a whole text with each of them masked."""
        return self.mask(data, self.find(data).spans) if self.touches(data) else data


def _star_out(data: bytes) -> bytes:
    """Return one asterisk for each byte."""
    return b"*" * len(data)
