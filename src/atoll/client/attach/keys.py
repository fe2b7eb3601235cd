"""The keys of an attach session: those that detach, and the one that requests control. Pure.

They are found in what a person types, never in what they paste. The control key is one key, known
when it comes alone; so pasted text never holds it.

Programs may switch the keyboard to other encodings (kitty's `CSI 92;5u`, xterm's
modifyOtherKeys `CSI 27;5;92~`), so each key is known in all of them.
"""

import re
from dataclasses import dataclass

from atoll.domain.errors import Invalid

DETACH_KEYS = "ctrl-\\"
CONTROL_KEY = "ctrl-]"
MAX_KEYS = 4

_PASTE_START = b"\x1b[200~"
_PASTE_END = b"\x1b[201~"
_CONTROL = {chr(code + 64).lower(): code for code in range(1, 32)}


@dataclass(frozen=True, slots=True)
class TypedKeys:
    """Result of typed keys: `forward` goes to the terminal; `detach` means the keys were pressed
    after it."""

    forward: bytes
    detach: bool


class DetachKeys:
    """Matcher of one sequence of keys. Bytes of a sequence begun but not finished are held back
    until the next key decides."""

    def __init__(self, spelled: str = DETACH_KEYS) -> None:
        """Read `ctrl-\\`, `ctrl-p,ctrl-q`, `ctrl-a,d` or `none`. Raises `Invalid`."""
        self.spelled = spelled
        self._keys = () if spelled == "none" else tuple(key_pattern(k) for k in spelled.split(","))
        if len(self._keys) > MAX_KEYS:
            raise Invalid(f"detach keys {spelled!r}: at most {MAX_KEYS} keys", field="detach-keys")
        first = b"|".join(filter(None, [re.escape(_PASTE_START), *self._first_key_pattern()]))
        self._begins = re.compile(first, re.DOTALL)
        self._held: list[bytes] = []
        self._pasting = False

    def _first_key_pattern(self) -> list[bytes]:
        return [self._keys[0].pattern] if self._keys else []

    def feed(self, data: bytes) -> TypedKeys:
        """Take what was typed."""
        out: list[bytes] = []
        position = 0
        while position < len(data):
            if self._pasting:
                position = self._paste(data, position, out)
            elif self._held:
                position = self._continue(data, position, out)
            else:
                position = self._begin(data, position, out)
            if self._keys and len(self._held) == len(self._keys):
                self._held.clear()
                return TypedKeys(b"".join(out), detach=True)
        return TypedKeys(b"".join(out), detach=False)

    def _begin(self, data: bytes, position: int, out: list[bytes]) -> int:
        match = self._begins.search(data, position)
        if match is None:
            out.append(data[position:])
            return len(data)
        out.append(data[position : match.start()])
        if match.group() == _PASTE_START:
            self._pasting = True
            out.append(_PASTE_START)
        else:
            self._held.append(match.group())
        return match.end()

    def _continue(self, data: bytes, position: int, out: list[bytes]) -> int:
        match = self._keys[len(self._held)].match(data, position)
        if match is None:
            out.extend(self._held)
            self._held.clear()
            return position
        self._held.append(match.group())
        return match.end()

    def _paste(self, data: bytes, position: int, out: list[bytes]) -> int:
        end = data.find(_PASTE_END, position)
        stop = len(data) if end < 0 else end + len(_PASTE_END)
        self._pasting = end < 0
        out.append(data[position:stop])
        return stop


def key_pattern(spelled: str) -> re.Pattern[bytes]:
    """Return a pattern of a key in every encoding a keyboard may use. Raises `Invalid`."""
    name = spelled.strip().lower()
    control = name.startswith(("ctrl-", "^")) and name != "^"
    letter = name.removeprefix("ctrl-").removeprefix("^") if control else spelled.strip()
    if len(letter) != 1 or not "!" <= letter <= "~" or (control and letter not in _CONTROL):
        raise Invalid(
            f"{spelled!r} is not a key: write ctrl-\\, ctrl-p,ctrl-q or none",
            field="detach-keys",
        )
    if not control:
        return re.compile(re.escape(letter.encode()))
    byte = re.escape(bytes([_CONTROL[letter]]))
    code = str(ord(letter)).encode()
    kitty = rb"\x1b\[" + code + rb"(?::[0-9:]*)?;5(?::1)?u"
    xterm = rb"\x1b\[27;5;" + code + rb"~"
    return re.compile(byte + b"|" + kitty + b"|" + xterm, re.DOTALL)


class ControlKey:
    """Key that requests or releases control. `spelled` is `ctrl-]`, another key, or `none`."""

    def __init__(self, spelled: str = CONTROL_KEY) -> None:
        """Read a key. Raises `Invalid` for an unknown key."""
        self.spelled = spelled
        self._pattern = None if spelled == "none" else key_pattern(spelled)

    def matches(self, typed: bytes) -> bool:
        """Return whether the typed bytes are this key and nothing else."""
        return self._pattern is not None and self._pattern.fullmatch(typed) is not None
