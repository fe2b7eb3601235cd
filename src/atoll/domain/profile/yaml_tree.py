"""Strict YAML (and so JSON) as a tree that knows its lines.

Reads the events of a safe parser. It rejects what a recipe never needs and an attacker could use:
aliases and anchors, tags, duplicate keys, depth, size, a second document. Plain words follow the
YAML 1.2 core rules, so `no` is a word and not a boolean.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import yaml

from atoll.domain.errors import Invalid

MAX_BYTES = 65536
MAX_DEPTH = 8
MAX_NODES = 4000

_INT = re.compile(r"[-+]?[0-9]{1,18}\Z")
_FLOAT = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)(?:[eE][-+]?[0-9]{1,3})?\Z")
_WORDS: dict[str, bool | None] = {"": None, "~": None, "null": None, "true": True, "false": False}

Scalar = bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class Node:
    """A value with its position. `path` is spelled `ttl.max` or `repos[0].repo_url`."""

    value: "Scalar | list[Node] | dict[str, Node]"
    path: str
    line: int
    column: int

    def wrong(self, why: str) -> Invalid:
        """Return the error for this position."""
        where = self.path or "the document"
        return Invalid(
            f"Line {self.line}, column {self.column}: {where} {why}.", field=self.path or None
        )


def read_tree(text: str, *, aliases: bool = False) -> Node:
    """Return the one document in `text`; with `aliases` they and merge keys are written out, and
    counted as often. Raises `Invalid` with line, column and field."""
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise Invalid(f"The document is larger than {MAX_BYTES} bytes.")
    try:
        return _Builder(_events(text), aliases=aliases).document()
    except yaml.MarkedYAMLError as err:
        mark = err.problem_mark
        at = f"Line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise Invalid(f"{at}this is not YAML: {err.problem or err.context}.") from err
    except (yaml.YAMLError, UnicodeError, ValueError) as err:
        raise Invalid("This is not YAML: it holds characters that YAML does not allow.") from err


def _events(text: str) -> Iterator[yaml.Event]:
    return iter(yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))


class _Builder:
    """Builder of nodes from events; `MAX_DEPTH` bounds its recursion."""

    def __init__(self, events: Iterator[yaml.Event], *, aliases: bool) -> None:
        self._events = events
        self._aliases = aliases
        self._anchored: dict[str, tuple[Node, int]] = {}
        self._nodes = 0

    def document(self) -> Node:
        """Return the root of a stream that holds exactly one document."""
        next(self._events)
        if isinstance(next(self._events), yaml.StreamEndEvent):
            raise Invalid("The document is empty.")
        tree = self._node(next(self._events), "", 0)
        next(self._events)
        if not isinstance(next(self._events), yaml.StreamEndEvent):
            raise Invalid("There is more than one document; a profile is one.")
        return tree

    def _node(self, event: yaml.Event, path: str, depth: int) -> Node:
        self._nodes += 1
        mark = event.start_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        here = Node(None, path, line, column)
        self._refuse(event, here, depth)
        if isinstance(event, yaml.AliasEvent):
            return self._written_out(event, here, depth)
        before = self._nodes
        if isinstance(event, yaml.ScalarEvent):
            plain = event.style is None or event.style == ""
            made = Node(_resolve_scalar(event.value) if plain else event.value, path, line, column)
        elif isinstance(event, yaml.SequenceStartEvent):
            made = Node(self._list(path, depth), path, line, column)
        else:
            made = Node(self._dict(path, depth), path, line, column)
        if anchor := getattr(event, "anchor", None):
            self._anchored[anchor] = made, self._nodes - before
        return made

    def _written_out(self, event: yaml.AliasEvent, here: Node, depth: int) -> Node:
        """Return what an alias stands for. It stands for nothing that is still being read, so that
        no value holds itself."""
        name = event.anchor or ""
        found = self._anchored.get(name)
        if found is None:
            raise here.wrong(f"is an alias of {name[:80]!r}, which no value above has")
        value, count = found
        self._nodes += count
        self._refuse(event, here, depth + _depth(value))
        return Node(value.value, here.path, here.line, here.column)

    def _refuse(self, event: yaml.Event, here: Node, depth: int) -> None:
        named = isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None
        if named and not self._aliases:
            raise here.wrong("uses an anchor or alias; write the value out")
        if getattr(event, "tag", None) is not None:
            raise here.wrong("carries a tag; plain values only")
        if depth > MAX_DEPTH:
            raise here.wrong(f"is nested deeper than {MAX_DEPTH} levels")
        if self._nodes > MAX_NODES:
            raise here.wrong(f"is one value too many: {MAX_NODES} are the most")

    def _list(self, path: str, depth: int) -> list[Node]:
        items: list[Node] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            items.append(self._node(event, f"{path}[{len(items)}]", depth + 1))
        return items

    def _dict(self, path: str, depth: int) -> dict[str, Node]:
        entries: dict[str, Node] = {}
        merged: dict[str, Node] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key = self._node(event, path, depth + 1)
            if self._aliases and isinstance(event, yaml.ScalarEvent) and event.value == "<<":
                _merge(self._node(next(self._events), path, depth + 1), merged)
                continue
            if not isinstance(event, yaml.ScalarEvent) or event.value == "<<":
                raise key.wrong("has a key that is not a plain word")
            name = event.value
            inner = f"{path}.{name[:80]}" if path else name[:80]
            if name in entries:
                raise Node(None, inner, key.line, key.column).wrong("is given twice")
            entries[name] = self._node(next(self._events), inner, depth + 1)
        return merged | entries


def _merge(node: Node, into: dict[str, Node]) -> None:
    """Add the fields of a mapping, or of a list of them, that are not there yet
    (https://yaml.org/type/merge.html). Raises `Invalid`."""
    for each in node.value if isinstance(node.value, list) else [node]:
        if not isinstance(each.value, dict):
            raise each.wrong("is merged, and no mapping")
        for name, value in each.value.items():
            into.setdefault(name, value)


def _depth(node: Node) -> int:
    inner = node.value
    if isinstance(inner, dict):
        inner = list(inner.values())
    return 1 + max(map(_depth, inner), default=0) if isinstance(inner, list) else 0


def _resolve_scalar(text: str) -> Scalar:
    """Return the value of an unquoted scalar: a constant, a number or text."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.match(text):
        return int(text)
    if _FLOAT.match(text):
        return float(text)
    return text
