"""Characters that show nothing of themselves: they move a cursor, turn the reading direction, or
are blank where a letter could stand. Text from inside a sandbox is shown with these spelled."""

import unicodedata

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters and marks by their class, and nothing to see."""


def is_unseen(char: str) -> bool:
    """Whether one character is such."""
    return not (" " <= char <= "~") and (unicodedata.category(char) in _HIDDEN or char in _BLANK)


def code_of(char: str) -> str:
    """A character by its number: `\\x1b`, `\\u202e`, `\\U000e0041`."""
    number = ord(char)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
