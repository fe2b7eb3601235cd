"""The work on an open document: one task takes what came meanwhile, stores it in one transaction,
and only then shows it to others. So what anybody sees is durable.

Nothing else touches the document. Who may edit is looked up again in each transaction.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import TypeAlias

import structlog

from atoll.domain.dashboards.dashboard import Dashboard, role_of, unknown
from atoll.domain.dashboards.history import StoredUpdate
from atoll.domain.dashboards.item import Fields
from atoll.domain.errors import AtollError, Forbidden, Invalid, Unavailable
from atoll.domain.event import dashboard_stream
from atoll.domain.ids import PrincipalId
from atoll.domain.people.principal import Principal
from atoll.ports import Transaction
from atoll.ports.bus import LiveChannels
from atoll.ports.documents import Document
from atoll.services.dashboards.connections import RoomConnection
from atoll.services.dashboards.documents import (
    COMPACT_UPDATES,
    Admitted,
    DocumentStore,
    EditedDocument,
    Unfounded,
)
from atoll.services.dashboards.live_messages import LiveMessage, make_change_message, send
from atoll.services.dashboards.mentions import DashboardMentions
from atoll.services.dashboards.presences import Presences
from atoll.services.ground import Ground
from atoll.services.people.memberships import Memberships
from atoll.services.people.shares import is_link_over
from atoll.wire.crdt.frames import SyncStep1, SyncStep2, SyncUpdate, spell_frame
from atoll.wire.crdt.update import ParsedUpdate

MAX_BATCH = 64
BATCH_SECONDS = 0.04
"""The time between two transactions of one document: what comes meanwhile is stored at once."""

THREAD_BYTES = 8 * 1024
"""The size from which what a connection sent is read in a thread."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Arrival:
    """An update that a connection sent."""

    connection: RoomConnection
    parsed: ParsedUpdate
    data: bytes


@dataclass(frozen=True, slots=True)
class SyncRequest:
    """A request of a connection for what its document lacks."""

    connection: RoomConnection
    clocks: dict[int, int]


@dataclass(frozen=True, slots=True)
class Look:
    """A request to look at the store; `updates` are what another replica said is new there."""

    updates: tuple[StoredUpdate, ...] = ()


@dataclass(frozen=True, slots=True)
class Stop:
    """The end of the work."""


Task: TypeAlias = Arrival | SyncRequest | Look | Stop


@dataclass(frozen=True, slots=True)
class RoomPorts:
    """The ports and services that every open dashboard uses. `replica` names this process."""

    ground: Ground
    live: LiveChannels
    documents: DocumentStore
    mentions: DashboardMentions
    memberships: Memberships
    replica: str


@dataclass(slots=True)
class Audience:
    """The people connected to an open dashboard."""

    dashboard: Dashboard
    connections: set[RoomConnection] = field(default_factory=set)
    presences: Presences = field(default_factory=Presences)

    def broadcast(self, update: bytes, besides: RoomConnection | None = None) -> None:
        """Send an update to everybody here, besides who made it."""
        frame = spell_frame(SyncUpdate(update))
        for connection in list(self.connections):
            if connection is not besides:
                connection.send(frame)


@dataclass(slots=True)
class _Batch:
    """Updates that were applied and are to be stored at once."""

    admitted: list[tuple[Arrival, Admitted]] = field(default_factory=list)
    syncs: list[SyncRequest] = field(default_factory=list)


