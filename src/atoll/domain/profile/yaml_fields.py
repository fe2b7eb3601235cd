"""Typed fields taken out of a `yaml_tree.Node`, strictly.

A wrong value is reported in one sentence that says what was expected. An unused field is reported
as unknown.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TypeVar

from atoll.domain.duration import parse_duration
from atoll.domain.errors import Invalid
from atoll.domain.profile.yaml_tree import Node

_Choice = TypeVar("_Choice", bound=StrEnum)
_Item = TypeVar("_Item")

MAX_TEXT = 4000
MAX_ITEMS = 200
MAX_REFUSALS = 20


class Refusals:
    """All that is wrong with a file, to be said at once."""

    def __init__(self) -> None:
        self._found: list[Invalid] = []

    @contextmanager
    def collected(self) -> Iterator[None]:
        """Keep an error of the block, and go on."""
        try:
            yield
        except Invalid as error:
            self._found.append(error)

    def check(self) -> None:
        """Raise `Invalid` for all of them, with the field of the first."""
        if not self._found:
            return
        said = [each.message for each in self._found[:MAX_REFUSALS]]
        if len(self._found) > MAX_REFUSALS:
            said.append(f"There are {len(self._found) - MAX_REFUSALS} more.")
        raise Invalid(" ".join(said), field=self._found[0].field)


class Fields:
    """The fields of one mapping, taken one by one; `done` rejects the rest."""

    def __init__(self, node: Node) -> None:
        if not isinstance(node.value, dict):
            raise node.wrong("must be a mapping of fields")
        self._node = node
        self._left = dict(node.value)

    def take(self, name: str) -> Node | None:
        """Return the field's node, or None when absent. An explicit null counts as absent."""
        node = self._left.pop(name, None)
        return None if node is None or node.value is None else node

    def need(self, name: str) -> Node:
        """Return the field's YAML node. Raises `Invalid` when the field is absent."""
        node = self.take(name)
        if node is None:
            inner = f"{self._node.path}.{name}" if self._node.path else name
            raise Node(None, inner, self._node.line, self._node.column).wrong("is required")
        return node

    def part(self, name: str) -> "Fields | None":
        """Return a field that is itself a mapping."""
        node = self.take(name)
        return None if node is None else Fields(node)

    def text(self, name: str, default: str) -> str:
        """Return a field of text."""
        node = self.take(name)
        return default if node is None else read_text(node)

    def words(self, name: str, default: str | None = None) -> str | None:
        """Return a field of text that may be absent."""
        node = self.take(name)
        return default if node is None else read_text(node)

    def choice(self, name: str, default: _Choice) -> _Choice:
        """Return a field that is one of an enum's words."""
        node = self.take(name)
        return default if node is None else choice(node, type(default))

    def switch(self, name: str, default: bool) -> bool:
        """Return a field that is true or false."""
        node = self.take(name)
        if node is None:
            return default
        if not isinstance(node.value, bool):
            raise node.wrong("must be true or false")
        return node.value

    def seconds(self, name: str, default: int | None) -> int | None:
        """Return a duration."""
        node = self.take(name)
        return default if node is None else seconds(node)

    def whole(self, name: str, *, least: int, most: int) -> int | None:
        """Return a whole number within bounds."""
        node = self.take(name)
        return None if node is None else read_whole_number(node, least=least, most=most)

    def items(self, name: str, read: Callable[[Node], _Item]) -> tuple[_Item, ...]:
        """Return a list, each item read by `read`; an absent one is empty."""
        return self.listed(name, read) or ()

    def listed(self, name: str, read: Callable[[Node], _Item]) -> tuple[_Item, ...] | None:
        """Return a list, each item read by `read`; None when it is absent."""
        node = self.take(name)
        if node is None:
            return None
        if not isinstance(node.value, list) or len(node.value) > MAX_ITEMS:
            raise node.wrong(f"must be a list of at most {MAX_ITEMS}")
        return tuple(read(item) for item in node.value)

    def pairs(self, name: str) -> tuple[tuple[str, str], ...]:
        """Return a mapping of words to text, sorted by word."""
        node = self.take(name)
        if node is None:
            return ()
        if not isinstance(node.value, dict) or len(node.value) > MAX_ITEMS:
            raise node.wrong(f"must be a mapping of at most {MAX_ITEMS} words to text")
        return tuple(sorted((key, read_text(value)) for key, value in node.value.items()))

    def left(self) -> tuple[tuple[str, Node], ...]:
        """Return the fields that were not taken."""
        return tuple(self._left.items())

    def done(self) -> None:
        """Check that every field was taken. Raises `Invalid` for the first that was not."""
        for name, node in self._left.items():
            raise node.wrong(f"is not a known field ({name[:80]!r})")


def read_text(node: Node) -> str:
    """Return text of at most 4000 characters, printable but for newlines and tabs."""
    value = node.value
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise node.wrong(f"must be text of at most {MAX_TEXT} characters (quote it if need be)")
    if not all(char.isprintable() or char in "\n\t" for char in value):
        raise node.wrong("holds a control character")
    return value


def matching(pattern: re.Pattern[str], wanted: str) -> Callable[[Node], str]:
    """Return a reader of text that matches `pattern` wholly; `wanted` describes it for the
    error."""

    def read(node: Node) -> str:
        value = read_text(node)
        if not pattern.fullmatch(value):
            raise node.wrong(f"must be {wanted}, not {value[:60]!r}")
        return value

    return read


def choice(node: Node, kind: type[_Choice]) -> _Choice:
    """Return one of an enum's words."""
    for word in kind:
        if node.value == word.value:
            return word
    raise node.wrong(f"must be one of {', '.join(kind)}")


def seconds(node: Node) -> int:
    """Return a duration in seconds."""
    value = node.value
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise node.wrong("must be a duration such as 90s, 15m, 4h or 2d")
    try:
        return parse_duration(value)
    except ValueError as err:
        raise node.wrong(f"is wrong: {err}") from err


def read_whole_number(node: Node, *, least: int, most: int) -> int:
    """Return a whole number within bounds."""
    value = node.value
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise node.wrong(f"must be a whole number from {least} to {most}")
    return value


def read_number(node: Node, *, least: float, most: float) -> float:
    """Return a number within bounds."""
    value = node.value
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise node.wrong(f"must be a number from {least:g} to {most:g}")
    return float(value)
