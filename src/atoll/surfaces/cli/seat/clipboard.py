"""Keeps what runs in a sandbox from writing to, or reading, the person's clipboard (OSC 52).

A pure filter over the bytes on their way to the screen; everything else passes unchanged,
however the bytes were cut. Source: xterm's ctlseqs, Operating System Commands.
"""

import re

# Emulators read `052` as 52, and U+009D and U+009C as the one-character forms of ESC ] and ESC \.
_TEXT = rb"(?:[^\x07\x1b\xc2]|\xc2(?![\x9c\x9d]))*"
_WHOLE = re.compile(rb"(?:\x1b\]|\xc2\x9d)0*52;" + _TEXT + rb"(?:\x07|\x1b\\|\xc2\x9c)")
_BEGUN = re.compile(rb"(?:\x1b|\xc2|(?:\x1b\]|\xc2\x9d)0*(?:5(?:2(?:;" + _TEXT + rb"\x1b?)?)?)?)\Z")
_END = re.compile(rb"\x07|\x1b\\|\xc2\x9c")
_MAX_HELD_BYTES = 4096


class ClipboardGuard:
    """Holds back only the beginning of what may become an OSC 52."""

    def __init__(self) -> None:
        self._held = b""
        self._dropping = False

    def feed(self, data: bytes) -> bytes:
        """The bytes to show now."""
        data = self._held + data
        self._held = b""
        if self._dropping:
            end = _END.search(data)
            if end is None:
                # Half of a terminator may be all that has come of it.
                self._held = _half(data)
                return b""
            self._dropping = False
            data = data[end.end() :]
        shown = _WHOLE.sub(b"", data)
        last = max(0, shown.rfind(b"\x1b]"), shown.rfind(b"\xc2\x9d"))
        begun = _BEGUN.search(shown, last)
        if begun is None:
            return shown
        self._held = shown[begun.start() :]
        if len(self._held) > _MAX_HELD_BYTES:
            self._held, self._dropping = _half(self._held), True
        return shown[: begun.start()]


def _half(data: bytes) -> bytes:
    """The last byte, when it may be the first of a terminator."""
    return data[-1:] if data.endswith((b"\x1b", b"\xc2")) else b""