class DocumentWork:
    """The work on one document. `load` comes first."""

    def __init__(self, ports: RoomPorts, audience: Audience) -> None:
        self._ports = ports
        self._audience = audience
        self._tasks: asyncio.Queue[Task] = asyncio.Queue(4 * MAX_BATCH)
        self._edited: EditedDocument
        self._durable: dict[int, int] = {}

    @property
    def seq(self) -> int:
        """Return the number of the last stored update that is here."""
        return self._edited.loaded.seq

    def sync_request(self) -> bytes:
        """Return the frame that asks an editor's browser for what is missing here."""
        return spell_frame(SyncStep1(dict(self._durable)))

    async def put(self, task: Task) -> None:
        """Have something done; waits while there is much to do."""
        await self._tasks.put(task)

    async def load(self) -> None:
        """Load the document as it is stored."""
        dashboard_id = self._audience.dashboard.id
        loaded = await self._ports.documents.load(dashboard_id)
        async with self._ports.ground.store.read() as rows:
            authors = await rows.document_authors.of(dashboard_id)
        self._edited = EditedDocument(loaded, authors)
        self._durable = dict(loaded.order.clocks)

    async def run(self, tasks: asyncio.TaskGroup) -> None:
        """Work until `Stop` comes. Raises what the store raises: the document then ends here."""
        while True:
            batch: list[Task] = [await self._tasks.get()]
            while len(batch) < MAX_BATCH and not self._tasks.empty():
                batch.append(self._tasks.get_nowait())
            await self._do(batch)
            arrivals = [job for job in batch if isinstance(job, Arrival)]
            for arrival in arrivals:
                arrival.connection.note_handled()
            if any(isinstance(job, Stop) for job in batch):
                return
            loaded = self._edited.loaded
            if loaded.updates >= COMPACT_UPDATES:
                loaded.updates = 0
                tasks.create_task(self._compact())
            if arrivals:
                await asyncio.sleep(BATCH_SECONDS)

    async def _compact(self) -> None:
        dashboard_id = self._audience.dashboard.id
        try:
            while await self._ports.documents.compact(dashboard_id):
                pass
        except AtollError as error:
            _log.warning("not_compacted", dashboard=dashboard_id, reason=error.message)

    async def _do(self, batch: Sequence[Task]) -> None:
        done = _Batch()
        for task in batch:
            match task:
                case Look(updates):
                    await self._store(done)
                    await self._catch_up(updates)
                case SyncRequest():
                    done.syncs.append(task)
                case Arrival():
                    await self._admit(task, done)
                case Stop():
                    pass
        await self._store(done)
        for sync in done.syncs:
            find = partial(self._edited.loaded.document.missing, sync.clocks)
            update = await self._ports.documents.beside(find)
            sync.connection.send(spell_frame(SyncStep2(update)), is_document=True)

    async def _admit(self, arrival: Arrival, done: _Batch) -> None:
        """Judge and apply one update, or refuse it."""
        connection = arrival.connection
        if connection.has_failed:
            return
        try:
            if not connection.role.edits:
                check = partial(self._edited.check_adds_nothing, arrival.parsed)
                await self._ports.documents.beside(check)
                connection.tell("saved", seq=self.seq)
                return
            admitted = await self._apply(arrival, done)
        except AtollError as error:
            connection.refuse(error)
            if self._edited.spoiled:
                await self._reload(done)
            return
        done.admitted.append((arrival, admitted))

    async def _apply(self, arrival: Arrival, done: _Batch) -> Admitted:
        try:
            return await self._admit_arrival(arrival)
        except Unfounded:
            # The client may have been at another replica, whose updates are not here yet.
            await self._store(done)
            await self._catch_up(())
        try:
            return await self._admit_arrival(arrival)
        except Unfounded:
            raise Invalid(
                "an update rests on changes that are not here: reload", field="update"
            ) from None

    async def _admit_arrival(self, arrival: Arrival) -> Admitted:
        """Return an arrived update as admitted to the document, which a thread does."""
        edited, caller = self._edited, arrival.connection.caller
        person, guest = caller.id, caller.guest_access is not None
        people = self._audience.presences.people
        others = {client: author for client, author in people.items() if author != person}
        return await self._ports.documents.beside(
            partial(edited.admit, person, arrival.parsed, arrival.data, present=others, guest=guest)
        )

    async def _reload(self, done: _Batch) -> None:
        """Load the document as it is stored, and apply what was admitted since."""
        edited, before = self._edited, self.seq
        edited.loaded = await self._ports.documents.load(self._audience.dashboard.id)
        edited.spoiled = False
        if edited.loaded.seq != before:
            self._audience.broadcast(edited.loaded.document.missing(self._durable))
        self._durable = dict(edited.loaded.order.clocks)
        for arrival, admitted in done.admitted:
            if admitted.update:
                person = arrival.connection.caller.id
                again = partial(edited.admit, person, arrival.parsed, arrival.data, present={})
                await self._ports.documents.beside(again)

    async def _store(self, done: _Batch) -> None:
        """Store what was admitted, then show it to others. Updates of who may not edit any more are
        refused, and those of the others stored."""
        admitted, done.admitted = done.admitted, []
        writes = [write for write in admitted if write[1].update]
        refused = await self._write(writes) if writes else frozenset()
        if not refused:
            for arrival, _ in admitted:
                arrival.connection.tell("saved", seq=self.seq)
            return
        await self.load()
        for arrival, _ in admitted:
            if arrival.connection.caller.id in refused:
                arrival.connection.refuse(Forbidden("you may not change this dashboard any more"))
            else:
                await self._admit(arrival, done)
        await self._store(done)

    async def _write(self, writes: list[tuple[Arrival, Admitted]]) -> frozenset[PrincipalId]:
        """Store updates and show them; nothing where somebody may not write, who is returned."""
        callers = {arrival.connection.caller.id: arrival.connection.caller for arrival, _ in writes}
        current = {
            person_id: await self._ports.memberships.current(who)
            for person_id, who in callers.items()
        }
        stored: list[StoredUpdate] = []
        async with self._ports.ground.store.begin() as rows:
            dashboard = await rows.dashboards.get(self._audience.dashboard.id)
            if dashboard is None or dashboard.deleted_at is not None:
                raise unknown(self._audience.dashboard.id)
            refused = frozenset(
                [
                    person_id
                    for person_id, who in current.items()
                    if not _edits(who, dashboard) or await is_link_over(rows, who, self._now())
                ]
            )
            if refused:
                return refused
            missed = await rows.documents.head(dashboard.id) != self.seq
            stored += await self._append(rows, dashboard, writes)
            mentions_changed = await self._mention(rows, dashboard, writes)
        if mentions_changed:
            self._ports.ground.bus.announce((dashboard_stream(dashboard.id),))
        if missed:
            await self._catch_up(())
        loaded = self._edited.loaded
        loaded.seq, loaded.updates = max(loaded.seq, stored[-1].seq), loaded.updates + len(stored)
        self._durable = dict(loaded.order.clocks)
        for arrival, admitted in writes:
            self._audience.broadcast(admitted.update, besides=arrival.connection)
        self.tell(make_change_message(self._ports.replica, tuple(stored)))
        return frozenset()

    async def _append(
        self, rows: Transaction, dashboard: Dashboard, writes: list[tuple[Arrival, Admitted]]
    ) -> list[StoredUpdate]:
        at = self._ports.ground.clock.now()
        for arrival, admitted in writes:
            person, clients = arrival.connection.caller.id, admitted.clients
            if clients and not await rows.document_authors.claim(dashboard.id, person, clients):
                raise Unavailable("the number of a browser was taken meanwhile: reload the page")
        stored = []
        for person, parts in _group_by_person(writes):
            seq = await rows.documents.append(dashboard.id, at, person, parts)
            stored.append(StoredUpdate(seq, at, person, parts))
        items = len(self._edited.loaded.document.ids())
        await rows.dashboards.note_change(dashboard.id, at, items)
        return stored

    async def _mention(
        self, rows: Transaction, dashboard: Dashboard, writes: list[tuple[Arrival, Admitted]]
    ) -> bool:
        """Note whose todos the written items are. Returns whether anybody is to be told."""
        document = self._edited.loaded.document
        authors = {
            item: arrival.connection.caller
            for arrival, admission in writes
            for item in admission.items
        }
        is_changed = False
        for author in {person.id: person for person in authors.values()}.values():
            mine = [item_id for item_id, who in authors.items() if who.id == author.id]
            items = await self._ports.documents.beside(partial(_items, document, mine))
            is_changed |= await self._ports.mentions.follow(rows, author, dashboard, items)
        return is_changed

    async def _catch_up(self, updates: tuple[StoredUpdate, ...]) -> None:
        """Apply what others stored, and show it to the connections here."""
        loaded = self._edited.loaded
        fresh = [update for update in updates if update.seq > loaded.seq]
        if updates and not fresh:
            return
        unread: Sequence[StoredUpdate] | None = fresh
        if not fresh or fresh[0].seq != loaded.seq + 1:
            unread = await self._ports.documents.since(self._audience.dashboard.id, loaded.seq)
        if unread is None:
            await self._reload(_Batch())
            return
        await self._ports.documents.beside(partial(loaded.follow_all, unread))
        for part in (part for update in unread for part in update.parts):
            self._audience.broadcast(part)
        if unread:
            self._durable = dict(loaded.order.clocks)

    def _now(self) -> datetime:
        return self._ports.ground.clock.now()

    def tell(self, what: LiveMessage) -> None:
        """Tell the other replicas."""
        dashboard = self._audience.dashboard
        send(self._ports.live, dashboard.org_id, dashboard.id, what)


def _items(document: Document, ids: Iterable[str]) -> dict[str, Fields | None]:
    return {item_id: document.item(item_id) for item_id in ids}


def _edits(caller: Principal | None, dashboard: Dashboard) -> bool:
    role = None if caller is None else role_of(caller, dashboard)
    return role is not None and role.edits


def _group_by_person(
    writes: Iterable[tuple[Arrival, Admitted]],
) -> list[tuple[PrincipalId, tuple[bytes, ...]]]:
    """Return updates in their order, grouped where one person's follow each other."""
    runs: list[tuple[PrincipalId, list[bytes]]] = []
    for arrival, admitted in writes:
        person = arrival.connection.caller.id
        if runs and runs[-1][0] == person:
            runs[-1][1].append(admitted.update)
        else:
            runs.append((person, [admitted.update]))
    return [(person, tuple(parts)) for person, parts in runs]
