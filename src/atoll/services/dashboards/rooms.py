"""The dashboards that are open on this replica, and the way into one."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from atoll.domain.dashboards.change import MAX_DOCUMENT_BYTES, MAX_UPDATE_BYTES
from atoll.domain.dashboards.dashboard import Dashboard, check_seen, role_of, unknown
from atoll.domain.dashboards.item import MAX_ITEMS, MAX_TEXT_BYTES
from atoll.domain.errors import LimitReached, Unavailable
from atoll.domain.ids import DashboardId, PrincipalId
from atoll.domain.people.principal import Principal
from atoll.ports.bus import LiveChannels
from atoll.services.dashboards.connections import RoomConnection
from atoll.services.dashboards.live_messages import Reconsider, send
from atoll.services.dashboards.loading import DocumentStore
from atoll.services.dashboards.mentions import DashboardMentions
from atoll.services.dashboards.room import Room
from atoll.services.dashboards.work import RoomPorts
from atoll.services.ground import Ground
from atoll.services.people.memberships import Memberships
from atoll.services.task_runner import TaskRunner

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
            found = await rows.dashboards.get(DashboardId(dashboard_id))
        dashboard = check_seen(caller, found, dashboard_id)
        role = role_of(caller, dashboard)
        if role is None:
            raise unknown(dashboard_id)
        room, connection = self._room(dashboard), RoomConnection(caller, role)
        room.enter(connection)
        try:
            await self._opened(room)
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

    async def _opened(self, room: Room) -> None:
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
