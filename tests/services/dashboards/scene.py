"""Dashboards without HTTP: replicas on one database and one bus, and browsers joined to them."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pycrdt import Doc, Map, Text

from atoll.adapters.bus.in_process import InProcessBus
from atoll.adapters.bus.live_channels import InProcessChannels
from atoll.adapters.clocks import SystemClock
from atoll.adapters.documents.documents import YrsDocuments
from atoll.adapters.storage.store import Settings, open_store
from atoll.domain.errors import AtollError
from atoll.domain.ids import PERSONAL_ORG, OrgId, PrincipalId
from atoll.domain.people.capability import capabilities_of
from atoll.domain.people.organization import Member
from atoll.domain.people.principal import Principal
from atoll.services.dashboards.connections import Closing, RoomConnection
from atoll.services.dashboards.dashboards import Dashboards
from atoll.services.dashboards.documents import DocumentStore
from atoll.services.dashboards.mentions import DashboardMentions
from atoll.services.dashboards.rooms import Room, Rooms
from atoll.services.ground import Ground
from atoll.services.identifiers import Identifiers
from atoll.services.people.memberships import Memberships
from atoll.services.task_runner import TaskRunner
from atoll.wire.crdt.frames import (
    AwarenessQuery,
    AwarenessUpdate,
    Presence,
    SyncStep1,
    SyncStep2,
    SyncUpdate,
    read_clocks,
    read_frame,
    spell_clocks,
    spell_frame,
)
from atoll.wire.words.dashboards import DashboardScope
from atoll.wire.words.events import ActorKind
from atoll.wire.words.people import OrgRole
from tests.peers.databases.chosen import database_url

SECONDS = 5.0


def item_id(number: int) -> str:
    return f"itm_{number:016d}"


def person(name: str, role: OrgRole = OrgRole.MEMBER, org: str = "acme") -> Principal:
    return Principal(
        OrgId(org),
        PrincipalId(name),
        ActorKind.PERSON,
        name=name.capitalize(),
        capabilities=capabilities_of(role),
    )


class LossyChannels(InProcessChannels):
    """Channels that lose messages while `loses` is set, without a word."""

    loses = False

    def publish(self, org_id: OrgId, channel: str, payload: bytes) -> None:
        if not self.loses:
            super().publish(org_id, channel, payload)


@dataclass
class Replica:
    """A control plane, as far as dashboards need one."""

    rooms: Rooms
    boards: Dashboards
    running: asyncio.Task[None]

    def kill(self) -> None:
        self.running.cancel()


@dataclass
class Scene:
    """A database, a bus, and what starts replicas on them."""

    ground: Ground
    live: LossyChannels
    documents: DocumentStore
    tasks: asyncio.TaskGroup
    replicas: list[Replica] = field(default_factory=list)

    def replica(self) -> Replica:
        runner = TaskRunner()
        rooms = Rooms(
            self.ground,
            self.live,
            self.documents,
            mentions=DashboardMentions(self.ground),
            memberships=Memberships(self.ground),
            runner=runner,
        )
        boards = Dashboards(self.ground, self.documents, rooms)
        made = Replica(rooms, boards, self.tasks.create_task(runner.run()))
        self.replicas.append(made)
        return made

    def kill(self) -> None:
        for one in self.replicas:
            one.kill()

    async def board(self, scope: DashboardScope = DashboardScope.SHARED) -> str:
        made = await self.replicas[0].boards.create(person("ann"), "Board", scope=scope)
        return made.dashboard.id

    async def join(self, who: Principal, role: OrgRole) -> None:
        member = Member(
            who.org_id, who.id, who.kind, who.name, "", role, (), self.ground.clock.now()
        )
        async with self.ground.store.begin() as rows:
            await rows.members.put(member)

    async def stored(self, board: str) -> Any:
        """The items as the store has them, in the form of a browser's."""
        loaded = await self.documents.load(board)  # type: ignore[arg-type]
        tab = Tab()
        tab.doc.apply_update(loaded.document.missing({}))
        return tab.state()


@asynccontextmanager
async def scene(folder: Path) -> AsyncIterator[Scene]:
    """A team of `ann`, `bob` and the viewer `eve`, with one replica."""
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(open_store(Settings(database_url(folder))))
        ground = Ground(store, InProcessBus(), SystemClock(), Identifiers())
        tasks = await stack.enter_async_context(asyncio.TaskGroup())
        made = Scene(ground, LossyChannels(), DocumentStore(ground, YrsDocuments()), tasks)
        stack.callback(made.kill)
        made.replica()
        for name, role in (("ann", OrgRole.MEMBER), ("bob", OrgRole.MEMBER)):
            await made.join(person(name), role)
        await made.join(person("eve"), OrgRole.VIEWER)
        assert OrgId("acme") != PERSONAL_ORG
        yield made


