"""An open document as it is edited: every update is judged, applied and checked before it is kept.

`admit` changes the document in memory. What it refuses after that, or what cannot be stored, is
undone by loading the document anew: `spoiled` says so.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from atoll.domain.dashboards.change import (
    MAX_DOCUMENT_BYTES,
    Missing,
    adds_deletions,
    check_authors,
    judge,
)
from atoll.domain.dashboards.item import check_count, check_item
from atoll.domain.errors import AtollError, Forbidden, Invalid, LimitReached
from atoll.domain.ids import PrincipalId
from atoll.services.dashboards.loading import LoadedDocument
from atoll.wire.crdt.update import ParsedUpdate, read_deletions


class Unfounded(Exception):
    """Error of an update that rests on changes which are not here: look at the store and try
    again."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """An update that was applied. `update` holds what it changed, empty where that is nothing;
    `clients` are new ones of its person, `items` those that it touched."""

    update: bytes
    clients: tuple[int, ...]
    items: frozenset[str] = frozenset()


class EditedDocument:
    """A document that several people edit. `authors` are the people of its clients."""

    def __init__(self, loaded: LoadedDocument, authors: Mapping[int, PrincipalId]) -> None:
        self.loaded = loaded
        self.authors = dict(authors)
        self.spoiled = False

    def check_adds_nothing(self, update: ParsedUpdate) -> None:
        """Check that an update of somebody who only watches changes nothing. Raises
        `Forbidden`."""
        document, clocks = self.loaded.document, self.loaded.order.clocks
        new = any(one.clock + one.length > clocks.get(one.client, 0) for one in update.structs)
        if not new and not update.deletions:
            return
        if new or adds_deletions(update, read_deletions(document.missing(clocks))):
            raise Forbidden("you may look at this dashboard and not change it")

    def admit(
        self,
        person: PrincipalId,
        parsed: ParsedUpdate,
        data: bytes,
        *,
        present: Mapping[int, PrincipalId],
    ) -> Admitted:
        """Apply an update of a person. Raises `Unfounded`, and `Invalid` or `LimitReached` for one
        that is refused. `present` are the people of the clients that are connected."""
        loaded = self.loaded
        found = judge(parsed, loaded.order.clocks, loaded.types)
        if isinstance(found, Missing):
            raise Unfounded
        self._check_room(parsed, data)
        clients = check_authors(person, found.clocks, self.authors, present)
        loaded.order.admit(parsed.structs)
        try:
            applied = loaded.document.apply(data)
            self._check(found.clocks, applied.items)
        except AtollError:
            self.spoiled = True
            raise
        loaded.types.update(found.types)
        loaded.stored += len(applied.update)
        self.authors.update(dict.fromkeys(clients, person))
        return Admitted(applied.update, clients, applied.items)

    def _check_room(self, parsed: ParsedUpdate, data: bytes) -> None:
        """Refuse what makes a full document larger; deleting is possible still."""
        loaded = self.loaded
        if loaded.stored + len(data) <= MAX_DOCUMENT_BYTES:
            return
        loaded.stored = len(loaded.document.missing({}))
        if loaded.stored + len(data) > MAX_DOCUMENT_BYTES and parsed.structs:
            raise LimitReached(
                f"the dashboard is full: its document has {MAX_DOCUMENT_BYTES} bytes",
                code="document_full",
            )

    def _check(self, clocks: Mapping[int, int], touched: Iterable[str]) -> None:
        """Check what the document is after an update."""
        document = self.loaded.document
        after = document.clocks()
        if any(after.get(client, 0) != clock for client, clock in clocks.items()):
            raise Invalid("an update cannot be applied as a whole", field="update")
        check_count(len(document.ids()))
        for item_id in touched:
            fields = document.item(item_id)
            if fields is not None:
                check_item(item_id, fields)
