"""The marks of one terminal as its output passes. Satisfies `Observer`; what they say is the
business of `domain.terminals.mark`.
"""

import time

from atoll.domain.terminals.mark import MarkLog
from atoll.domain.terminals.size import Size
from atoll.runtime.terminals.observer import Author
from atoll.wire.attach import Exited
from atoll.wire.terminal.marks import MarkScanner

NONCE_VARIABLE = "ATOLL_NONCE"
"""Variable by which a terminal's shell gets the nonce that makes its marks genuine."""


class Marks:
    """A reader that adds a terminal's marks to `log`."""

    def __init__(self, nonce: str) -> None:
        self.log = MarkLog()
        self._scanner = MarkScanner(nonce)

    def showed(self, data: bytes) -> None:
        """Receive output, as it went into the ring."""
        for signal in self._scanner.feed(data):
            offset = signal.start if signal.verb in "AD" else signal.end
            self.log.take(
                signal.verb,
                signal.text,
                offset=offset,
                genuine=signal.genuine,
                now=time.time(),
            )

    def typed(self, author: Author, data: bytes) -> None:
        """Ignore input: it carries no marks."""

    def resized(self, size: Size) -> None:
        """Ignore the size, which does not affect commands."""

    def ended(self, ending: Exited) -> None:
        """End what still ran with its terminal, with no known result."""
        self.log.take("D", "", offset=ending.offset, genuine=True, now=time.time())
