"""A browser tab on a dashboard: a document of its own, joined to the server as y-websocket does."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from pycrdt import Doc, Map, Text

from atoll.wire.crdt.frames import (
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

SECONDS = 60.0


def item_id(number: int) -> str:
    return f"itm_{number:016d}"


class Tab:
    """A tab. `doc` outlives its connections."""

    def __init__(self) -> None:
        self.doc: Any = Doc()
        self.items: Any = self.doc.get("items", type=Map)
        self.said: list[dict[str, Any]] = []
        self.presences: dict[int, Presence] = {}
        self.code: int | None = None
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._changed = asyncio.Event()
        self._theirs = False
        self._kept = self.doc.observe(self._note)

    @property
    def client(self) -> int:
        return int(self.doc.client_id)

    def _note(self, event: Any) -> None:
        if not self._theirs and self._socket is not None:
            self.frames.append(spell_frame(SyncUpdate(bytes(event.update))))

    @asynccontextmanager
    async def joined(
        self, url: str, dashboard: str, token: str = "", headers: dict[str, str] | None = None
    ) -> AsyncIterator["Tab"]:
        """Be connected: by a token, or by headers."""
        self.frames: list[bytes] = []
        self.code, self.said = None, []
        headers = headers or {"Authorization": f"Bearer {token}"}
        address = f"{url}/v1/dashboards/{dashboard}/attach?heartbeat=true"
        async with (
            aiohttp.ClientSession(headers=headers) as session,
            session.ws_connect(address, max_msg_size=0) as socket,
            asyncio.TaskGroup() as group,
        ):
            self._socket = socket
            reader = group.create_task(self._read(socket))
            await self.send(SyncStep1(read_clocks(self.doc.get_state())))
            try:
                yield self
                await self.flush()
            finally:
                self._socket = None
                await socket.close()
                reader.cancel()

    async def flush(self) -> None:
        """Send what was changed."""
        frames, self.frames = self.frames, []
        for frame in frames:
            await self.send_bytes(frame)

    async def send(self, frame: Any) -> None:
        await self.send_bytes(spell_frame(frame))

    async def send_bytes(self, frame: bytes) -> None:
        assert self._socket is not None
        await self._socket.send_bytes(frame)

    async def present(self, clock: int, state: object, client: int | None = None) -> None:
        one = Presence(client or self.client, clock, json.dumps(state))
        await self.send(AwarenessUpdate((one,)))

    async def until(self, what: Callable[[], object]) -> None:
        """Return once something holds."""
        await self.flush()
        async with asyncio.timeout(SECONDS):
            while not what():
                self._changed.clear()
                await self.flush()
                await self._changed.wait()

    async def told(self, kind: str) -> dict[str, Any]:
        """Return the next message of this kind, and forget it."""
        await self.until(lambda: any(one["type"] == kind for one in self.said))
        found = next(one for one in self.said if one["type"] == kind)
        self.said.remove(found)
        return found

    async def saved(self) -> None:
        """Have changes sent, and return once they are durable."""
        self.said = [one for one in self.said if one["type"] != "saved"]
        await self.flush()
        await self.told("saved")

    def add(self, number: int, text: str = "", **fields: object) -> None:
        """Put a note on the dashboard."""
        made = {"kind": "note", "x": number, "y": 0, "w": 200, "h": 100, "z": 1, **fields}
        self.items[item_id(number)] = Map({**made, "text": Text(text)})

    def state(self) -> Any:
        return self.items.to_py()

    async def _read(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        async for message in socket:
            if message.type is aiohttp.WSMsgType.TEXT:
                self.said.append(json.loads(message.data))
            elif message.type is aiohttp.WSMsgType.BINARY:
                await self._hear(message.data)
            self._changed.set()
        self.code = socket.close_code
        self._changed.set()

    async def _hear(self, data: bytes) -> None:
        frame = read_frame(data)
        match frame:
            case SyncStep1(clocks):
                update = self.doc.get_update(spell_clocks(clocks))
                await self.send(SyncStep2(bytes(update)))
            case SyncStep2(update) | SyncUpdate(update):
                self._theirs = True
                self.doc.apply_update(update)
                self._theirs = False
            case AwarenessUpdate(presences):
                self.presences.update({one.client: one for one in presences})
            case _:
                raise AssertionError(frame)
