"""Lines out of pieces, for the stdio transport of MCP: one message a line.

Bounded: a line that is too long is left out while it comes, and said so once it has ended.
"""

from enum import Enum
from typing import Final

MAX_LINE_BYTES: Final = 2 * 1024 * 1024
"""The longest message of a client: the longest text that a tool takes is half of it."""


class LineMark(Enum):
    """A line without content."""

    OVERLONG = "a line was longer than allowed, and is left out"


class LineReader:
    """The lines of one stream. Holds the longest line and one piece at most."""

    def __init__(self, longest: int = MAX_LINE_BYTES) -> None:
        self._longest = longest
        self._held = bytearray()
        self._searched = 0
        self._skipping = False

    def feed(self, data: bytes) -> None:
        """Take a piece. Whole lines have to be taken before the next one is fed."""
        self._held += data

    def take(self) -> bytes | LineMark | None:
        """Return the next whole line without its end, None when more has to come."""
        end = self._held.find(b"\n", self._searched)
        if end >= 0:
            line, skipped = bytes(self._held[:end]), self._skipping
            del self._held[: end + 1]
            self._searched, self._skipping = 0, False
            too_long = skipped or end > self._longest
            return LineMark.OVERLONG if too_long else line.removesuffix(b"\r")
        self._searched = len(self._held)
        if self._skipping or self._searched > self._longest:
            self._held.clear()
            self._searched, self._skipping = 0, True
        return None

    def end(self) -> None:
        """End the stream: a last line needs no end of its own."""
        if self._held or self._skipping:
            self._held += b"\n"
