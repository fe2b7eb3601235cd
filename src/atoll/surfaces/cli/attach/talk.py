"""The line that a person at `atoll attach` says to the others at the terminal. Pure.

It is typed after a key of its own, and the program sees none of it.
"""

import codecs

from atoll.client.attach.keys import key_pattern
from atoll.wire.attach import Say, encode

TALK_KEY = "ctrl-_"
MAX_LINE = 500
_SHOWN = 40
_PASTE_MARKS = (b"\x1b[200~", b"\x1b[201~")
_GIVES_UP = frozenset({b"\x1b", b"\x03"})


class TalkEntry:
    """Entry of one line: opened by its key, sent by Enter, given up by Esc or Ctrl-C."""

    def __init__(self, spelled: str = TALK_KEY) -> None:
        """Read the key; `none` has no key. Raises `Invalid`."""
        self._pattern = None if spelled == "none" else key_pattern(spelled)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._line: str | None = None

    @property
    def open(self) -> bool:
        """True while a line is being typed."""
        return self._line is not None

    @property
    def shown(self) -> str:
        """The end of the line as it is shown while it is typed."""
        return f"say: {(self._line or '')[-_SHOWN:]:<{_SHOWN}}"

    def open_on(self, typed: bytes) -> bool:
        """Open the entry if that was its key and nothing else."""
        if self.open or self._pattern is None or self._pattern.fullmatch(typed) is None:
            return False
        self._decoder.reset()
        self._line = ""
        return True

    def feed(self, typed: bytes) -> str | None:
        """Take typed keys. Returns the frame to send once the line is complete."""
        if typed in _GIVES_UP:
            self._line = None
            return None
        pasted = typed.startswith(_PASTE_MARKS[0])
        for mark in _PASTE_MARKS:
            typed = typed.replace(mark, b"")
        if typed.startswith(b"\x1b"):
            return None
        for char in self._decoder.decode(typed):
            if char in "\r\n" and not pasted:
                return self._finish()
            self._put(" " if char.isspace() else char)
        return None

    def _put(self, char: str) -> None:
        line = self._line or ""
        if char in "\x7f\b":
            self._line = line[:-1]
        elif char.isprintable():
            self._line = (line + char)[:MAX_LINE]

    def _finish(self) -> str | None:
        line, self._line = (self._line or "").strip(), None
        return encode(Say(line)) if line else None
