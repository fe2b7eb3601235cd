"""Documents as the store has them: loaded, compacted, and as they were at a moment.

A document is a snapshot and the updates since. Compaction makes one snapshot of both and writes the
history; it reads, computes and then compares, so whoever does so at the same time loses nothing.
"""

import asyncio
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta

import msgspec

from atoll.domain.dashboard.change import types_made
from atoll.domain.dashboard.dashboard import Dashboard
from atoll.domain.dashboard.history import (
    CHECKPOINT_ENTRIES,
    MAX_ENTRIES,
    MAX_HISTORY_BYTES,
    HistoryEntry,
    StoredUpdate,
    counted,
    grouped,
)
from atoll.domain.dashboard.item import Fields
from atoll.domain.errors import NotFound
from atoll.domain.ids import DashboardId
from atoll.domain.people.principal import SYSTEM
from atoll.ports import Transaction
from atoll.ports.documents import Document, Documents
from atoll.ports.store.dashboards.dashboards import DocumentSnapshot, KeptHistory
from atoll.services.ground import Ground
from atoll.wire.crdt.update import Id, read_update

COMPACT_UPDATES = 200
"""The updates after which a document is compacted."""

COMPACT_AFTER = timedelta(minutes=10)
"""The age of an update after which its document is compacted, however few there are."""

PAGE_UPDATES = 2000
"""The updates that are compacted at once."""

_NOTHING = DocumentSnapshot(0, b"", b"")
_types = msgspec.msgpack.Decoder(list[tuple[int, int, int]])
_parts = msgspec.msgpack.Decoder(tuple[bytes, ...])


@dataclass(slots=True)
class LoadedDocument:
    """A document in memory, as of update `seq`, with the depth of each of its shared types.
    `stored` is its size in the store: the snapshot and the updates since."""

    document: Document
    types: dict[Id, int]
    seq: int
    stored: int
    snapshot_seq: int = 0
    updates: int = 0

    def follow(self, update: StoredUpdate) -> frozenset[str]:
        """Apply a stored update and return the items that it touched. It was judged before."""
        touched: set[str] = set()
        for part in update.parts:
            self.types.update(types_made(read_update(part, most=len(part)), self.types))
            touched |= self.document.apply(part).items
            self.stored += len(part)
        self.seq = update.seq
        self.updates += 1
        return frozenset(touched)


