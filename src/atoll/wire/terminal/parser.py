"""The parser of terminal output: which bytes are text and which are control functions.

Paul Williams' state machine (vt100.net/emu/dec_ansi_parser) over UTF-8, as xterm.js has it.
Control characters inside a sequence act at once, CAN and SUB cancel it, ESC begins the next one,
and a string ends with BEL, ST or ESC. Text passes in runs, found by one regular expression.
"""

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias

C0 = rb"\x00-\x17\x19\x1c-\x1f\x7f"
"""The control characters that neither end nor begin a sequence, for use in a class of
characters."""

ESC = rb"\x1b[%s]*+" % C0
"""ESC with the control characters behind it, which act before the sequence it begins."""

SEQUENCE = ESC + (
    rb"(?:\[[%(c)s -?]*+[@-~\x18\x1a]?"
    rb"|\][^\x07\x18\x1a\x1b]*+[\x07\x18\x1a]?"
    rb"|P[%(c)s -?]*+(?:[@-~][^\x18\x1a\x1b]*+)?[\x18\x1a]?"
    rb"|[X^_][^\x18\x1a\x1b\x80-\xff]*+[\x18\x1a]?"
    rb"|[ -/][%(c)s -/]*+[0-~\x18\x1a]?|[0-~\x18\x1a]?)" % {b"c": C0}
)
"""The pattern of an escape sequence in 7 bits: finished, cut off or broken off. Where it ends
depends on no byte after it, so that a stream cut there is read as the whole."""

_SEQUENCE = re.compile(SEQUENCE)

OPEN = re.compile(
    ESC
    + rb"(?:(\[)[%(c)s -?]*+|(\])[^\x07\x18\x1a\x1b]*+|(P)[%(c)s -?]*+(?:([@-~])[^\x18\x1a\x1b]*+)?"
    rb"|([X^_])[^\x18\x1a\x1b\x80-\xff]*+|([ -/])[%(c)s -/]*+)?" % {b"c": C0}
)
"""The pattern of a sequence that the next byte may still belong to, for a match to the end."""

MAX_BODY_BYTES = 1024 * 1024
"""The longest sequence; a longer one is skipped."""

_TEXT = re.compile(rb"[^\x00-\x07\x0e-\x1f\x7f]+")
"""The pattern of text with the control characters that lay it out (BS, HT, LF, VT, FF, CR)."""
_ASCII = re.compile(rb"[\x08-\x0d -~]+")
_C1 = re.compile(rb"\xc2([\x80-\x9f])")
_SIMPLE = re.compile(rb"\x1b(?:\[([<-?]?[0-;]*)([ -/]*)([@-~])|([0-OQ-WYZ\\`-~]))")
"""The usual sequences when they are complete: reading them byte by byte gives the same result."""
_IN_ESCAPE = re.compile(rb"[%s -/]*+" % C0)
_IN_CSI = re.compile(rb"[%s -?]*+" % C0)
_IN_OSC = re.compile(rb"[^\x07\x18\x1a\x1b]*+")
_IN_DCS_DATA = re.compile(rb"[^\x18\x1a\x1b]*+")
_IN_STRING = re.compile(rb"[^\x18\x1a\x1b\x80-\xff]*+")
_PARAMETERS = re.compile(rb"([<-?]?[0-;]*)([ -/]*)")
_DEVICE = re.compile(rb"([<-?]?[0-;]*)([ -/]*)([@-~])")
_CONTROLS = re.compile(rb"[%s]" % C0)
_ALL_C0 = bytes(range(32)) + b"\x7f"


