"""Reports of git pushes that are held inside the sandbox, towards the journal.

A report says only that there was one: what was pushed is looked up inside and checked by the
control plane. A flood of reports is one entry each second, and the last push is always reported.
"""

import asyncio
from collections.abc import Callable, Mapping

from atoll.domain.errors import Invalid

MAX_WORDS = 64
EVERY_SECONDS = 1.0

Record = Callable[[str, Mapping[str, object]], object]


class PushReports:
    """The reports of one sandbox. `record` writes to the journal."""

    def __init__(self, record: Record, every_seconds: float = EVERY_SECONDS) -> None:
        self._record = record
        self._every_seconds = every_seconds
        self._resting: asyncio.TimerHandle | None = None
        self._owed = False

    def report(self, words: tuple[str, ...]) -> None:
        """Report a push at once, or when the pause after the last report is over. Raises
        `Invalid` for words that no push has."""
        if len(words) > MAX_WORDS:
            raise Invalid(f"a push is reported in at most {MAX_WORDS} words")
        if self._resting is not None:
            self._owed = True
            return
        self._write()

    def close(self) -> None:
        """Forget what is owed: the sandbox ends, and its pushes are looked up at its next start."""
        if self._resting is not None:
            self._resting.cancel()
        self._resting, self._owed = None, False

    def _write(self) -> None:
        self._owed = False
        self._record("git.pushed", {})
        loop = asyncio.get_running_loop()
        self._resting = loop.call_later(self._every_seconds, self._end_rest)

    def _end_rest(self) -> None:
        """End the rest after a report, and write the report that is owed."""
        self._resting = None
        if self._owed:
            self._write()
