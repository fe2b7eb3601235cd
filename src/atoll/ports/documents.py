"""The Documents port: shared documents whose changes merge in any order (CRDT).

A document has one root, a map of items by their ids. Changes are updates as Yjs writes them; they
were judged by `domain.dashboards.change` before they come here.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from atoll.domain.dashboards.item import Fields


@dataclass(frozen=True, slots=True)
class AppliedUpdate:
    """The effect of an update: `update` holds what it changed, empty where that is nothing;
    `items` are the ids of the items that it touched."""

    update: bytes
    items: frozenset[str]


class Document(Protocol):
    """A document in memory."""

    def apply(self, update: bytes) -> AppliedUpdate:
        """Apply an update. Raises `Invalid` for bytes that are none; the document may then have
        changed all the same, so open it anew."""
        ...

    def clocks(self) -> dict[int, int]:
        """Return how many changes of each client it has."""
        ...

    def missing(self, clocks: Mapping[int, int]) -> bytes:
        """Return an update with all that a document with these clocks lacks, and all deletions."""
        ...

    def item(self, item_id: str) -> Fields | None:
        """Return the fields of one item. Raises `Invalid` for an item that is no map."""
        ...

    def ids(self) -> list[str]:
        """Return the ids of all items."""
        ...


class Documents(Protocol):
    """A maker of documents."""

    def open(self, updates: Iterable[bytes]) -> Document:
        """Return a document with these updates, in any order. Raises `Invalid`."""
        ...

    def made_of(self, items: Mapping[str, Fields]) -> bytes:
        """Return the update that makes a new document with these items."""
        ...
