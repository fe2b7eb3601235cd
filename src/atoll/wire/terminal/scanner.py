"""A streaming scanner of terminal output: where it may be cut, and the settings there.

It never emulates a screen. Fed bytes in any split, it knows the modes so far, the last offset that
no sequence spans (`settled`), and the questions the program asked. Patterns find what matters;
`wire.terminal.parser` reads its content. ESC starts a sequence anew wherever it stands (as in
xterm.js and the VT500 parser of vt100.net). So only what follows the last ESC can be unfinished;
that makes it fast.
"""

import re
from dataclasses import dataclass, replace

from atoll.wire.terminal import modes as vtmodes
from atoll.wire.terminal import sgr
from atoll.wire.terminal.modes import Modes
from atoll.wire.terminal.parser import (
    C0,
    ESC,
    OPEN,
    Function,
    String,
    partial_character,
    sequence,
    seven_bit,
)
from atoll.wire.terminal.query import CSI_QUERY, DCS_QUERY, OSC_QUERY, Query

MAX_SEQUENCE = 4096
"""The longest sequence; longer ones are skipped unread, whatever they say."""

_NOT_FINAL = rb"[^@-~\x18\x1a\x1b\x80-\xff]*+"

_SGR = re.compile(ESC + rb"\[([%s0-;]{0,%d})m" % (C0, MAX_SEQUENCE - 16))
_EVENT = re.compile(
    ESC + rb"(?:\[(?:%s[hlrcnpqtux]|[>?]%sm)|[\]P78c=>]|[()*+])" % (_NOT_FINAL, _NOT_FINAL)
)
_SHIFT = re.compile(
    rb"\x1b[\x00-\x0d\x10-\x17\x19\x1c-\x1f\x7f]*+(?:\][^\x07\x18\x1a\x1b]*+|P[^\x18\x1a\x1b]*+"
    rb"|[X^_][^\x18\x1a\x1b\x80-\xff]*+)|([\x0e\x0f])"
)
_STRAY = re.compile(rb"[%s]" % C0)
_CLOSE = {
    b"[": re.compile(rb"[@-~\x80-\xff\x18\x1a\x1b]"),
    b"]": re.compile(rb"[\x07\x18\x1a\x1b]"),
    b"P": re.compile(rb"[\x18\x1a\x1b]"),
    b"_": re.compile(rb"[\x18\x1a\x1b\x80-\xff]"),
    b" ": re.compile(rb"[0-~\x80-\xff\x18\x1a\x1b]"),
}
_REOPEN = {
    b"": b"",
    b"[": b"\x1b[0<",
    b"]": b"\x1b]999;",
    b"P": b"\x1bP999",
    b"_": b"\x1b_",
    b" ": b"\x1b ",
}
"""The bytes that put a viewer inside a sequence whose start is lost, so that it swallows the
rest."""
_OTHER_KEYS = re.compile(rb">4;[0-3]")
_REGION = re.compile(rb"(?:\d{1,5}(?:;\d{0,5})?)?")


@dataclass(frozen=True, slots=True)
class Cut:
    """A place where a replay may begin, and the terminal's state there."""

    offset: int
    modes: Modes
    reopened: bytes = b""

    def preamble(self) -> bytes:
        """Return bytes that bring a terminal in any state to this one."""
        return vtmodes.preamble(self.modes) + self.reopened


