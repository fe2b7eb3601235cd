"""Keeps what runs in a sandbox from doing more at a person's terminal than showing itself.

Reads output with the parser and writes again, spelled in one way, only what `harmless` knows:
whatever the bytes were, and however they were cut, the terminal sees whole sequences of that list.
"""

from collections.abc import Iterator
from typing import BinaryIO

from atoll.surfaces.cli.console import harmless
from atoll.wire.terminal.parser import Control, Function, Parser, Piece, String, Text

_HEAD_BYTES = 256
"""Parsed first where a sequence is under way: it has ended by then, as a rule."""


class ScreenGuard:
    """Filter of one stream on its way to a terminal."""

    def __init__(self, *, clipboard: bool = False, questions: bool = True) -> None:
        """Filter a stream. With `clipboard` programs may set the clipboard, never read it. Without
        `questions` no query reaches the terminal, because nothing reads its answers."""
        self._clipboard = clipboard
        self._questions = questions
        self._parser = Parser(harmless.PASSED)

    def feed(self, data: bytes) -> bytes:
        """Return the bytes to show now."""
        return b"".join(shown for shown, _ in self.pieces(data))

    def pieces(self, data: bytes) -> Iterator[tuple[bytes, bool]]:
        """Yield the bytes to show now, and whether they are of `harmless.harmless_length`."""
        if not self._parser.between:
            yield self._filter(data[:_HEAD_BYTES]), False
            data = data[_HEAD_BYTES:]
        if self._parser.between and (end := harmless.harmless_length(data)):
            yield data[:end], True
            data = data[end:]
        if data:
            yield self._filter(data), False

    def _filter(self, data: bytes) -> bytes:
        return b"".join(map(self._pass_piece, self._parser.feed(data)))

    def _pass_piece(self, piece: Piece) -> bytes:
        match piece:
            case Text(data):
                return data
            case Control(code):
                return code if code[0] in harmless.CONTROLS else b""
            case Function():
                return harmless.function(piece, questions=self._questions)
            case String(b"]", body):
                return harmless.command(body, questions=self._questions, clipboard=self._clipboard)
            case String(b"P", body):
                return harmless.device_string(body, questions=self._questions)
            case String():
                return b""


class GuardedStream:
    """Standard stream for output from a sandbox: guarded where it is a terminal, and byte for byte
    where it is a pipe or a file."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._guard = ScreenGuard(questions=False) if stream.isatty() else None

    def write(self, data: bytes) -> None:
        """Write whole, and at once."""
        self._stream.write(data if self._guard is None else self._guard.feed(data))
        self._stream.flush()
