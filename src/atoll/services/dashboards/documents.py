"""Documents of dashboards: loaded, edited, compacted, and as they were at a moment.

A document is a snapshot and the updates since. Compaction makes one snapshot of both and writes the
history; it reads, computes and then compares, so whoever does so at the same time loses nothing.
Every update is judged, applied and checked before it is stored. What is refused after it was
applied, or cannot be stored, is undone by loading the document anew.
"""

import asyncio
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TypeVar

import msgspec

from atoll.domain.dashboards.change import (
    MAX_DOCUMENT_BYTES,
    Missing,
    adds_deletions,
    check_authors,
    judge,
    types_made,
)
from atoll.domain.dashboards.dashboard import Dashboard
from atoll.domain.dashboards.guest import (
    check_guest_change,
    check_guest_room,
    check_guest_size,
)
from atoll.domain.dashboards.history import (
    CHECKPOINT_ENTRIES,
    MAX_ENTRIES,
    MAX_HISTORY_BYTES,
    HistoryEntry,
    StoredUpdate,
    count_changes,
    group_updates,
)
from atoll.domain.dashboards.item import Fields, check_count, check_item
from atoll.domain.dashboards.order import DocumentOrder
from atoll.domain.errors import AtollError, Forbidden, Invalid, LimitReached, NotFound, Unavailable
from atoll.domain.ids import DashboardId, PrincipalId
from atoll.domain.people.principal import SYSTEM
from atoll.ports import Transaction
from atoll.ports.documents import Document, Documents
from atoll.ports.store.dashboards.dashboards import DocumentSnapshot, KeptHistory
from atoll.services.ground import Ground
from atoll.wire.crdt.update import Id, ParsedUpdate, read_deletions, read_update

COMPACT_UPDATES = 200
"""The updates after which a document is compacted."""

COMPACT_AFTER = timedelta(minutes=10)
"""The age of an update after which its document is compacted, however few there are."""

PAGE_UPDATES = 2000
"""The updates that are compacted at once."""

WORK_SECONDS = 20.0
"""The time that work on one document may take beside the loop."""

WORK_THREADS = 2

Result = TypeVar("Result")

_NOTHING = DocumentSnapshot(0, b"", b"")
_types = msgspec.msgpack.Decoder(list[tuple[int, int, int]])
_parts = msgspec.msgpack.Decoder(tuple[bytes, ...])


@dataclass(slots=True)
class LoadedDocument:
    """A document in memory, as of update `seq`, with the depth of each of its shared types and the
    order of its parts.
    `stored` is its size in the store: the snapshot and the updates since. `items` are its items,
    once a guest edits: what a guest changed is compared with them."""

    document: Document
    types: dict[Id, int]
    seq: int
    stored: int
    snapshot_seq: int = 0
    updates: int = 0
    order: DocumentOrder = field(default_factory=DocumentOrder)
    items: dict[str, Fields] | None = None

    def follow_all(self, updates: Iterable[StoredUpdate]) -> None:
        """Apply stored updates, in their order."""
        for update in updates:
            self.follow(update)

    def follow(self, update: StoredUpdate) -> frozenset[str]:
        """Apply a stored update and return the items that it touched. It was judged before."""
        touched: set[str] = set()
        for part in update.parts:
            parsed = read_update(part, most=len(part))
            self.types.update(types_made(parsed, self.types))
            self.order.add(parsed.structs)
            touched |= self.document.apply(part).items
            self.stored += len(part)
        self.seq = update.seq
        self.updates += 1
        self.remember(touched)
        return frozenset(touched)

    def before(self) -> Mapping[str, Fields]:
        """Return all items as they are now."""
        if self.items is None:
            document = self.document
            self.items = {item_id: document.item(item_id) or {} for item_id in document.ids()}
        return self.items

    def remember(self, touched: Iterable[str]) -> None:
        """Note what items are after an update, where that is asked for."""
        if self.items is None:
            return
        for item_id in touched:
            fields = self.document.item(item_id)
            self.items.pop(item_id, None)
            if fields is not None:
                self.items[item_id] = fields


