"""Items of a dashboard's document: their kinds, fields and bounds. Pure.

The browsers of editors write items, so every field may hold anything. Known fields have the types
that the page expects; unknown fields and kinds are kept, since a newer page may know them.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from atoll.domain.errors import Invalid, LimitReached
from atoll.domain.event import Json

MAX_ITEMS: Final = 2000
MAX_TEXT_BYTES: Final = 64 * 1024
"""The most bytes of the texts of one item, and of its other fields."""

MAX_FIELDS: Final = 40
MAX_COORDINATE: Final = 1_000_000
MAX_TITLE: Final = 200

ITEM_ID: Final = re.compile(r"itm_[a-z0-9]{16}")
COLOURS: Final = frozenset({"yellow", "green", "blue", "pink", "grey"})

_KIND: Final = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MARKS: Final = frozenset({"bold", "italic", "code"})
_LINK: Final = re.compile(r"(?:https?://|mailto:)[^\s\x00-\x1f]{1,2000}")


@dataclass(frozen=True, slots=True)
class RichText:
    """A text with attributes: runs of characters, each with its own."""

    runs: tuple[tuple[str, Mapping[str, Json]], ...]

    @property
    def plain(self) -> str:
        """Return the text without attributes."""
        return "".join(text for text, _ in self.runs)


Value: TypeAlias = "Json | RichText"
"""The value of a field."""

Fields: TypeAlias = Mapping[str, "Value"]
"""The fields of one item."""


def check_item(item_id: str, fields: Fields) -> None:
    """Check one item as a document holds it. Raises `Invalid` for what no page writes, and
    `LimitReached` for what is too large."""
    if not ITEM_ID.fullmatch(item_id):
        raise Invalid("an item has an id that is none", field="items")
    if len(fields) > MAX_FIELDS:
        raise LimitReached(f"an item has more than {MAX_FIELDS} fields", code="too_many")
    for name in _REQUIRED:
        if name not in fields:
            raise Invalid(f"an item lacks `{name}`", field=name)
    for name, value in fields.items():
        _check_field(name, value)
    if sum(map(_size, fields.values())) > MAX_TEXT_BYTES:
        raise LimitReached(
            f"an item holds more than {MAX_TEXT_BYTES} bytes of text", code="too_large"
        )


def _check_field(name: str, value: Value) -> None:
    check = _CHECKS.get(name)
    if check is not None and not check(value):
        raise Invalid(f"`{name}` of an item is none that it can have", field=name)
    if isinstance(value, RichText):
        _check_runs(name, value)


def check_count(count: int) -> None:
    """Check the number of items of a document. Raises `LimitReached`."""
    if count > MAX_ITEMS:
        raise LimitReached(f"a dashboard has at most {MAX_ITEMS} items", code="too_many")


def _check_runs(name: str, text: RichText) -> None:
    for _, attributes in text.runs:
        for key, value in attributes.items():
            if key == "link" and not (isinstance(value, str) and _LINK.fullmatch(value)):
                raise Invalid("a link in a text is none of the web", field=name)
            if key in _MARKS and not isinstance(value, bool):
                raise Invalid(f"`{key}` of a text is yes or no", field=name)


def _size(value: Value) -> int:
    if isinstance(value, RichText):
        return len(value.plain.encode())
    if isinstance(value, str):
        return len(value.encode())
    if isinstance(value, list):
        return 8 + sum(map(_size, value))
    if isinstance(value, dict):
        return 8 + sum(len(name.encode()) + _size(one) for name, one in value.items())
    return 8


def _is_number(value: Value) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) and abs(value) <= MAX_COORDINATE


def _is_extent(value: Value) -> bool:
    return _is_number(value) and isinstance(value, int | float) and value > 0


def _is_flag(value: Value) -> bool:
    return isinstance(value, bool)


def _is_word(longest: int) -> "Callable[[Value], bool]":
    return lambda value: value is None or (isinstance(value, str) and len(value) <= longest)


def _is_text(value: Value) -> bool:
    return isinstance(value, RichText) or _is_word(MAX_TEXT_BYTES)(value)


def _is_kind(value: Value) -> bool:
    return isinstance(value, str) and _KIND.fullmatch(value) is not None


def _is_colour(value: Value) -> bool:
    return value is None or value in COLOURS


def _is_port(value: Value) -> bool:
    return _is_number(value) and isinstance(value, int | float) and 0 < value < 65536


def _is_date(value: Value) -> bool:
    return value is None or (isinstance(value, str) and _DATE.fullmatch(value) is not None)


def _is_url(value: Value) -> bool:
    return isinstance(value, str) and (value == "" or _is_web(value))


def _is_web(value: str) -> bool:
    return value.startswith(("http://", "https://")) and _LINK.fullmatch(value) is not None


def _is_task(value: Value) -> bool:
    if value is None:
        return True
    return isinstance(value, dict) and len(value) <= 8 and all(map(_is_word(300), value.values()))


_REQUIRED: Final = ("kind", "x", "y", "w", "h")
_CHECKS: Final[Mapping[str, "Callable[[Value], bool]"]] = {
    "kind": _is_kind,
    **dict.fromkeys(("x", "y", "z"), _is_number),
    **dict.fromkeys(("w", "h"), _is_extent),
    **dict.fromkeys(("locked", "done", "proposed_done", "follows"), _is_flag),
    **dict.fromkeys(
        ("agent", "frame", "group", "by", "at", "assignee", "sandbox_id", "terminal_id", "view"),
        _is_word(128),
    ),
    "title": _is_word(MAX_TITLE),
    "path": _is_word(4096),
    "text": _is_text,
    "colour": _is_colour,
    "due": _is_date,
    "port": _is_port,
    "task": _is_task,
    "url": _is_url,
}