@dataclass(frozen=True, slots=True)
class Text:
    """Some text: valid UTF-8, with U+FFFD for the rest. BS, HT, LF, VT, FF and CR may be in it."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Control:
    """Another control character that takes effect."""

    code: bytes


@dataclass(frozen=True, slots=True)
class Function:
    """An escape sequence: `kind` is empty, or `[` for a control sequence. `parameters` begin with
    the private prefix (`?`, `>`, `<`, `=`), if there is one."""

    kind: bytes
    parameters: bytes
    middle: bytes
    final: bytes


@dataclass(frozen=True, slots=True)
class String:
    """A whole control string without its control characters. `kind` is the byte that introduces
    it after ESC: `]` (OSC), `P` (DCS), `X` (SOS), `^` (PM), `_` (APC)."""

    kind: bytes
    body: bytes


Piece: TypeAlias = Text | Control | Function | String


class State(Enum):
    """The state of the parser: what the next byte belongs to."""

    GROUND = auto()
    ESCAPE = auto()
    CSI = auto()
    OSC = auto()
    DCS = auto()
    DCS_DATA = auto()
    STRING = auto()


_INTRODUCED = {
    b"[": State.CSI,
    b"]": State.OSC,
    b"P": State.DCS,
    b"X": State.STRING,
    b"^": State.STRING,
    b"_": State.STRING,
}
_RUNS = {
    State.ESCAPE: _IN_ESCAPE,
    State.CSI: _IN_CSI,
    State.OSC: _IN_OSC,
    State.DCS: _IN_CSI,
    State.DCS_DATA: _IN_DCS_DATA,
    State.STRING: _IN_STRING,
}
"""The bytes that a sequence holds in each state, up to what may end it."""


class Parser:
    """A parser of one stream, in pieces of any size."""

    __slots__ = ("_body", "_kind", "_passed", "_rest", "_state", "_too_long")

    def __init__(self, passed: re.Pattern[bytes] = _ASCII) -> None:
        """Begin a stream.

        What `passed` matches between sequences comes out as text, unread. Besides the text itself
        it may match whole sequences whose meaning the caller knows.
        """
        self._passed = passed
        self._state = State.GROUND
        self._kind = b""
        self._body = bytearray()
        self._too_long = False
        self._rest = b""

    @property
    def between(self) -> bool:
        """True between sequences and characters, where the next byte begins something new."""
        return self._state is State.GROUND and not self._rest

    def feed(self, data: bytes) -> list[Piece]:
        """Read the next bytes; return what they complete."""
        data = self._rest + data
        self._rest = partial_character(data)
        data = seven_bit(data[: len(data) - len(self._rest)])
        pieces: list[Piece] = []
        at = 0
        while at < len(data):
            if self._state is State.GROUND:
                at = self._ground(data, at, pieces)
            else:
                at = self._read_sequence(data, at, pieces)
        return pieces

    def _ground(self, data: bytes, at: int, pieces: list[Piece]) -> int:
        if found := self._passed.match(data, at):
            pieces.append(Text(found[0]))
        elif found := _SIMPLE.match(data, at):
            pieces.append(_simple(found))
        elif found := _TEXT.match(data, at):
            pieces.append(Text(_valid(found[0])))
        elif data.startswith(b"\x1b", at):
            self._enter(State.ESCAPE, b"")
        else:
            pieces.append(Control(data[at : at + 1]))
        return at + 1 if found is None else found.end()

    def _read_sequence(self, data: bytes, at: int, pieces: list[Piece]) -> int:
        """Read the part of a sequence that has arrived, with its final byte."""
        found = _RUNS[self._state].match(data, at)
        assert found is not None  # noqa: S101  each of them matches nothing, too
        taken = found[0]
        if self._state in (State.ESCAPE, State.CSI) and taken:
            # Control characters act before the sequence does.
            pieces += map(_control_piece, _CONTROLS.findall(taken))
            taken = _CONTROLS.sub(b"", taken)
        self._take(taken)
        at = found.end()
        if at == len(data):
            return at
        last = data[at : at + 1]
        ended = self._end(last)
        if ended is not None:
            pieces.append(ended)
        # A character that cannot be in a sequence cancels it and is drawn.
        return at if last >= b"\x80" else at + 1

    def _take(self, data: bytes) -> None:
        if len(self._body) + len(data) > MAX_BODY_BYTES:
            self._too_long = True
        elif not self._too_long:
            self._body += data

    def _end(self, last: bytes) -> Piece | None:
        """Return what this byte completes; it is not part of the sequence."""
        before, self._state = self._state, State.GROUND
        if last == b"\x1b":
            whole = self._string() if before in (State.OSC, State.DCS_DATA) else None
            self._enter(State.ESCAPE, b"")
            return whole
        if last in b"\x18\x1a" or last >= b"\x80":
            return None
        if before is State.OSC:
            return self._string()
        if before is State.ESCAPE and not self._body and last in _INTRODUCED:
            self._enter(_INTRODUCED[last], last)
            return None
        if before is State.DCS:
            self._state = State.DCS_DATA
            self._take(last)
            return None
        return self._function(b"[" if before is State.CSI else b"", last)

    def _enter(self, state: State, kind: bytes) -> None:
        self._state, self._kind, self._too_long = state, kind, False
        self._body.clear()

    def _string(self) -> String | None:
        # What a control character breaks in two is no character afterwards, either.
        body = _valid(bytes(self._body)).translate(None, _ALL_C0)
        return None if self._too_long else String(self._kind, body)

    def _function(self, kind: bytes, final: bytes) -> Function | None:
        found = _PARAMETERS.fullmatch(self._body)
        if found is None or self._too_long:
            return None
        return Function(kind, bytes(found[1]), bytes(found[2]), final)


def sequence(data: bytes, at: int) -> tuple[Function | String | None, int]:
    """Read the sequence whose ESC is at `at`, all in 7 bits.

    Returns its content, or None for one that is cancelled or not finished, and where it ends:
    before an ESC that ends a string.
    """
    if found := _SIMPLE.match(data, at):
        return _simple(found), found.end()
    found = _SEQUENCE.match(data, at)
    assert found is not None  # noqa: S101  ESC alone is one
    end = found.end()
    pieces = Parser().feed(data[at:end] + (b"\x1b" if data.startswith(b"\x1b", end) else b""))
    said = (each for each in pieces if isinstance(each, Function | String))
    return next(said, None), end


def device(body: bytes) -> tuple[bytes, bytes, bytes] | None:
    """Return the head of a device control string (parameters, intermediates and final) and what
    follows it, or None for one that has no head."""
    found = _DEVICE.match(body)
    return None if found is None else (found[1], found[2] + found[3], body[found.end() :])


def seven_bit(data: bytes) -> bytes:
    """Spell each control character from U+0080 to U+009F as ESC and a letter, which means the same
    and has as many bytes, so that every offset stays true."""
    return _C1.sub(_as_escape, data) if b"\xc2" in data else data


def partial_character(tail: bytes) -> bytes:
    """Return the bytes at the end that begin a UTF-8 character and do not finish it (RFC 3629)."""
    for back in range(1, min(3, len(tail)) + 1):
        byte = tail[-back]
        if byte & 0xC0 != 0x80:
            need = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
            return tail[-back:] if back < need else b""
    return b""


def _simple(found: re.Match[bytes]) -> Function:
    parameters, middle, final, escape = found.groups()
    if final is None:
        return Function(b"", b"", b"", escape)
    return Function(b"[", parameters, middle, final)


def _as_escape(found: re.Match[bytes]) -> bytes:
    return b"\x1b%c" % (found[1][0] - 0x40)


def _control_piece(control: bytes) -> Piece:
    """Return a control character as a piece; BS to CR count as text."""
    return Text(control) if b"\x08" <= control <= b"\x0d" else Control(control)


def _valid(data: bytes) -> bytes:
    return data if data.isascii() else data.decode("utf-8", "replace").encode()