class DocumentStore:
    """Documents in the store."""

    def __init__(self, ground: Ground, documents: Documents) -> None:
        self._store, self._clock = ground.store, ground.clock
        self._documents = documents
        # Not the threads of everybody else: dear documents make only documents wait.
        self._threads = ThreadPoolExecutor(WORK_THREADS, "document")

    async def load(self, dashboard_id: DashboardId) -> LoadedDocument:
        """Return a document as it is stored. Raises `Unavailable` for one that takes too long."""
        try:
            return await self._load(dashboard_id)
        except TimeoutError as error:
            raise Unavailable("the dashboard takes too long to open: try again later") from error

    async def _load(self, dashboard_id: DashboardId) -> LoadedDocument:
        while True:
            async with self._store.read() as rows:
                # First: what was compacted between two of these statements is missed by the others.
                head = await rows.documents.head(dashboard_id)
                loaded = await self._read(rows, dashboard_id)
            if loaded is not None and loaded.seq >= head:
                return loaded

    async def beside(self, work: Callable[[], Result]) -> Result:
        """Return what work on a document returns, which is done beside the loop that serves
        everybody, in a thread of the documents' own. Raises what it raises, and `TimeoutError`
        after `WORK_SECONDS`; the document is then not to be used any more."""
        async with asyncio.timeout(WORK_SECONDS):
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def items(self, document: Document) -> dict[str, Fields]:
        """Return all items of a document by their ids."""
        return await self.beside(
            lambda: {item_id: document.item(item_id) or {} for item_id in document.ids()}
        )

    async def _read(self, rows: Transaction, dashboard_id: DashboardId) -> LoadedDocument | None:
        """Read a snapshot and the updates since. None where some of these are gone meanwhile."""
        snapshot = await rows.documents.snapshot(dashboard_id) or _NOTHING
        loaded = await self.beside(partial(self._load_snapshot, snapshot))
        while updates := await rows.documents.updates(dashboard_id, loaded.seq, PAGE_UPDATES):
            if updates[0].seq != loaded.seq + 1:
                return None
            await self.beside(partial(loaded.follow_all, updates))
        return loaded

    async def since(self, dashboard_id: DashboardId, seq: int) -> list[StoredUpdate] | None:
        """Return the updates after `seq`; None where a snapshot has replaced some of them."""
        async with self._store.read() as rows:
            updates = await rows.documents.updates(dashboard_id, seq, PAGE_UPDATES)
            last = updates[0].seq - 1 if updates else await rows.documents.head(dashboard_id)
            return updates if last == seq else None

    async def seed(
        self, rows: Transaction, dashboard: Dashboard, items: Mapping[str, Fields]
    ) -> None:
        """Write the first update of a new dashboard, in the caller's transaction. Nobody can
        continue the changes of the client that it is from."""
        update = await self.beside(partial(self._documents.made_of, items))
        clients = [struct.client for struct in read_update(update, most=len(update)).structs]
        await rows.document_authors.claim(dashboard.id, SYSTEM.id, set(clients))
        await rows.documents.append(dashboard.id, self._clock.now(), dashboard.owner, (update,))

    async def compact(self, dashboard_id: DashboardId) -> bool:
        """Make one snapshot of a document, and history of its updates. Returns whether more
        updates wait."""
        async with self._store.read() as rows:
            snapshot = await rows.documents.snapshot(dashboard_id) or _NOTHING
            updates = await rows.documents.updates(dashboard_id, snapshot.seq, PAGE_UPDATES)
            since = await rows.dashboard_history.since_whole(dashboard_id)
        if not updates:
            return False
        loaded, history = await self.beside(
            partial(self._compact_updates, dashboard_id, snapshot, updates, since=since)
        )
        async with self._store.begin() as rows:
            if await rows.dashboards.get(dashboard_id) is None:
                return False
            done = await rows.documents.compact(
                dashboard_id, _snapshot(loaded), before=snapshot.seq
            )
            if done:
                await rows.dashboard_history.add(history)
                await rows.dashboard_history.cut(dashboard_id, MAX_ENTRIES, MAX_HISTORY_BYTES)
        return len(updates) == PAGE_UPDATES

    async def at(self, dashboard_id: DashboardId, seq: int) -> Document:
        """Return the document as it was after an entry of its history. Raises `NotFound`."""
        async with self._store.read() as rows:
            way = await rows.dashboard_history.way_to(dashboard_id, seq)
        if not way:
            raise NotFound(f"There is no entry {seq} in the history: list it to see.")
        return await self.beside(partial(self._document_at, way))

    def _document_at(self, way: Sequence[KeptHistory]) -> Document:
        first = way[0].whole
        document = self._documents.open(() if first is None else (zlib.decompress(first),))
        for entry in way if first is None else way[1:]:
            for part in _parts.decode(zlib.decompress(entry.updates)):
                document.apply(part)
        return document

    def _load_snapshot(self, snapshot: DocumentSnapshot) -> LoadedDocument:
        parts = () if not snapshot.seq else (snapshot.data,)
        types = {} if not snapshot.seq else _read_types(snapshot.types)
        size = len(snapshot.data)
        loaded = LoadedDocument(
            self._documents.open(parts), types, snapshot.seq, size, snapshot_seq=snapshot.seq
        )
        for part in parts:
            loaded.order.add(read_update(part, most=len(part)).structs)
        return loaded

    def _compact_updates(
        self,
        dashboard_id: DashboardId,
        snapshot: DocumentSnapshot,
        updates: list[StoredUpdate],
        *,
        since: int | None,
    ) -> tuple[LoadedDocument, list[KeptHistory]]:
        """Return the document after these updates, and their history. It takes a while, so it runs
        in a thread."""
        loaded = self._load_snapshot(snapshot)
        document = loaded.document
        known: dict[str, Fields] = {
            item_id: document.item(item_id) or {} for item_id in document.ids()
        }
        history = []
        for number, group in enumerate(group_updates(updates)):
            touched = frozenset[str]().union(*map(loaded.follow, group))
            before = {item_id: known.get(item_id) for item_id in touched}
            after = {item_id: document.item(item_id) for item_id in touched}
            for item_id, fields in after.items():
                known.pop(item_id, None)
                if fields is not None:
                    known[item_id] = fields
            counts = count_changes(before, after)
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
            history.append(
                KeptHistory(
                    entry, _pack_parts(part for update in group for part in update.parts), full
                )
            )
        return loaded, history


