"""Lenient reading of JSON that an agent wrote: an unexpected value counts as absent.

Translators are total: no message of an agent may break the sandbox that watches it. `remember`
bounds what they keep of one.
"""

from collections.abc import Mapping
from typing import TypeAlias, TypeVar

from atoll.domain.agents.card import Value

Message: TypeAlias = Mapping[str, Value]
"""A JSON object that an agent wrote."""

T = TypeVar("T")

MAX_REMEMBERED = 256
"""The bound, far above what an honest agent has open at a time."""


def read_text(message: Message, *names: str) -> str:
    """Return the first of these fields that is a text, else an empty one."""
    for name in names:
        value = message.get(name)
        if isinstance(value, str):
            return value
    return ""


def read_int(message: Message, *names: str) -> int | None:
    """Return the first of these fields that is a whole number."""
    for name in names:
        value = message.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None


def read_object(message: Message, *names: str) -> Message:
    """Return the first of these fields that is an object, else an empty one."""
    for name in names:
        value = message.get(name)
        if isinstance(value, dict):
            return value
    return {}


def read_objects(message: Message, *names: str) -> list[Message]:
    """Return the objects of the first of these fields that is a list."""
    for name in names:
        value = message.get(name)
        if isinstance(value, list):
            return [item for item in value if isinstance(item, dict)]
    return []


def name_of(message: Message, *names: str) -> str:
    """Return the first of these fields that can be a name: a text or a whole number."""
    for name in names:
        value = message.get(name)
        if isinstance(value, str | int) and not isinstance(value, bool):
            return str(value)
    return ""


def short(words: str, most: int = 120) -> str:
    """Return the first line, cut."""
    line = words.strip().partition("\n")[0]
    return line if len(line) <= most else line[: most - 1] + "…"


def replacement_diff(old: str, new: str) -> str:
    """Return a replacement as the lines of a diff: removed lines, then added ones."""
    gone = [f"-{line}" for line in old.splitlines()]
    return "\n".join((*gone, *(f"+{line}" for line in new.splitlines())))


def remember(known: dict[str, T], name: str, what: T) -> None:
    """Keep `what` under its name; beyond `MAX_REMEMBERED` drop the oldest."""
    known[name] = what
    while len(known) > MAX_REMEMBERED:
        del known[next(iter(known))]
