"""Recording while it runs: what passes a terminal, written down as asciicast v3.

It satisfies `Observer`. Output comes redacted. Input is redacted here, and a line typed where the
program shows no echo (a password) becomes one asterisk. A recording begins with the screen as it
is; of the time before it holds no more than that takes.
"""

import codecs
import os
import time
from collections.abc import Callable

import msgspec

from atoll.domain.terminals.size import Size
from atoll.runtime.stage import Flow, MakeStage
from atoll.runtime.terminals.observer import Author
from atoll.runtime.terminals.pty_process import PtyProcess
from atoll.wire.attach import Exited
from atoll.wire.terminal import asciicast
from atoll.wire.terminal.asciicast import Event

HIDDEN = b"*"
SIGNAL_EXIT = 128
PIECE_BYTES = 64 * 1024
"""The most output in one event: escaped, it stays below the longest line."""

Stopped = Callable[[str], None]
"""Called once, with the state a recording ended in."""


class Recorder:
    """Writer of a recording to `fd`, which it owns, up to `room` bytes."""

    def __init__(
        self,
        pty: PtyProcess,
        fd: int,
        *,
        room: int,
        make_stage: MakeStage,
        stopped: Stopped,
    ) -> None:
        self.bytes = 0
        self.commands = 0
        self._pty = pty
        self._fd = fd
        self._room = room
        self._stopped = stopped
        self._output = codecs.getincrementaldecoder("utf-8")("replace")
        self._input = codecs.getincrementaldecoder("utf-8")("replace")
        self._typed = Flow(make_stage(), self._keep_typed)
        self._author: Author | None = None
        self._marked = pty.marks.seq
        self._command = max((mark.n for mark in pty.marks.all()), default=0)
        self._began = self._last = time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds it has been running."""
        return round(time.monotonic() - self._began, 3)

    def begin(self, name: str) -> None:
        """Write the header and the screen as it is. `name` stands for a title."""
        pty = self._pty
        size = asciicast.Term(cols=pty.size.cols, rows=pty.size.rows)
        title = pty.title or name
        header = asciicast.Header(version=3, term=size, timestamp=int(time.time()), title=title)
        self._write(asciicast.spell_header(header))
        if pty.scrollback.end:
            self._record_output(pty.scrollback.screen(pty.size.rows))
            pty.nudge()

    def showed(self, data: bytes) -> None:
        """Receive output, as it went into the ring."""
        self._record_output(data)
        for mark in self._pty.marks.since(self._marked):
            self._marked = mark.seq
            if mark.n > self._command:
                self._command = mark.n
                self.commands += 1
                self._event(asciicast.MARKER, mark.command)

    def typed(self, author: Author, data: bytes) -> None:
        """Receive input that was accepted."""
        if author != self._author:
            self._typed.end()
            self._author = author
            self._event(asciicast.USER, msgspec.json.encode(author).decode())
        if self._pty.echo_off:
            self._typed.end()
            self._keep_typed(HIDDEN)
        else:
            self._typed.feed(data)

    def resized(self, size: Size) -> None:
        """Receive the size the PTY has now."""
        self._event(asciicast.RESIZE, f"{size.cols}x{size.rows}")

    def ended(self, ending: Exited) -> None:
        """Receive the end; nothing follows."""
        self._typed.end()
        code = SIGNAL_EXIT if ending.code is None else ending.code
        self._event(asciicast.EXIT, str(code))
        self.stop("ended")

    def stop(self, state: str) -> None:
        """Close the file. Stopping again is nothing."""
        if self._fd < 0:
            return
        self._typed.end()
        # The last output may have filled it, and so have closed it.
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)
            self._stopped(state)

    def _record_output(self, data: bytes) -> None:
        for at in range(0, len(data), PIECE_BYTES):
            text = self._output.decode(data[at : at + PIECE_BYTES])
            if text:
                self._event(asciicast.OUTPUT, text)

    def _keep_typed(self, data: bytes) -> None:
        text = self._input.decode(data)
        if text:
            self._event(asciicast.INPUT, text)

    def _event(self, code: str, text: str) -> None:
        now = time.monotonic()
        self._write(asciicast.spell(Event(now - self._last, code, text)))
        self._last = now

    def _write(self, line: bytes) -> None:
        """Write a line, whole or not at all: a file that is cut off stays readable."""
        if self._fd < 0:
            return
        if self.bytes + len(line) > self._room:
            self._end("full")
            return
        try:
            written = os.write(self._fd, line)
        except OSError:
            written = 0
        self.bytes += written
        if written < len(line):
            self._end("failed")

    def _end(self, state: str) -> None:
        """Close the file in the middle of something: what is held back is let go of."""
        self._typed.stop()
        fd, self._fd = self._fd, -1
        os.close(fd)
        self._stopped(state)