class DocumentStore:
    """Documents in the store."""

    def __init__(self, ground: Ground, documents: Documents) -> None:
        self._store, self._clock = ground.store, ground.clock
        self._documents = documents

    async def load(self, dashboard_id: DashboardId) -> LoadedDocument:
        """Return a document as it is stored."""
        while True:
            async with self._store.read() as rows:
                # First: what was compacted between two of these statements is missed by the others.
                head = await rows.documents.head(dashboard_id)
                loaded = await self._read(rows, dashboard_id)
            if loaded is not None and loaded.seq >= head:
                return loaded

    async def _read(self, rows: Transaction, dashboard_id: DashboardId) -> LoadedDocument | None:
        """Read a snapshot and the updates since. None where some of these are gone meanwhile."""
        loaded = self._opened(await rows.documents.snapshot(dashboard_id) or _NOTHING)
        while found := await rows.documents.updates(dashboard_id, loaded.seq, PAGE_UPDATES):
            if found[0].seq != loaded.seq + 1:
                return None
            for one in found:
                loaded.follow(one)
        return loaded

    async def since(self, dashboard_id: DashboardId, seq: int) -> list[StoredUpdate] | None:
        """Return the updates after `seq`; None where a snapshot has replaced some of them."""
        async with self._store.read() as rows:
            found = await rows.documents.updates(dashboard_id, seq, PAGE_UPDATES)
            last = found[0].seq - 1 if found else await rows.documents.head(dashboard_id)
            return found if last == seq else None

    async def seed(
        self, rows: Transaction, dashboard: Dashboard, items: Mapping[str, Fields]
    ) -> None:
        """Write the first update of a new dashboard, in the caller's transaction. Nobody can
        continue the changes of the client that it is from."""
        update = self._documents.made_of(items)
        clients = [one.client for one in read_update(update, most=len(update)).structs]
        await rows.document_authors.claim(dashboard.id, SYSTEM.id, set(clients))
        await rows.documents.append(dashboard.id, self._clock.now(), dashboard.owner, (update,))

    async def compact(self, dashboard_id: DashboardId) -> bool:
        """Make one snapshot of a document, and history of its updates. Returns whether more
        updates wait."""
        async with self._store.read() as rows:
            snapshot = await rows.documents.snapshot(dashboard_id) or _NOTHING
            found = await rows.documents.updates(dashboard_id, snapshot.seq, PAGE_UPDATES)
            since = await rows.dashboard_history.since_whole(dashboard_id)
        if not found:
            return False
        loaded, kept = await asyncio.to_thread(
            self._compacted, dashboard_id, snapshot, found, since=since
        )
        async with self._store.begin() as rows:
            if await rows.dashboards.get(dashboard_id) is None:
                return False
            done = await rows.documents.compact(
                dashboard_id, _snapshot(loaded), before=snapshot.seq
            )
            if done:
                await rows.dashboard_history.add(kept)
                await rows.dashboard_history.cut(dashboard_id, MAX_ENTRIES, MAX_HISTORY_BYTES)
        return len(found) == PAGE_UPDATES

    async def at(self, dashboard_id: DashboardId, seq: int) -> Document:
        """Return the document as it was after an entry of its history. Raises `NotFound`."""
        async with self._store.read() as rows:
            way = await rows.dashboard_history.way_to(dashboard_id, seq)
        if not way:
            raise NotFound(f"There is no entry {seq} in the history: list it to see.")
        first = way[0].whole
        document = self._documents.open(() if first is None else (zlib.decompress(first),))
        for one in way if first is None else way[1:]:
            for part in _parts.decode(zlib.decompress(one.updates)):
                document.apply(part)
        return document

    def _opened(self, snapshot: DocumentSnapshot) -> LoadedDocument:
        parts = () if not snapshot.seq else (snapshot.data,)
        types = {} if not snapshot.seq else _read_types(snapshot.types)
        size = len(snapshot.data)
        return LoadedDocument(
            self._documents.open(parts), types, snapshot.seq, size, snapshot_seq=snapshot.seq
        )

    def _compacted(
        self,
        dashboard_id: DashboardId,
        snapshot: DocumentSnapshot,
        found: list[StoredUpdate],
        *,
        since: int | None,
    ) -> tuple[LoadedDocument, list[KeptHistory]]:
        """Return the document after these updates, and their history. It takes a while, so it runs
        in a thread."""
        loaded = self._opened(snapshot)
        document = loaded.document
        known: dict[str, Fields] = {one: document.item(one) or {} for one in document.ids()}
        kept = []
        for number, group in enumerate(grouped(found)):
            touched = frozenset[str]().union(*map(loaded.follow, group))
            before = {one: known.get(one) for one in touched}
            after = {one: document.item(one) for one in touched}
            for one, fields in after.items():
                known.pop(one, None)
                if fields is not None:
                    known[one] = fields
            counts = counted(before, after)
            last = group[-1]
            entry = HistoryEntry(
                dashboard_id,
                last.seq,
                last.at,
                last.actor,
                added=counts.added,
                changed=counts.changed,
                removed=counts.removed,
            )
            whole = _is_whole(since, number)
            full = zlib.compress(document.missing({})) if whole else None
            kept.append(
                KeptHistory(entry, _packed(part for one in group for part in one.parts), full)
            )
        return loaded, kept


def _is_whole(since: int | None, number: int) -> bool:
    """Report whether entry `number` of those to be written has the whole document."""
    if since is None:
        return number % CHECKPOINT_ENTRIES == 0
    return (since + number + 1) % CHECKPOINT_ENTRIES == 0


def _packed(parts: Iterable[bytes]) -> bytes:
    return zlib.compress(msgspec.msgpack.encode(tuple(parts)))


def _snapshot(loaded: LoadedDocument) -> DocumentSnapshot:
    types = [(client, clock, depth) for (client, clock), depth in loaded.types.items()]
    return DocumentSnapshot(loaded.seq, loaded.document.missing({}), msgspec.msgpack.encode(types))


def _read_types(data: bytes) -> dict[Id, int]:
    return {(client, clock): depth for client, clock, depth in _types.decode(data)}
