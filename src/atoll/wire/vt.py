"""A streaming scanner of terminal output: where it may be cut, and what it has set.

It never emulates a screen. Fed bytes in any split, it always knows the modes so far, the
last offset at which nothing is half said (`settled`), and the questions the program asked.
ESC starts a sequence anew wherever it stands (as in xterm.js and the VT500 parser of
vt100.net), so only what follows the last ESC can be unfinished; that makes it fast.
"""

import re
from dataclasses import dataclass, replace

from atoll.wire import sgr, vtmodes
from atoll.wire.vtmodes import Modes
from atoll.wire.vtparser import partial_character
from atoll.wire.vtquery import CSI_QUERY, DCS_QUERY, OSC_QUERY, Query

MAX_SEQUENCE = 4096
"""Longer sequences are skipped unread, whatever they say."""

_BODY = MAX_SEQUENCE - 16
_C0 = rb"\x00-\x17\x19\x1c-\x1f\x7f"
_NOT_FINAL = rb"[^@-~\x18\x1a\x1b\x80-\xff]*+"

_CSI = re.compile(rb"\x1b\[([%s0-?]{0,%d})([%s -/]{0,8})([@-~])" % (_C0, _BODY, _C0))
_SGR = re.compile(rb"\x1b\[([%s0-;]{0,%d})m" % (_C0, _BODY))
_OSC = re.compile(rb"\x1b\]([^\x07\x18\x1a\x1b]{0,%d})(?:\x07|(?=\x1b))" % _BODY)
_DCS = re.compile(rb"\x1bP([^\x18\x1a\x1b]{0,%d})(?=\x1b)" % _BODY)
_EVENT = re.compile(
    rb"\x1b(?:\[(?:%s[hlrcnpqtux]|[>?]%sm)|[\]P78c=>]|[()*+][0-~])" % (_NOT_FINAL, _NOT_FINAL)
)
_SHIFT = re.compile(
    rb"\x1b\][^\x07\x18\x1a\x1b]*+|\x1b[PX^_][^\x18\x1a\x1b]*+|\x1b\[%s"
    rb"|\x1b[%s -/]*+|([\x0e\x0f])" % (_NOT_FINAL, _C0)
)
_OPEN = re.compile(
    rb"\x1b(?:([%s -/]*)|(\[)[^@-~\x18\x1a\x80-\xff]*|(\])[^\x07\x18\x1a]*|([PX^_])[^\x18\x1a]*)\Z"
    % _C0,
)
_STRAY = re.compile(rb"[%s]" % _C0)
_CLOSE = {
    b"[": re.compile(rb"[@-~\x80-\xff\x18\x1a\x1b]"),
    b"]": re.compile(rb"[\x07\x18\x1a\x1b]"),
    b"P": re.compile(rb"[\x18\x1a\x1b]"),
    b" ": re.compile(rb"[0-~\x80-\xff\x18\x1a\x1b]"),
}
_REOPEN = {b"": b"", b"[": b"\x1b[0<", b"]": b"\x1b]999;", b"P": b"\x1bP999", b" ": b"\x1b "}
"""How a viewer is put inside a sequence whose start is gone, so that it swallows the rest."""
_OTHER_KEYS = re.compile(rb">4;[0-3]")
_REGION = re.compile(rb"(?:\d{1,5}(?:;\d{0,5})?)?")


@dataclass(frozen=True, slots=True)
class Cut:
    """A place where a replay may begin, and the state a terminal must be in there."""

    offset: int
    modes: Modes
    reopened: bytes = b""

    def preamble(self) -> bytes:
        """Bytes that bring any terminal, in whatever state, to this one."""
        return vtmodes.preamble(self.modes) + self.reopened


