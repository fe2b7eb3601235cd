"""Progress while a person waits: on stderr, and only when the wait takes over a second."""

import time
from collections.abc import Iterable
from types import TracebackType

from atoll.surfaces.cli.console.output import note

PATIENCE_SECONDS = 1.0


class ProgressNote:
    """Lines held back for a second; a wait shorter than that prints nothing."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._since = time.monotonic()
        self._held: list[str] = []
        self._opened = False

    def __enter__(self) -> "ProgressNote":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self._flush()

    @property
    def due(self) -> bool:
        """True when the wait is long enough to be reported."""
        return time.monotonic() - self._since >= PATIENCE_SECONDS

    def report(self, lines: Iterable[str] = ()) -> None:
        """Add lines, and show everything held once it is due."""
        self._held.extend(lines)
        if self.due:
            self._flush()

    def _flush(self) -> None:
        if not self._opened and (self.due or self._held):
            self._opened = True
            note(f"{self._title} …")
        for line in self._held:
            note(f"  {line}")
        self._held.clear()
