"""Marks in terminal output: where a shell says that commands begin and end, as it says it.

Understands OSC 133 (FinalTerm's, as iTerm2, kitty and fish write it) and OSC 633 (VS Code's),
fed in any split. Any program can print them: a mark is `genuine` when it ends with the
terminal's own nonce, which only what runs there was told. What they mean is not known here.
"""

import re
from dataclasses import dataclass
from urllib.parse import unquote

MAX_MARK_BYTES = 16 * 1024
"""A longer one is passed over."""

_INTRODUCER = b"\x1b]"
_BODY = rb"[^\x07\x18\x1a\x1b]{0,%d}" % MAX_MARK_BYTES
_WHOLE = re.compile(rb"\x1b\](?:133|633);([ABCDEP](?:;" + _BODY + rb")?)(?:\x07|\x1b\\)")
_BEGUN = re.compile(
    rb"\x1b(?:\](?:[16]|[16]3|(?:133|633)(?:;(?:[ABCDEP](?:;" + _BODY + rb")?)?\x1b?)?)?)?\Z"
)
_ESCAPED = re.compile(r"\\(\\|x[0-9a-fA-F]{2})")
_COMMAND_WORDS = {"cmdline_url": unquote, "cmdline": lambda text: text}


@dataclass(frozen=True, slots=True)
class Signal:
    """One mark. `verb`: A prompt begins, B it ends, C the command's output begins, D the command
    has ended, E the command line, P the folder. `text` is the exit code of D, the line of E (or
    of a C that carries it), the path of P. It stands at `start…end` of the output."""

    verb: str
    text: str
    start: int
    end: int
    genuine: bool


class MarkScanner:
    """State of one output stream."""

    __slots__ = ("_end", "_held", "_nonce")

    def __init__(self, nonce: str) -> None:
        """An empty `nonce` makes no mark genuine."""
        self._nonce = nonce
        self._held = b""
        self._end = 0

    def feed(self, data: bytes) -> tuple[Signal, ...]:
        """Take the next bytes; the marks completed by them, oldest first."""
        self._end += len(data)
        if not self._held and not _may_begin(data):
            return ()
        buffer = self._held + data
        base = self._end - len(buffer)
        found: list[Signal] = []
        done = 0
        for match in _WHOLE.finditer(buffer):
            done = match.end()
            signal = self._read(match[1], base + match.start(), base + done)
            if signal is not None:
                found.append(signal)
        self._held = _begun(buffer, done)
        return tuple(found)

    def _read(self, body: bytes, start: int, end: int) -> Signal | None:
        verb, *fields = body.decode("utf-8", "replace").split(";")
        genuine = bool(self._nonce) and bool(fields) and fields[-1] == self._nonce
        if genuine:
            fields.pop()
        text = _text_of(verb, fields)
        return None if text is None else Signal(verb, text, start, end, genuine)


def _may_begin(data: bytes) -> bool:
    """Whether a mark may begin in it. Plain text is known by a byte that is not there, which is
    looked for many times faster than two in a row."""
    return b"\x1b" in data and (_INTRODUCER in data or data.endswith(b"\x1b"))


def _begun(buffer: bytes, done: int) -> bytes:
    """The mark that is begun at the end of the buffer, if one is."""
    for start in (buffer.rfind(_INTRODUCER, done), buffer.rfind(b"\x1b", done)):
        if start >= 0 and len(buffer) - start <= MAX_MARK_BYTES and _BEGUN.match(buffer, start):
            return buffer[start:]
    return b""


def _text_of(verb: str, fields: list[str]) -> str | None:
    """What one mark says; None when it is none we know."""
    first = fields[0] if fields else ""
    match verb:
        case "E":
            return _plain(first)
        case "P":
            name, _, value = first.partition("=")
            return _plain(value) if name == "Cwd" else None
        case "D":
            return first if first.isascii() and first.isdigit() and len(first) < 6 else ""
        case "C":
            named = (field.partition("=") for field in fields)
            lines = (_COMMAND_WORDS[n](text) for n, _, text in named if n in _COMMAND_WORDS)
            return next(lines, "")
        case _:
            return ""


def _plain(text: str) -> str:
    """Undo the escapes of OSC 633: `\\\\` and `\\xHH`."""
    return _ESCAPED.sub(
        lambda found: "\\" if found[1] == "\\" else chr(int(found[1][1:], 16)), text
    )
