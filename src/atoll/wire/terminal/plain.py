"""Terminal output as lines of plain text, for reading and searching: no escape codes, no screen.

Follows the cursor within one line (returns, backspaces, columns, erasing to the end), so an edited
line reads as it looked. A move to another row ends the line. Lines that the terminal itself wrapped
are one, as they were printed.
"""

import codecs
import re
from dataclasses import dataclass

from atoll.wire.terminal.parser import OPEN, SEQUENCE, Function, Parser, Piece, Text, seven_bit

MAX_LINE = 4096
"""The most characters of a line; a longer line is broken here."""

MAX_HELD_BYTES = 4096
_MAX_COLUMN = 1000
_ALTERNATE = frozenset({"47", "1047", "1049"})
_TOKEN = re.compile(
    rb"([^\x00-\x1f\x7f]+)|\x1b\[([<-?]?[0-;]*)([@-~])|(%s)|([\x08-\x0d])" % SEQUENCE
)


@dataclass(frozen=True, slots=True)
class Line:
    """A line; `offset` is the position of its first byte in the output. `alternate`: a full-screen
    program drew it."""

    offset: int
    text: str
    alternate: bool = False


class PlainLines:
    """The state of one stream that begins at `offset`."""

    def __init__(self, offset: int = 0, *, alternate: bool = False) -> None:
        self._at = offset
        self._held = b""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._line = ""
        self._column = 0
        self._started: int | None = None
        self._alternate = alternate
        self._lines: list[Line] = []

    def feed(self, data: bytes) -> list[Line]:
        """Read the next bytes; return the lines finished by them."""
        base = self._at - len(self._held)
        whole = self._held + data
        # The last byte may be the first half of a control character from U+0080 to U+009F.
        half = b"\xc2" if whole.endswith(b"\xc2") else b""
        buffer = seven_bit(whole[: len(whole) - len(half)])
        self._at += len(data)
        stop = _find_unfinished(buffer)
        self._held = buffer[stop:] + half
        for match in _TOKEN.finditer(buffer, 0, stop):
            self._take(match, base + match.start())
        done, self._lines = self._lines, []
        return done

    def finish(self) -> list[Line]:
        """Return the text of an unfinished last line."""
        self._break()
        done, self._lines = self._lines, []
        return done

    def _take(self, match: re.Match[bytes], at: int) -> None:
        text, parameters, final, sequence, control = match.groups()
        if text is not None:
            self._write(self._decoder.decode(text), at)
        elif final is not None:
            self._control(parameters.decode("ascii"), final)
        elif control is not None:
            self._single(control, at)
        else:
            for piece in Parser().feed(sequence):
                self._perform(piece, at)

    def _perform(self, piece: Piece, at: int) -> None:
        """Perform a sequence, also in a spelling that few programs use."""
        match piece:
            case Text(control):
                self._single(control, at)
            case Function(b"[", parameters, b"", final):
                self._control(parameters.decode("ascii"), final)
            case _:
                pass

    def _write(self, text: str, at: int) -> None:
        if self._started is None:
            self._started = at
        before = self._line[: self._column].ljust(self._column)
        self._line = before + text + self._line[self._column + len(text) :]
        self._column += len(text)
        while len(self._line) > MAX_LINE:
            rest = self._line[MAX_LINE:]
            self._line = self._line[:MAX_LINE]
            column = self._column - MAX_LINE
            self._break()
            self._line, self._column, self._started = rest, max(0, column), at

    def _single(self, control: bytes, at: int) -> None:
        if control in b"\n\x0b\x0c":
            self._break(at)
        elif control == b"\r":
            self._column = 0
        elif control == b"\b":
            self._column = max(0, self._column - 1)
        else:
            self._column = min(_MAX_COLUMN, (self._column // 8 + 1) * 8)

    def _control(self, parameters: str, final: bytes) -> None:
        number = _first_number(parameters)
        match final:
            case b"C":
                self._column = min(_MAX_COLUMN, self._column + max(1, number))
            case b"D":
                self._column = max(0, self._column - max(1, number))
            case b"G" | b"`":
                self._column = min(_MAX_COLUMN, max(1, number)) - 1
            case b"K":
                self._erase(number)
            case b"P":
                gone = self._column + max(1, number)
                self._line = self._line[: self._column] + self._line[gone:]
            case b"A" | b"B" | b"E" | b"F" | b"H" | b"f" | b"d" | b"J":
                self._break()
            case b"h" | b"l" if parameters[:1] == "?":
                self._switch(parameters[1:], on=final == b"h")

    def _erase(self, how: int) -> None:
        if how == 0:
            self._line = self._line[: self._column]
        elif how == 1:
            self._line = " " * self._column + self._line[self._column :]
        elif how == 2:
            self._line = ""

    def _switch(self, modes: str, *, on: bool) -> None:
        if _ALTERNATE & set(modes.split(";")[:32]):
            self._break()
            self._alternate = on

    def _break(self, at: int | None = None) -> None:
        """End the line. Only a line feed (`at`) makes an empty one."""
        text = self._line.rstrip()
        if text or at is not None:
            started = self._started if self._started is not None else at
            self._lines.append(Line(started or 0, text, self._alternate))
        self._line, self._column, self._started = "", 0, None


def _find_unfinished(buffer: bytes) -> int:
    """Return where an unfinished sequence begins, or the buffer's length when none does.

    A very long one is dropped: its rest reads as text.
    """
    last = buffer.rfind(b"\x1b")
    if last < 0 or len(buffer) - last > MAX_HELD_BYTES:
        return len(buffer)
    return last if OPEN.fullmatch(buffer, last) else len(buffer)


def _first_number(parameters: str) -> int:
    """Return the first parameter; 0 when it is no number of at most 5 digits."""
    first = parameters.partition(";")[0]
    return int(first) if first.isdigit() and len(first) < 6 else 0
