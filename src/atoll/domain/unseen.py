"""Invisible characters: they move a cursor, turn the reading direction, or are blank.

Text from inside a sandbox is shown with these spelled out, or replaced where the text has to stay
as short as it is.
"""

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""The classes of characters that are blank, and letters and marks that show nothing."""


def is_unseen(char: str) -> bool:
    """Report whether one character is invisible."""
    if " " <= char <= "~":
        return False
    from unicodedata import category  # loaded late: most text is plain

    return category(char) in _HIDDEN or char in _BLANK


def code_of(char: str) -> str:
    """Return a character spelled by its number: `\\x1b`, `\\u202e`, `\\U000e0041`."""
    number = ord(char)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def spell_unseen(text: str, *, keep: str = "") -> str:
    """Return text with every invisible character spelled by its number, but for those of `keep`."""
    return "".join(code_of(char) if char not in keep and is_unseen(char) else char for char in text)


def replace_unseen(text: str, most: int) -> str:
    """Return the first `most` characters, with `?` for each that is not printable, or blank."""
    shown = text[:most]
    return "".join(char if char.isprintable() and char not in _BLANK else "?" for char in shown)
