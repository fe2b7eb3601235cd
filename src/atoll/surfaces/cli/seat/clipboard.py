"""Keeps what runs in a sandbox from writing to, or reading, the person's clipboard (OSC 52).

A pure filter over the bytes on their way to the screen; everything else passes unchanged,
however the bytes were cut. Source: xterm's ctlseqs, Operating System Commands.
"""

import re

_WHOLE = re.compile(rb"\x1b\]52;[^\x07\x1b]*(?:\x07|\x1b\\)")
_BEGUN = re.compile(rb"\x1b(?:\](?:5(?:2(?:;[^\x07\x1b]*\x1b?)?)?)?)?\Z")
_END = re.compile(rb"\x07|\x1b\\")
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
                self._held = b"\x1b" if data.endswith(b"\x1b") else b""
                return b""
            self._dropping = False
            data = data[end.end() :]
        shown = _WHOLE.sub(b"", data)
        begun = _BEGUN.search(shown, max(0, shown.rfind(b"\x1b]")))
        if begun is None:
            return shown
        self._held = shown[begun.start() :]
        if len(self._held) > _MAX_HELD_BYTES:
            self._held, self._dropping = (
                self._held[-1:] if self._held.endswith(b"\x1b") else b"",
                True,
            )
        return shown[: begun.start()]
