"""Drafts: text that a person has typed at an agent's prompt and not sent.

A guess from the keys alone, since no agent reports its input line. Pure; it reads keys as terminals
send them (ECMA-48, and CSI u of the kitty keyboard protocol). A recalled line of the agent's own
history is not seen.
"""

import re
from dataclasses import dataclass

MAX_COUNTED = 1 << 20
_LONGEST_UNFINISHED = 64

_KEY = re.compile(
    rb"(?P<pasted>\x1b\[200~)"
    rb"|(?P<pasted_end>\x1b\[201~)"
    rb"|\x1b\[(?P<code>[0-9]+)(?:;(?P<mods>[0-9]+)(?::[0-9]+)?)?(?:;[0-9:]*)?u"
    rb"|(?P<newline>\x1b[\r\n])"
    rb"|(?P<word>\x1b[\x7f\x08])"
    rb"|\x1b\[[0-?]*[ -/]*[@-~]"
    rb"|\x1bO[ -~]"
    rb"|(?P<escape>\x1b)"
    rb"|(?P<rune>[\x20-\x7e\xc2-\xf4\n\t][\x80-\xbf]*)"
    rb"|(?P<control>[\x00-\x1f\x7f])",
    re.DOTALL,
)
_UNFINISHED = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*|O)\Z")

_CTRL = 4
_SENT_OR_DROPPED = frozenset(b"\r\x03\x15")
"""The keys that empty the line: Enter sends it; Ctrl-C and Ctrl-U drop it."""
_BACKSPACES = frozenset(b"\x08\x7f")
_CTRL_W = 0x17
_ENTER_CODE, _BACKSPACE_CODE = 13, 127


@dataclass(slots=True)
class DraftLength:
    """The length of the draft in one agent's input line, in characters."""

    characters: int = 0
    _pasting: bool = False
    _escaped: bool = False
    _rest: bytes = b""

    def typed(self, keys: bytes) -> None:
        """Count the keys that a person typed."""
        keys = self._rest + keys
        unfinished = _UNFINISHED.search(keys)
        self._rest = b""
        if unfinished is not None and len(unfinished[0]) < _LONGEST_UNFINISHED:
            keys, self._rest = keys[: unfinished.start()], unfinished[0]
        for key in _KEY.finditer(keys):
            self._key(key)

    def _key(self, key: re.Match[bytes]) -> None:
        escaped, self._escaped = self._escaped, key.lastgroup == "escape"
        match key.lastgroup:
            case "pasted" | "pasted_end":
                self._pasting = key.lastgroup == "pasted"
            case "rune" | "newline":
                self._add()
            case "control":
                self._control(key[0][0])
            case "code" | "mods":
                self._handle_key_code(int(key["code"][:6]), int((key["mods"] or b"1")[:6]) - 1)
            case "word" | "escape":
                # Esc twice empties the line; once it only interrupts a turn.
                self.characters = 0 if escaped or key.lastgroup == "word" else self.characters
            case _:  # arrows and other keys that write nothing
                return

    def _handle_key_code(self, code: int, modifiers: int) -> None:
        """Apply a key that arrives as a key code with modifiers."""
        if modifiers & _CTRL:
            self._control(code & 0x1F)
        elif code == _ENTER_CODE and modifiers & 3:
            self._add()
        elif code in (_ENTER_CODE, _BACKSPACE_CODE):
            self._control(code)
        elif code >= 0x20:
            self._add()

    def _control(self, code: int) -> None:
        if self._pasting:
            self._add()
        elif code in _SENT_OR_DROPPED:
            self.characters = 0
        elif code in _BACKSPACES:
            self.characters = max(0, self.characters - 1)
        elif code == _CTRL_W:
            # The length of the word is not known. An empty line is the safer guess: a wrongly
            # assumed draft would refuse every prompt.
            self.characters = 0

    def _add(self) -> None:
        self.characters = min(MAX_COUNTED, self.characters + 1)
