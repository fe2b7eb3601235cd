"""Acts that may have changed the files: a command that ended, a file that was written, a command of
a shell at a terminal. What was counted of the files is counted again after them.

Acts come in crowds, so they are reported together, a moment after the first.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from atoll.domain.terminals.size import Size
from atoll.runtime.terminals.observer import Author
from atoll.runtime.terminals.pty_process import PtyProcess
from atoll.wire.attach import Exited

GATHER_SECONDS: Final = 0.5

_Listener = Callable[[], None]


class FileActs:
    """The acts of one sandbox, for listeners that look again."""

    def __init__(self) -> None:
        self._listeners: list[_Listener] = []
        self._timer: asyncio.TimerHandle | None = None

    def subscribe(self, listener: _Listener) -> None:
        """Call `listener` a moment after each act, once for all of that moment."""
        self._listeners.append(listener)

    def note(self) -> None:
        """Record that something may have changed the files."""
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(GATHER_SECONDS, self._report)

    def close(self) -> None:
        """Report nothing more."""
        if self._timer is not None:
            self._timer.cancel()
        self._listeners.clear()

    def _report(self) -> None:
        self._timer = None
        for listener in self._listeners:
            listener()


class ShellCommands:
    """An observer of one terminal that notes the end of each command of its shell."""

    def __init__(self, pty: PtyProcess, acts: FileActs) -> None:
        self._pty = pty
        self._acts = acts
        self._seen = 0

    def showed(self, data: bytes) -> None:
        """Look whether a command has begun or ended by that output."""
        del data
        if self._pty.marks.seq != self._seen:
            self._seen = self._pty.marks.seq
            self._acts.note()

    def typed(self, author: Author, data: bytes) -> None:
        """Ignore input; what it does shows in the marks."""

    def resized(self, size: Size) -> None:
        """Ignore the size."""

    def ended(self, ending: Exited) -> None:
        """Note the end of the terminal's program."""
        del ending
        self._acts.note()
