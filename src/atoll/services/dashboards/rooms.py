"""The dashboards that are open on this replica, and the way into one.

A `Room` is one of them, from its first connection to its last. It owns the `Audience` (connections
and their presence) and the `DocumentWork`, which alone writes the document. It listens to other
replicas, and looks at the store for what no message said.
"""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeVar

import structlog

from atoll.domain.dashboards.change import MAX_DOCUMENT_BYTES, MAX_UPDATE_BYTES
from atoll.domain.dashboards.dashboard import Dashboard, check_seen, role_of, unknown
from atoll.domain.dashboards.item import MAX_ITEMS, MAX_TEXT_BYTES
from atoll.domain.dashboards.presence import colour_of, presence_name
from atoll.domain.errors import AtollError, Invalid, LimitReached, Unauthenticated, Unavailable
from atoll.domain.ids import DashboardId, PrincipalId
from atoll.domain.people.principal import Principal
from atoll.ports.bus import LiveChannels, LiveSubscription, Missed
from atoll.services.dashboards.connections import RoomConnection
from atoll.services.dashboards.documents import DocumentStore
from atoll.services.dashboards.live_messages import (
    Changed,
    LiveMessage,
    Present,
    Reconsider,
    channel_of,
    read,
    send,
)
from atoll.services.dashboards.mentions import DashboardMentions
from atoll.services.dashboards.presences import PresenceChanges
from atoll.services.dashboards.work import (
    THREAD_BYTES,
    Arrival,
    Audience,
    DocumentWork,
    Look,
    RoomPorts,
    Stop,
    SyncRequest,
)
from atoll.services.ground import Ground
from atoll.services.people.memberships import Memberships
from atoll.services.people.shares import LINK_OVER, is_link_over
from atoll.services.task_runner import TaskRunner
from atoll.wire.crdt.frames import (
    AwarenessQuery,
    AwarenessUpdate,
    SyncStep1,
    SyncStep2,
    SyncUpdate,
    read_frame,
    spell_frame,
)
from atoll.wire.crdt.lib0 import Malformed
from atoll.wire.crdt.update import read_update
from atoll.wire.words.dashboards import DashboardRole

MAX_ROOMS = 500
"""The dashboards that are open at once on one replica."""

OPEN_SECONDS = 30.0

LIMITS = {
    "items": MAX_ITEMS,
    "text": MAX_TEXT_BYTES,
    "update_bytes": MAX_UPDATE_BYTES,
    "document_bytes": MAX_DOCUMENT_BYTES,
}
"""The bounds of a document, as a client is told them."""

MAX_CONNECTIONS = 100
MAX_OWN_CONNECTIONS = 16
MAX_GUEST_CONNECTIONS = 50
"""The connections of one dashboard on one replica, those of one person among them, and those of all
guests: members find a place."""

PRESENCE_SECONDS = 0.05
PRESENCE_BYTES_PER_SECOND = 4 * 1024 * 1024
LOOK_SECONDS = 2.0
"""The interval of a look at the store, for what no message said."""

FRAME_BYTES = MAX_UPDATE_BYTES + 16
"""The largest frame of a client."""

Parsed = TypeVar("Parsed")

_log = structlog.get_logger(__name__)


