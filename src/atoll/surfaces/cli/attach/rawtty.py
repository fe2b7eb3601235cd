"""The person's own terminal in raw mode, and back on every way out.

Restores once, whatever happens first: the end of the `with`, an exception, or the
interpreter's exit. Only SIGKILL gets past it; `reset` helps then.
"""

import atexit
import os
import signal
import sys
import termios
import tty
from contextlib import suppress
from types import FrameType, TracebackType

from atoll.client.attach.screen import CLEAR, ScreenModes
from atoll.domain.errors import Invalid
from atoll.surfaces.cli.console.guard import ScreenGuard

_SAVE_TITLE = b"\x1b[22;0t"
_RESTORE_TITLE = b"\x1b[23;0t"
_ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class RawTty:
    """stdin and stdout as one raw terminal: no echo, no line editing, no signals from keys."""

    def __init__(self, *, clipboard: bool = False, questions: bool = True) -> None:
        """Open the terminal. With `clipboard` programs may set the clipboard; without `questions`
        they ask the terminal nothing. Raises `Invalid` when stdin or stdout is not a terminal."""
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise Invalid(
                "attach needs a terminal on stdin and stdout; to run one command use exec"
            )
        self.input = sys.stdin.fileno()
        self.output = sys.stdout.fileno()
        self.screen = ScreenModes()
        self._allowed = {"clipboard": clipboard, "questions": questions}
        self._guard = ScreenGuard(**self._allowed)
        self._before = termios.tcgetattr(self.input)
        self._raw = False
        self._gone = False
        self._writing = False

    def __enter__(self) -> "RawTty":
        self.enter_raw()
        atexit.register(self.leave)
        for number in _ENDING:
            # Their default would end the process without a word to the terminal.
            signal.signal(number, _exit)
        self.write(_SAVE_TITLE)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.leave()

    def enter_raw(self) -> None:
        """Enter raw mode; again after a suspension, when the shell has set its own modes."""
        tty.setraw(self.input, termios.TCSADRAIN)
        self._raw = True

    def leave(self) -> None:
        """Undo what programs did to the screen and bring the line discipline back. Idempotent."""
        if not self._raw:
            return
        self._raw = False
        atexit.unregister(self.leave)
        for number in _ENDING:
            if signal.getsignal(number) is _exit:
                signal.signal(number, signal.SIG_DFL)
        # CAN ends a sequence of which only a part was written.
        self.write((b"\x18" if self._writing else b"") + self.screen.restore() + _RESTORE_TITLE)
        with suppress(termios.error):  # the terminal itself may be gone (SIGHUP)
            termios.tcsetattr(self.input, termios.TCSANOW, self._before)

    @property
    def size(self) -> tuple[int, int]:
        """(cols, rows) now."""
        try:
            size = os.get_terminal_size(self.output)
        except OSError:
            return 80, 24
        return size.columns or 80, size.lines or 24

    def read(self) -> bytes:
        """Return the typed bytes; empty when the terminal hung up. Call when readable."""
        if self._gone:
            return b""
        try:
            return os.read(self.input, 65536)
        except OSError:
            return b""

    def show(self, data: bytes) -> None:
        """Show output of the terminal, as far as it is harmless: written whole, its modes
        remembered. Blocks while the terminal is slow: that is the backpressure."""
        pieces = list(self._guard.pieces(data))
        # Remembered first: the end may come while it is written.
        for shown, usual in pieces:
            if not (usual and self.screen.at_rest):
                self.screen.feed(shown)
        self.write(b"".join(shown for shown, _ in pieces))

    def clear(self) -> None:
        """Restore plain modes and an empty screen, without a hard reset."""
        self.write(self.screen.restore() + CLEAR)
        self.screen = ScreenModes()
        self._guard = ScreenGuard(**self._allowed)

    def write(self, data: bytes) -> None:
        """Write bytes of our own, whole. After a hang-up they are dropped: the next `read` reports
        the end."""
        view = memoryview(data)
        self._writing = True
        while view and not self._gone:
            try:
                view = view[os.write(self.output, view) :]
            except OSError:
                self._gone = True
        self._writing = False


def _exit(number: int, frame: FrameType | None) -> None:
    """End by a signal, as an exception that passes every `with`."""
    sys.exit(128 + number)
