"""Marks in terminal output: a shell's reports of where commands begin and end.

Reads OSC 133 (FinalTerm's, as iTerm2, kitty and fish write it) and OSC 633 (VS Code's), fed in any
split and in every spelling that terminals accept (`wire.terminal.parser`). Any program can print
them. A mark is `genuine` when it ends with the terminal's own nonce, which only programs there were
given. Their meaning is not known here.
"""

import re
from dataclasses import dataclass
from urllib.parse import unquote

from atoll.wire.terminal.parser import C0, ESC, OPEN, String, sequence, seven_bit

MAX_MARK_BYTES = 16 * 1024
"""The longest mark; a longer one is skipped."""

_COMMAND = re.compile(ESC + rb"\][%s0]*[16]" % C0)
_KIND = re.compile(rb"0*(?:133|633);([ABCDEP](?:;|\Z))")
_ESCAPED = re.compile(r"\\(\\|x[0-9a-fA-F]{2})")
_COMMAND_WORDS = {"cmdline_url": unquote, "cmdline": lambda text: text}


@dataclass(frozen=True, slots=True)
class Signal:
    """A mark. `verb`: A prompt begins, B it ends, C the command's output begins, D the command has
    ended, E the command line, P the directory. `text` is the exit code of D, the line of E (or of a
    C that carries it), the path of P. It lies at `start…end` of the output."""

    verb: str
    text: str
    start: int
    end: int
    genuine: bool


class MarkScanner:
    """The state of one output stream."""

    __slots__ = ("_end", "_half", "_held", "_nonce")

    def __init__(self, nonce: str) -> None:
        """Begin a stream; with an empty `nonce` no mark is genuine."""
        self._nonce = nonce
        self._held = b""
        self._half = b""
        """The first half of what may become a control character from U+0080 to U+009F."""
        self._end = 0

    def feed(self, data: bytes) -> tuple[Signal, ...]:
        """Read the next bytes; return the marks completed by them, oldest first."""
        self._end += len(data)
        data = self._half + data
        self._half = b"\xc2" if data.endswith(b"\xc2") else b""
        buffer = self._held + seven_bit(data[: len(data) - len(self._half)])
        # Most output is plain text: a search for a byte is many times faster than one for a
        # sequence.
        if b"\x1b" not in buffer:
            return ()
        begun = _find_unfinished(buffer)
        self._held = buffer[begun:] if len(buffer) - begun <= MAX_MARK_BYTES + 64 else b""
        base = self._end - len(self._half) - len(buffer)
        begins = (match.start() for match in _COMMAND.finditer(buffer, 0, begun))
        found = (self._mark(buffer, at, base) for at in begins)
        return tuple([signal for signal in found if signal is not None])

    def _mark(self, buffer: bytes, at: int, base: int) -> Signal | None:
        """Return the mark of the command at this place, if it is one."""
        said, end = sequence(buffer, at)
        body = said.body if isinstance(said, String) else b""
        kind = _KIND.match(body)
        if kind is None or len(body) > MAX_MARK_BYTES:
            return None
        end += 2 if buffer.startswith(b"\x1b\\", end) else 0
        return self._read(body[kind.start(1) :], base + at, base + end)

    def _read(self, body: bytes, start: int, end: int) -> Signal | None:
        verb, *fields = body.decode("utf-8", "replace").split(";")
        genuine = bool(self._nonce) and bool(fields) and fields[-1] == self._nonce
        if genuine:
            fields.pop()
        text = _text_of(verb, fields)
        return None if text is None else Signal(verb, text, start, end, genuine)


def _find_unfinished(buffer: bytes) -> int:
    """Return where the unfinished command at the buffer's end begins, or one that may end there.
    Returns the buffer's length when there is none."""
    last = buffer.rfind(b"\x1b")
    if last == len(buffer) - 1:
        # The ESC may be the first half of what ends the command before it.
        before = buffer.rfind(b"\x1b", 0, last)
        opened = OPEN.fullmatch(buffer, before, last) if before >= 0 else None
        return before if opened is not None and opened[2] else last
    opened = OPEN.fullmatch(buffer, last)
    return len(buffer) if opened is None or any(opened.group(1, 3, 5, 6)) else last


def _text_of(verb: str, fields: list[str]) -> str | None:
    """Return the text of a mark; None for an unknown one."""
    first = fields[0] if fields else ""
    match verb:
        case "E":
            return _unescape(first)
        case "P":
            name, _, value = first.partition("=")
            return _unescape(value) if name == "Cwd" else None
        case "D":
            return first if first.isascii() and first.isdigit() and len(first) < 6 else ""
        case "C":
            named = (field.partition("=") for field in fields)
            lines = (_COMMAND_WORDS[n](text) for n, _, text in named if n in _COMMAND_WORDS)
            return next(lines, "")
        case _:
            return ""


def _unescape(text: str) -> str:
    """Undo the escapes of OSC 633: `\\\\` and `\\xHH`."""
    return _ESCAPED.sub(
        lambda found: "\\" if found[1] == "\\" else chr(int(found[1][1:], 16)), text
    )