class Room:
    """An open dashboard."""

    def __init__(self, ports: RoomPorts, dashboard: Dashboard) -> None:
        self.closing = False
        self._audience = Audience(dashboard)
        self._work = DocumentWork(ports, self._audience)
        self._ports = ports
        self._opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._reconsider = asyncio.Event()

    async def opened(self) -> None:
        """Return once the document is there. Raises what kept it from coming."""
        await asyncio.shield(self._opened)

    def present(self) -> dict[PrincipalId, str]:
        """Return the people who are on the dashboard, here and on other replicas, with their
        names."""
        return self._audience.presences.names()

    def enter(self, connection: RoomConnection) -> None:
        """Add a connection; nothing is sent to it before `welcome`. Raises `LimitReached`."""
        connections, person = self._audience.connections, connection.caller.id
        own = sum(other.caller.id == person for other in connections)
        guests = sum(other.caller.guest_access is not None for other in connections)
        crowded = connection.caller.guest_access is not None and guests >= MAX_GUEST_CONNECTIONS
        if crowded or len(connections) >= MAX_CONNECTIONS or own >= MAX_OWN_CONNECTIONS:
            raise LimitReached("this dashboard has too many connections: close a tab of it")
        connections.add(connection)

    def welcome(self, connection: RoomConnection, limits: dict[str, int]) -> None:
        """Greet a connection: its role, who is here, and what the server lacks of its document."""
        connection.open()
        people = {
            other.caller.id: presence_name(other.caller) for other in self._audience.connections
        }
        connection.tell(
            "welcome",
            role=connection.role.value,
            name=self._audience.dashboard.name,
            limits=limits,
            people=[
                {"id": person_id, "name": name, "colour": colour_of(person_id)}
                for person_id, name in sorted(people.items())
            ],
        )
        if connection.role.edits:
            connection.send(self._work.sync_request())
        connection.show(self._audience.presences.all())

    def leave(self, connection: RoomConnection) -> None:
        """Remove a connection; without any the room closes once all is stored."""
        self._audience.connections.discard(connection)
        connection.close(None)
        self._audience.presences.leave(connection, self._ports.ground.clock.now())
        self.closing = self.closing or not self._audience.connections
        if self.closing:
            self._reconsider.set()

    def reconsider(self) -> None:
        """Look at the dashboard's row again, now."""
        self._reconsider.set()

    async def receive(self, connection: RoomConnection, data: bytes) -> None:
        """Take a frame of a connection. Returns once the next one may come."""
        await connection.pace(len(data))
        if connection.is_closed:
            return
        try:
            await self._receive(connection, data)
        except Malformed as error:
            connection.refuse(Invalid(f"a frame cannot be read: {error}", field="frame"))
        except AtollError as error:
            connection.refuse(error)

    async def _receive(self, connection: RoomConnection, data: bytes) -> None:
        if len(data) > FRAME_BYTES:
            raise LimitReached(
                f"an update has more than {MAX_UPDATE_BYTES} bytes", code="too_large"
            )
        presences = self._audience.presences
        match await self._read(partial(read_frame, data), data):
            case SyncStep1(clocks):
                await connection.pace_document()
                await self._work.put(SyncRequest(connection, clocks))
            case SyncStep2(update) | SyncUpdate(update):
                parsed = await self._read(partial(read_update, update), update)
                connection.in_hand += 1
                await self._work.put(Arrival(connection, parsed, update))
            case AwarenessUpdate(said):
                for presence in said:
                    presences.hear(connection, presence, self._ports.ground.clock.now())
            case AwarenessQuery():
                connection.show(presences.all())

    async def _read(self, read: Callable[[], Parsed], data: bytes) -> Parsed:
        """Return what bytes of a connection hold; large ones are read beside the loop."""
        return read() if len(data) < THREAD_BYTES else await self._ports.documents.beside(read)

    async def run(self) -> None:
        """Serve the dashboard until nobody is connected to it. Raises nothing."""
        dashboard, ports = self._audience.dashboard, self._ports
        try:
            with ports.live.subscribe(dashboard.org_id, channel_of(dashboard.id)) as live:
                await self._work.load()
                self._opened.set_result(None)
                self._work.tell(Present(ports.replica, asks=True))
                await self._serve(live)
            await ports.documents.compact(dashboard.id)
        except asyncio.CancelledError:
            self._fail(Unavailable("the server stops: connect again"))
            raise
        except Exception as error:  # noqa: BLE001 - the root of a task, for which people wait
            self._fail(_reason(error, dashboard))

    def _fail(self, error: AtollError) -> None:
        self.closing = True
        if not self._opened.done():
            self._opened.set_exception(error)
            self._opened.exception()  # marked as seen: nobody may be waiting
        for connection in list(self._audience.connections):
            connection.close(error)

    async def _serve(self, live: LiveSubscription) -> None:
        async with asyncio.TaskGroup() as tasks:
            beside = [
                tasks.create_task(self._listen(live)),
                tasks.create_task(self._show_presence()),
                tasks.create_task(self._watch()),
            ]
            await self._work.run(tasks)
            for task in beside:
                task.cancel()
        self._show(self._audience.presences.take_changes())

    async def _listen(self, live: LiveSubscription) -> None:
        while True:
            payload = await live.receive()
            message = None if isinstance(payload, Missed) else read(payload)
            if message is None:
                await self._work.put(Look())
            elif message.source != self._ports.replica:
                await self._hear(message)

    async def _hear(self, message: LiveMessage) -> None:
        presences = self._audience.presences
        match message:
            case Changed():
                await self._work.put(Look(message.updates))
            case Present():
                presences.hear_replica(message.clients, self._ports.ground.clock.now())
                if message.asks:
                    self._work.tell(Present(self._ports.replica, presences.here()))
            case Reconsider():
                self._reconsider.set()

    async def _show_presence(self) -> None:
        while True:
            size = self._show(self._audience.presences.take_changes())
            await asyncio.sleep(max(PRESENCE_SECONDS, size / PRESENCE_BYTES_PER_SECOND))

    def _show(self, changes: PresenceChanges) -> int:
        """Show changes of presence, and return how many bytes that took."""
        for_clients, for_replicas = changes
        if for_replicas:
            self._work.tell(Present(self._ports.replica, for_replicas))
        if not for_clients:
            return 0
        for connection in list(self._audience.connections):
            connection.show(for_clients)
        size = len(spell_frame(AwarenessUpdate(tuple(for_clients))))
        return size * len(self._audience.connections)

    async def _watch(self) -> None:
        while not self.closing:
            # Not `wait_for`, which may lose a cancellation.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._reconsider.wait()
            self._reconsider.clear()
            self._audience.presences.forget_silent(self._ports.ground.clock.now())
            if not self.closing:
                await self._look()
        await self._work.put(Stop())

    async def _look(self) -> None:
        """Compare with the store what is known of the dashboard, and of everybody's role."""
        former = self._audience.dashboard
        async with self._ports.ground.store.read() as rows:
            dashboard = await rows.dashboards.get(former.id)
            head = await rows.documents.head(former.id)
        if dashboard is None or dashboard.deleted_at is not None:
            self._fail(unknown(former.id))
            return
        self._audience.dashboard = dashboard
        for connection in list(self._audience.connections):
            if dashboard.name != former.name:
                connection.tell("renamed", name=dashboard.name)
            if await self._has_left(connection.caller):
                connection.close(Unauthenticated(LINK_OVER))
                continue
            await self._set_role(connection, dashboard)
        if head > self._work.seq:
            await self._work.put(Look())

    async def _has_left(self, caller: Principal) -> bool:
        """Report whether a guest's link is over or was revoked."""
        if caller.guest_access is None:
            return False
        async with self._ports.ground.store.read() as rows:
            return await is_link_over(rows, caller, self._ports.ground.clock.now())

    async def _set_role(self, connection: RoomConnection, dashboard: Dashboard) -> None:
        current = await self._ports.memberships.current(connection.caller)
        role: DashboardRole | None = None if current is None else role_of(current, dashboard)
        if role is None:
            connection.close(unknown(dashboard.id))
        elif role is not connection.role:
            connection.role = role
            connection.tell("role", role=role.value)
            if role.edits:
                connection.send(self._work.sync_request())