class Tab:
    """A browser's document, and its connection while it has one. What is edited while it has none
    is sent when it is back."""

    def __init__(self, client: int | None = None) -> None:
        self.doc: Any = Doc(client_id=client)
        self.items: Any = self.doc.get("items", type=Map)
        self.said: list[dict[str, Any]] = []
        self.presences: dict[int, Presence] = {}
        self.closed: list[AtollError | None] = []
        self._out: list[bytes] = []
        self._room: Room | None = None
        self._connection: RoomConnection | None = None
        self._theirs = False
        self._answered = False
        self._news = asyncio.Event()
        self._kept = self.doc.observe(self._note)

    @property
    def client(self) -> int:
        return int(self.doc.client_id)

    @property
    def connected(self) -> bool:
        return self._connection is not None

    def _note(self, event: Any) -> None:
        if not self._theirs and self._connection is not None:
            self._out.append(spell_frame(SyncUpdate(bytes(event.update))))

    @asynccontextmanager
    async def joined(self, replica: Replica, board: str, who: Principal) -> AsyncIterator["Tab"]:
        async with (
            replica.rooms.attach(who, board) as (self._room, self._connection),
            asyncio.TaskGroup() as group,
        ):
            # What was made meanwhile is part of the answer to the server's question.
            self._out, self._answered = [], False
            reader = group.create_task(self._read(self._connection))
            await self.send(spell_frame(SyncStep1(read_clocks(self.doc.get_state()))))
            try:
                yield self
            finally:
                self._connection = None
                reader.cancel()

    async def send(self, frame: bytes) -> None:
        assert self._room is not None and self._connection is not None
        await self._room.receive(self._connection, frame)

    async def flush(self) -> None:
        """Send what was edited, as the page does: not before the server's question was answered."""
        if not self._answered:
            return
        out, self._out = self._out, []
        for frame in out:
            await self.send(frame)

    async def present(self, clock: int, state: object, client: int | None = None) -> None:
        one = Presence(client or self.client, clock, json.dumps(state))
        await self.send(spell_frame(AwarenessUpdate((one,))))

    @property
    def is_idle(self) -> bool:
        """Return whether all that was edited is stored."""
        return not self._out and (self._connection is None or not self._connection.in_hand)

    async def until(self, what: Callable[[], object]) -> None:
        await self.flush()
        async with asyncio.timeout(SECONDS):
            while not what():
                self._news.clear()
                await self._news.wait()
                if self._connection is not None:
                    await self.flush()

    async def told(self, kind: str) -> dict[str, Any]:
        await self.until(lambda: any(one["type"] == kind for one in self.said))
        found = next(one for one in self.said if one["type"] == kind)
        self.said.remove(found)
        return found

    async def saved(self) -> None:
        self.said = [one for one in self.said if one["type"] != "saved"]
        await self.told("saved")

    def add(self, number: int, text: str = "", **fields: object) -> None:
        made = {"kind": "note", "x": number, "y": 0, "w": 200, "h": 100, "z": 1, **fields}
        self.items[item_id(number)] = Map({**made, "text": Text(text)})

    def state(self) -> Any:
        return self.items.to_py()

    async def _read(self, connection: RoomConnection) -> None:
        while True:
            found = await connection.next()
            if isinstance(found, Closing):
                self.closed.append(found.error)
            elif isinstance(found, str):
                self.said.append(json.loads(found))
            else:
                await self._hear(found)
            self._news.set()
            if isinstance(found, Closing):
                return

    async def _hear(self, data: bytes) -> None:
        match read_frame(data):
            case SyncStep1(clocks):
                update = self.doc.get_update(spell_clocks(clocks))
                self._out, self._answered = [spell_frame(SyncStep2(bytes(update)))], True
                self._news.set()
            case SyncStep2(update) | SyncUpdate(update):
                self._answered = True
                self._theirs = True
                self.doc.apply_update(update)
                self._theirs = False
            case AwarenessUpdate(presences):
                self.presences.update({one.client: one for one in presences})
            case AwarenessQuery():
                raise AssertionError("a server asks nobody")