class Scanner:
    """The state of one output stream. `end` counts the bytes fed."""

    __slots__ = ("_half", "_held", "_partial", "_pen_from", "_skipping", "end", "modes")

    def __init__(self) -> None:
        self.modes = Modes()
        self.end = 0
        self._held = b""
        self._half = b""
        """The first half of what may become a control character from U+0080 to U+009F."""
        self._partial = b""
        self._skipping = b""
        self._pen_from = 0

    @property
    def settled(self) -> int:
        """The last offset where a cut splits no sequence and no character. In a sequence longer
        than `MAX_SEQUENCE` this is `end`, and the cut's preamble opens the sequence again."""
        return self.end - len(self._held) - len(self._partial) - len(self._half)

    @property
    def unfinished(self) -> int:
        """The number of bytes at the end that belong to an unfinished escape sequence."""
        return len(self._held) + len(self._half) if self._held else 0

    def cut(self) -> "Cut":
        """Return the place `settled` and the state there."""
        return Cut(self.settled, self.modes, _REOPEN[self._skipping])

    def feed(self, data: bytes) -> tuple[Query, ...]:
        """Read the next bytes; return the questions completed by them, oldest first."""
        self.end += len(data)
        data = self._half + data
        self._half = b"\xc2" if data.endswith(b"\xc2") else b""
        data = seven_bit(data[: len(data) - len(self._half)])
        buffer = self._held + (self._skip(data) if self._skipping else data)
        if not buffer:
            return ()
        last = buffer.rfind(b"\x1b")
        opened = OPEN.fullmatch(buffer, last) if last >= 0 else None
        stop = len(buffer) if opened is None else last
        self._held = b""
        # Most output is plain text: a search for a byte is many times faster than one for a
        # sequence.
        queries = self._scan(buffer, stop) if last >= 0 or _shifts(buffer) else ()
        if opened is None:
            self._partial = partial_character(self._partial + buffer[-4:])
        else:
            self._partial = b""
            self._hold(buffer[last:], opened)
        return queries

    def _skip(self, data: bytes) -> bytes:
        """Drop the rest of an over-long sequence; return what follows it."""
        found = _CLOSE[self._skipping].search(data)
        if found is None:
            return b""
        self._skipping = b""
        # ESC begins the next sequence, and another character is drawn: neither belongs to this one.
        return data[found.start() if found[0] == b"\x1b" or found[0] >= b"\x80" else found.end() :]

    def _hold(self, tail: bytes, opened: re.Match[bytes]) -> None:
        """Keep an unfinished sequence, or only its kind when it is over-long."""
        if len(tail) <= MAX_SEQUENCE:
            self._held = tail
        else:
            control, command, device, _, string, _ = opened.groups()
            self._skipping = control or command or device or (b"_" if string else b" ")

    def _scan(self, buffer: bytes, stop: int) -> tuple[Query, ...]:
        """Apply what begins before `stop`, in order; the pen is updated where it is needed."""
        begin = self.end - len(self._half) - len(buffer)
        queries: list[Query] = []
        self._pen_from = 0
        for at in _events(buffer, stop):
            said, end = sequence(buffer, at) if buffer[at] == 0x1B else (None, at)
            if end - at > MAX_SEQUENCE:
                continue
            text = _question(said)
            if text:
                queries.append(Query(begin + at, begin + end, *text))
            else:
                self._apply(buffer, at, said)
        self._draw(buffer, stop)
        return tuple(queries)

    def _apply(self, buffer: bytes, at: int, said: Function | String | None) -> None:
        """Apply one sequence, or SO or SI, to the settings."""
        match said:
            case Function(b"["):
                self._control(buffer, at, said)
            case Function():
                self._escape(buffer, at, said)
            case String(b"]", body):
                self._command(body)
            case None if buffer[at] != 0x1B:
                self.modes = replace(self.modes, shifted=buffer[at] == 0x0E)
            case _:
                pass

    def _draw(self, buffer: bytes, until: int) -> None:
        """Apply the SGR sequences between the last place and `until`. Whatever precedes a
        plain reset cannot matter, so a coloured flood costs two searches."""
        begin, self._pen_from = self._pen_from, until
        reset = max(buffer.rfind(b"\x1b[m", begin, until), buffer.rfind(b"\x1b[0m", begin, until))
        pen = self.modes.pen
        for match in _SGR.finditer(buffer, max(begin, reset), until):
            pen = sgr.apply(pen, _STRAY.sub(b"", match[1]))
        if pen != self.modes.pen:
            self.modes = replace(self.modes, pen=pen)

    def _control(self, buffer: bytes, at: int, said: Function) -> None:
        """Read a CSI sequence that is neither SGR nor a query."""
        match said:
            case Function(_, _, b"!", b"p"):
                self._draw(buffer, at)
                self.modes = vtmodes.soft_reset(self.modes)
            case Function(_, params, b" ", b"q") if len(params) <= 2 and params.isdigit():
                self.modes = replace(self.modes, cursor_shape=params)
            case Function(_, params, b"", final):
                self._set(buffer, at, params, final)
            case _:
                pass

    def _set(self, buffer: bytes, at: int, params: bytes, final: bytes) -> None:
        """Apply a CSI sequence without intermediates that changes a setting."""
        match final:
            case b"h" | b"l":
                self._switch(buffer, at, params, on=final == b"h")
            case b"r" if _REGION.fullmatch(params):
                self.modes = replace(self.modes, region=params)
            case b"m" if params.startswith(b">4"):
                value = params[1:] if _OTHER_KEYS.fullmatch(params) else b""
                self.modes = replace(self.modes, other_keys=value)
            case b"u" if params[:1] in (b"<", b">", b"="):
                numbers = _numbers(params[1:])
                self.modes = vtmodes.keyboard(self.modes, params[:1].decode(), numbers)

    def _switch(self, buffer: bytes, at: int, params: bytes, *, on: bool) -> None:
        """Set or reset modes."""
        self._draw(buffer, at)
        private = params.startswith(b"?")
        setter = vtmodes.set_private if private else vtmodes.set_ansi
        for number in _numbers(params.removeprefix(b"?")):
            self.modes = setter(self.modes, number, on)

    def _command(self, body: bytes) -> None:
        """Read an OSC string; only titles matter."""
        number, _, text = body.partition(b";")
        if number.isdigit() and number.lstrip(b"0") in (b"", b"2"):
            self.modes = replace(self.modes, title=vtmodes.clean_title(text))

    def _escape(self, buffer: bytes, at: int, said: Function) -> None:
        """Read a two- or three-byte escape."""
        self._draw(buffer, at)
        modes = self.modes
        match said.middle, said.final:
            case b"", b"7":
                modes = vtmodes.save_cursor(modes)
            case b"", b"8":
                modes = vtmodes.restore_cursor(modes)
            case b"", b"c":
                modes = Modes(title=modes.title)
            case b"", b"=" | b">":
                modes = replace(modes, keypad=said.final == b"=")
            case b"(" | b")" | b"*" | b"+", charset:
                modes = vtmodes.designate(modes, said.middle.decode(), charset.decode())
            case _:
                pass
        self.modes = modes


