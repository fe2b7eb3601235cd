"""A kind of event, and how a table of them is written."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EventKind:
    """A kind of event. `fields` are always in its payload, `optional` may be."""

    name: str
    version: int
    fields: frozenset[str]
    optional: frozenset[str]
    text: str


def define_kind(name: str, fields: str, optional: str, text: str) -> tuple[str, EventKind]:
    """Return a kind of version 1 by its name; fields are separated by blanks."""
    return name, EventKind(name, 1, frozenset(fields.split()), frozenset(optional.split()), text)