def _reason(error: Exception, dashboard: Dashboard) -> AtollError:
    """Return the error that connections are closed with."""
    cause: BaseException = error
    while isinstance(cause, BaseExceptionGroup):
        cause = cause.exceptions[0]
    if isinstance(cause, AtollError):
        return cause
    _log.error("dashboard_failed", dashboard=dashboard.id, exc_info=error)
    return Unavailable("the dashboard cannot be served now: connect again")


class Rooms:
    """The open dashboards of this replica."""

    def __init__(
        self,
        ground: Ground,
        live: LiveChannels,
        documents: DocumentStore,
        *,
        mentions: DashboardMentions,
        memberships: Memberships,
        runner: TaskRunner,
    ) -> None:
        self._store = ground.store
        self._ports = RoomPorts(
            ground, live, documents, mentions, memberships, secrets.token_hex(8)
        )
        self._runner = runner
        self._rooms: dict[DashboardId, Room] = {}

    @asynccontextmanager
    async def attach(
        self, caller: Principal, dashboard_id: str
    ) -> AsyncIterator[tuple[Room, RoomConnection]]:
        """Yield an open dashboard and the caller's connection to it. Raises `NotFound`,
        `LimitReached`, and `Unavailable`."""
        async with self._store.read() as rows:
            row = await rows.dashboards.get(DashboardId(dashboard_id))
        dashboard = check_seen(caller, row, dashboard_id)
        role = role_of(caller, dashboard)
        if role is None:
            raise unknown(dashboard_id)
        room, connection = self._room(dashboard), RoomConnection(caller, role)
        room.enter(connection)
        try:
            await self._wait_until_open(room)
            room.welcome(connection, LIMITS)
            yield room, connection
        finally:
            room.leave(connection)

    def reconsider(self, dashboard: Dashboard) -> None:
        """Have every replica on which a dashboard is open look at its row again."""
        room = self._rooms.get(dashboard.id)
        if room is not None:
            room.reconsider()
        what = Reconsider(self._ports.replica)
        send(self._ports.live, dashboard.org_id, dashboard.id, what)

    def present(self, dashboard_id: DashboardId) -> dict[PrincipalId, str]:
        """Return the people on a dashboard, with their names. Where it is open on other replicas
        alone, this one knows of nobody."""
        room = self._rooms.get(dashboard_id)
        return {} if room is None else room.present()

    async def _wait_until_open(self, room: Room) -> None:
        """Wait until a room is open. Raises `Unavailable` when that takes too long."""
        try:
            async with asyncio.timeout(OPEN_SECONDS):
                await room.opened()
        except TimeoutError:
            raise Unavailable("the dashboard did not open in time: connect again") from None

    def _room(self, dashboard: Dashboard) -> Room:
        room = self._rooms.get(dashboard.id)
        if room is not None and not room.closing:
            return room
        if room is None and len(self._rooms) >= MAX_ROOMS:
            raise LimitReached("too many dashboards are open on this server: close one first")
        room = Room(self._ports, dashboard)
        self._rooms[dashboard.id] = room
        self._runner.start(lambda: self._run(dashboard.id, room))
        return room

    async def _run(self, dashboard_id: DashboardId, room: Room) -> None:
        try:
            await room.run()
        finally:
            if self._rooms.get(dashboard_id) is room:
                del self._rooms[dashboard_id]