def _is_whole(since: int | None, number: int) -> bool:
    """Report whether entry `number` of those to be written has the whole document."""
    if since is None:
        return number % CHECKPOINT_ENTRIES == 0
    return (since + number + 1) % CHECKPOINT_ENTRIES == 0


def _pack_parts(parts: Iterable[bytes]) -> bytes:
    return zlib.compress(msgspec.msgpack.encode(tuple(parts)))


def _snapshot(loaded: LoadedDocument) -> DocumentSnapshot:
    types = [(client, clock, depth) for (client, clock), depth in loaded.types.items()]
    return DocumentSnapshot(loaded.seq, loaded.document.missing({}), msgspec.msgpack.encode(types))


def _read_types(data: bytes) -> dict[Id, int]:
    return {(client, clock): depth for client, clock, depth in _types.decode(data)}


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
    """A document that several people edit. `authors` are the people of its clients; a `spoiled` one
    has to be loaded anew."""

    def __init__(self, loaded: LoadedDocument, authors: Mapping[int, PrincipalId]) -> None:
        self.loaded = loaded
        self.authors = dict(authors)
        self.spoiled = False

    def check_adds_nothing(self, update: ParsedUpdate) -> None:
        """Check that an update of somebody who only watches changes nothing. Raises
        `Forbidden`."""
        document, clocks = self.loaded.document, self.loaded.order.clocks
        new = any(
            struct.clock + struct.length > clocks.get(struct.client, 0) for struct in update.structs
        )
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
        guest: bool = False,
    ) -> Admitted:
        """Apply an update of a person. Raises `Unfounded`, and `Invalid`, `LimitReached` or
        `Forbidden` for one that is refused. `present` are the people of the clients that are
        connected."""
        loaded = self.loaded
        if guest:
            check_guest_size(len(data))
            loaded.before()
        judgement = judge(parsed, loaded.order.clocks, loaded.types)
        if isinstance(judgement, Missing):
            raise Unfounded
        self._check_room(parsed, data)
        clients = check_authors(person, judgement.clocks, self.authors, present)
        loaded.order.admit(parsed.structs)
        try:
            applied = loaded.document.apply(data)
            self._check(judgement.clocks, applied.items)
            if guest:
                self._check_guest(person, applied.items)
        except AtollError:
            self.spoiled = True
            raise
        loaded.remember(applied.items)
        loaded.types.update(judgement.types)
        loaded.stored += len(applied.update)
        self.authors.update(dict.fromkeys(clients, person))
        return Admitted(applied.update, clients, applied.items)

    def _check_guest(self, guest: PrincipalId, touched: Iterable[str]) -> None:
        """Check what a guest made of the items."""
        document, before = self.loaded.document, self.loaded.before()
        for item_id in touched:
            check_guest_change(guest, before.get(item_id), document.item(item_id))
        adds = any(item_id not in before for item_id in touched)
        check_guest_room(len(document.ids()), adds=adds)

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
