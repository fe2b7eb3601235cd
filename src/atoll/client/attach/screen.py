"""Changes a program made to the terminal it runs in, so that leaving can undo them.

Follows the modes in the bytes that pass (DEC private modes, the kitty keyboard stack,
xterm's modifyOtherKeys, cursor shape) and knows whether they end inside a sequence or a
character. Not an emulator: it neither draws nor changes a byte.

Sources: xterm's ctlseqs, ECMA-48, the kitty keyboard protocol.
"""

import re

_RELEVANT = re.compile(
    rb"\x1b(?:"  # one prefix, which the search finds without a step for each byte
    rb"\[\?([0-9;]*)([hl])"  # DEC private modes
    rb"|\[([<>=])([0-9;]*)u"  # kitty keyboard: pop, push, set
    rb"|(\[>4(?:;[0-9]*)?m)"  # modifyOtherKeys
    rb"|(\[[0-9]* q)"  # cursor shape
    rb"|(c|\[!p)"  # hard and soft reset
    rb")"
)
_MARKS = (b"\x1b[?", b"\x1b[<", b"\x1b[=", b"\x1b[>", b" q", b"\x1bc", b"\x1b[!p")
"""Parts of them, one of which is in each."""
_SEQUENCE = re.compile(rb"\x1b(?:[ -/]*|\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?)\Z")
_CHARACTER = re.compile(rb"(?:[\xc2-\xdf]|[\xe0-\xef][\x80-\xbf]?|[\xf0-\xf4][\x80-\xbf]{0,2})\Z")
_ON_AT_FIRST = frozenset({7, 25})
_ALTERNATE = frozenset({47, 1047, 1049})
_MAX_MODES = 64
_MAX_DEPTH = 32
_MAX_TAIL_BYTES = 4096

CLEAR = b"\x1b[H\x1b[2J"
"""Moves what is on the screen into the scrollback of most terminals and starts at the top."""


class ScreenModes:
    """The modes of one terminal since `feed` first saw it."""

    def __init__(self) -> None:
        self._modes: dict[int, bool] = {}
        self._kitty = {False: 0, True: 0}
        self._kitty_set = False
        self._other_keys = False
        self._shape = False
        self._tail = b""

    @property
    def at_rest(self) -> bool:
        """True when the bytes so far end between sequences and characters: only then may something
        of our own be written."""
        return not self._tail

    @property
    def alternate(self) -> bool:
        """True when the alternate screen is shown."""
        return any(self._modes.get(mode, False) for mode in _ALTERNATE)

    def feed(self, data: bytes) -> None:
        """Take the next bytes of output."""
        data = self._tail + data
        self._tail = b""
        end = _whole_length(data)
        # Most output has none of them, and six searches cost less than a look at every colour.
        if any(mark in data for mark in _MARKS):
            for match in _RELEVANT.finditer(data, 0, end):
                self._apply(match)
        self._tail = data[end:]
        if len(self._tail) > _MAX_TAIL_BYTES:
            # A long string (an image, say): its introducer is all that still matters.
            self._tail = self._tail[:2]

    def _apply(self, match: re.Match[bytes]) -> None:
        modes, verb, kitty, number, other, shape, reset = match.groups()
        if modes is not None:
            self._switch(modes, on=verb == b"h")
        elif kitty is not None:
            self._stack(kitty, number)
        elif other is not None:
            self._other_keys = True
        elif shape is not None:
            self._shape = True
        elif reset == b"c":
            self.__init__()  # type: ignore[misc] # a hard reset is a new terminal

    def _switch(self, modes: bytes, *, on: bool) -> None:
        for part in modes.split(b";"):
            if part.isdigit() and len(part) < 6:
                mode = int(part)
                if mode in self._modes or len(self._modes) < _MAX_MODES:
                    self._modes[mode] = on

    def _stack(self, verb: bytes, number: bytes) -> None:
        side = self.alternate
        if verb == b">":
            self._kitty[side] = min(_MAX_DEPTH, self._kitty[side] + 1)
        elif verb == b"<":
            count = int(number) if number.isdigit() and len(number) < 4 else 1
            self._kitty[side] = max(0, self._kitty[side] - count)
        else:
            self._kitty_set = True

    def restore(self) -> bytes:
        """Return the bytes that restore what a shell expects: own screen, visible cursor, no mouse,
        no paste marks, plain keys, plain text, whole scroll region."""
        out = [b"\x18"] if self._tail else []  # CAN ends a sequence that was cut off
        out.append(self._unstack(alternate=True) if self.alternate else b"")
        for mode, on in self._modes.items():
            if on != (mode in _ON_AT_FIRST):
                out.append(b"\x1b[?%d%c" % (mode, b"l"[0] if on else b"h"[0]))
        out.append(self._unstack(alternate=False))
        if self._kitty_set:
            out.append(b"\x1b[=0u")
        if self._other_keys:
            out.append(b"\x1b[>4m")
        if self._shape:
            out.append(b"\x1b[0 q")
        out.append(b"\x1b[?25h\x1b[?7h\x1b>\x1b(B\x0f\x1b[0m\x1b7\x1b[r\x1b8")
        return b"".join(out)

    def _unstack(self, *, alternate: bool) -> bytes:
        depth = self._kitty[alternate]
        return b"\x1b[<%du" % depth if depth else b""


def _whole_length(data: bytes) -> int:
    """Return where the sequence or character begins that `data` ends inside; its length if none."""
    last = data.rfind(b"\x1b")
    # An ESC at the very end may be half of the terminator of a string begun before it.
    before = data.rfind(b"\x1b", 0, last) if 0 <= last == len(data) - 1 else -1
    for start in (before, last):
        if start >= 0 and _SEQUENCE.match(data, start):
            return start
    match = _CHARACTER.search(data, max(0, len(data) - 3))
    return match.start() if match else len(data)
