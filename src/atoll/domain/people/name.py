"""Names that people give themselves, and others read beside a terminal.

Pure. A guest may not seem to be the person who invites: not by blank letters, not by letters of
another alphabet that look the same.
"""

import unicodedata
from collections.abc import Iterable

from atoll.domain.errors import Invalid
from atoll.domain.unseen import is_unseen
from atoll.wire.words.people import MAX_NAME

MAX_MARKS = 2
"""The marks on one letter, at most: more of them cover the lines above and below."""

_MAX_GROWTH = 4
"""The characters that one of NFC can be composed of, at most."""

_LATIN = str.maketrans(
    "АВЕКМНОРСТУХІЈЅаеорсухіјѕԁһԛԝкмтΑΒΕΖΗΙΚΜΝΟΡΤΥΧανορικυ",
    "ABEKMHOPCTYXIJSaeopcyxijsdhqwkmtABEZHIKMNOPTYXavopiku",
)
"""Cyrillic and Greek letters that look like Latin ones (Unicode TR 39, the usual letters)."""
_ALIKE = str.maketrans("l10", "iio")
"""Letters and digits that look alike in many fonts, once they are small."""


def printable_name(name: str) -> str:
    """Return a name that may be shown, without the blanks around it. Raises `Invalid`."""
    # Bounded first: marks in disorder take normalization the square of their number.
    shown = unicodedata.normalize("NFC", name.strip()[: MAX_NAME * _MAX_GROWTH + 1])
    seen = shown.isprintable() and not any(map(is_unseen, shown))
    if not 0 < len(shown) <= MAX_NAME or not seen or _is_stacked(shown):
        raise Invalid(f"a name has 1 to {MAX_NAME} printable characters", field="name")
    return shown


def own_name(name: str, host: str) -> str:
    """Return a guest's name that may be shown. Raises `Invalid` for one that cannot, and for one
    that reads like the name of the person who invites."""
    shown = printable_name(name)
    if _letters(shown) == _letters(host) != "":
        raise Invalid(f"{host} is the name of the person who invites you", field="name")
    return shown


def unlike_names(name: str, names: Iterable[str]) -> str:
    """Return a guest's name where it reads like none of the names of others. Raises `Invalid`."""
    own = _letters(name)
    if own and own in map(_letters, names):
        raise Invalid(f"{name} is the name of a person here: choose another", field="name")
    return name


def _is_stacked(name: str) -> bool:
    """Return whether a letter carries more marks than `MAX_MARKS`."""
    kinds = "".join("M" if unicodedata.category(char) in ("Mn", "Me") else "." for char in name)
    return "M" * (MAX_MARKS + 1) in kinds or kinds.startswith("M")


def _letters(name: str) -> str:
    """Return what is read of a name: its letters and digits, whatever their form, marks, case and
    alphabet."""
    plain = unicodedata.normalize("NFKD", name).translate(_LATIN).casefold().translate(_ALIKE)
    return "".join(filter(str.isalnum, plain))