class Scanner:
    """State of one output stream. `end` counts the bytes fed."""

    __slots__ = ("_held", "_partial", "_pen_from", "_skipping", "end", "modes")

    def __init__(self) -> None:
        self.modes = Modes()
        self.end = 0
        self._held = b""
        self._partial = b""
        self._skipping = b""
        self._pen_from = 0

    @property
    def settled(self) -> int:
        """The last offset where a cut splits no sequence and no character. In a sequence longer
        than `MAX_SEQUENCE` this is `end`, and the cut's preamble opens the sequence again."""
        return self.end - len(self._held) - len(self._partial)

    @property
    def unfinished(self) -> int:
        """How many bytes at the end belong to an unfinished escape sequence."""
        return len(self._held)

    def cut(self) -> "Cut":
        """The place `settled` and the state there."""
        return Cut(self.settled, self.modes, _REOPEN[self._skipping])

    def feed(self, data: bytes) -> tuple[Query, ...]:
        """Take the next bytes; returns the questions completed by them, oldest first."""
        self.end += len(data)
        buffer = self._held + (self._skip(data) if self._skipping else data)
        if not buffer:
            return ()
        last = buffer.rfind(b"\x1b")
        opened = _OPEN.match(buffer, last) if last >= 0 else None
        stop = len(buffer) if opened is None else last
        self._held = b""
        # Most output is plain text: a byte is looked for many times faster than a sequence.
        queries = self._scan(buffer, stop) if last >= 0 or _shifts(buffer) else ()
        if opened is None:
            self._partial = partial_character(self._partial + buffer[-4:])
        else:
            self._partial = b""
            self._hold(buffer[last:], opened)
        return queries

    def _skip(self, data: bytes) -> bytes:
        """Drop the rest of an over-long sequence; what follows it is returned."""
        found = _CLOSE[self._skipping].search(data)
        if found is None:
            return b""
        self._skipping = b""
        # ESC begins the next sequence; every other terminator belongs to this one.
        return data[found.start() if found[0] == b"\x1b" else found.end() :]

    def _hold(self, tail: bytes, opened: re.Match[bytes]) -> None:
        """Keep an unfinished sequence, or only its kind when it is over-long."""
        if len(tail) <= MAX_SEQUENCE:
            self._held = tail
        elif opened[1]:
            self._skipping = b" "
        else:
            self._skipping = opened[2] or opened[3] or b"P"

    def _scan(self, buffer: bytes, stop: int) -> tuple[Query, ...]:
        """Apply what begins before `stop`, in order; the pen catches up where it is needed."""
        begin = self.end - len(buffer)
        queries: list[Query] = []
        self._pen_from = 0
        for at in _events(buffer, stop):
            match buffer[at : at + 2]:
                case b"\x1b[":
                    query = self._control(buffer, at, begin)
                case b"\x1b]":
                    query = self._command(buffer, at, begin)
                case b"\x1bP":
                    query = self._device(buffer, at, begin)
                case other:
                    query = None
                    self._escape(buffer, at, other)
            if query is not None:
                queries.append(query)
        self._draw(buffer, stop)
        return tuple(queries)

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

    def _control(self, buffer: bytes, at: int, begin: int) -> Query | None:
        """One CSI sequence that is not SGR."""
        found = _CSI.match(buffer, at)
        if found is None:
            return None
        params, middle = _STRAY.sub(b"", found[1]), _STRAY.sub(b"", found[2])
        if CSI_QUERY.fullmatch(params + middle + found[3]):
            return _query(found, begin)
        if middle == b"!" and found[3] == b"p":
            self._draw(buffer, at)
            self.modes = vtmodes.soft_reset(self.modes)
        elif middle == b" " and found[3] == b"q" and len(params) <= 2 and params.isdigit():
            self.modes = replace(self.modes, cursor_shape=params)
        elif not middle:
            self._set(buffer, at, params, found[3])
        return None

    def _set(self, buffer: bytes, at: int, params: bytes, final: bytes) -> None:
        """A CSI sequence without intermediates that changes a setting."""
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

    def _command(self, buffer: bytes, at: int, begin: int) -> Query | None:
        """One OSC string: a title or a question."""
        found = _OSC.match(buffer, at)
        if found is None:
            return None
        if OSC_QUERY.fullmatch(found[1]):
            return _query(found, begin)
        number, _, text = found[1].partition(b";")
        if number in (b"0", b"2"):
            self.modes = replace(self.modes, title=vtmodes.clean_title(text))
        return None

    @staticmethod
    def _device(buffer: bytes, at: int, begin: int) -> Query | None:
        """One DCS string: only questions matter."""
        found = _DCS.match(buffer, at)
        if found is None or not DCS_QUERY.match(found[1]):
            return None
        return _query(found, begin)

    def _escape(self, buffer: bytes, at: int, start: bytes) -> None:
        """A two- or three-byte escape, or SO and SI."""
        self._draw(buffer, at)
        modes = self.modes
        match start:
            case b"\x1b7":
                modes = vtmodes.save_cursor(modes)
            case b"\x1b8":
                modes = vtmodes.restore_cursor(modes)
            case b"\x1bc":
                modes = Modes(title=modes.title)
            case b"\x1b=" | b"\x1b>":
                modes = replace(modes, keypad=start == b"\x1b=")
            case designation if designation[:1] == b"\x1b":
                slot, charset = designation[1:].decode(), chr(buffer[at + 2])
                modes = vtmodes.designate(modes, slot, charset)
            case shift:
                modes = replace(modes, shifted=shift[:1] == b"\x0e")
        self.modes = modes


def _events(buffer: bytes, stop: int) -> list[int]:
    """Where something that matters besides the pen begins, up to `stop`."""
    found = [match.start() for match in _EVENT.finditer(buffer, 0, stop)]
    if _shifts(buffer):
        found += [match.start() for match in _SHIFT.finditer(buffer, 0, stop) if match[1]]
        found.sort()
    return found


def _shifts(buffer: bytes) -> bool:
    """Whether SO or SI may be in it."""
    return b"\x0e" in buffer or b"\x0f" in buffer


def _query(found: re.Match[bytes], begin: int) -> Query:
    """The question a match is, at absolute offsets."""
    text = _STRAY.sub(b"", found[0][2:])
    return Query(begin + found.start(), begin + found.end(), found[0][1:2], text)


def _numbers(params: bytes) -> tuple[int, ...]:
    """Up to 32 numbers separated by `;`; empty or absurd ones are 0."""
    fields = params.split(b";", 32)[:32]
    return tuple(int(f) if f.isdigit() and len(f) < 7 else 0 for f in fields)