def _events(buffer: bytes, stop: int) -> list[int]:
    """Yield where something that matters besides the pen begins, up to `stop`."""
    found = [match.start() for match in _EVENT.finditer(buffer, 0, stop)]
    if _shifts(buffer):
        found += [match.start() for match in _SHIFT.finditer(buffer, 0, stop) if match[1]]
        found.sort()
    return found


def _shifts(buffer: bytes) -> bool:
    """Report whether SO or SI may be in some bytes."""
    return b"\x0e" in buffer or b"\x0f" in buffer


def _question(said: Function | String | None) -> tuple[bytes, bytes] | None:
    """Return the kind and the text of a question."""
    match said:
        case Function(b"[", parameters, middle, final):
            text = parameters + middle + final
            return (b"[", text) if CSI_QUERY.fullmatch(text) else None
        case String(b"]", body):
            return (b"]", body) if OSC_QUERY.fullmatch(body) else None
        case String(b"P", body):
            return (b"P", body) if DCS_QUERY.match(body) else None
        case _:
            return None


def _numbers(params: bytes) -> tuple[int, ...]:
    """Return up to 32 numbers separated by `;`; empty or absurd ones are 0."""
    fields = params.split(b";", 32)[:32]
    return tuple(int(f) if f.isdigit() and len(f) < 7 else 0 for f in fields)
