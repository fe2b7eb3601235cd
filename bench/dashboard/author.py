"""An author of a dashboard's document: it writes as a browser does, and shows nothing."""

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import aiohttp
from pycrdt import Doc, Map, Text

from atoll.wire.crdt.frames import (
    SyncStep1,
    SyncStep2,
    SyncUpdate,
    read_clocks,
    read_frame,
    spell_clocks,
    spell_frame,
)
from bench.server import Server

Items = Any
"""The map of items: pycrdt's type has no useful one for nested maps."""


def item_id(number: int) -> str:
    """Return the id of an item."""
    return f"itm_{number:016d}"


def note(text: str, **fields: object) -> Map[Any]:
    """Return a note."""
    made = {"kind": "note", "w": 160, "h": 120, "z": 1, "colour": "yellow", **fields}
    return Map({**made, "text": Text(text)})


def pane(sandbox: str, terminal: str, **fields: object) -> Map[Any]:
    """Return the pane of a terminal."""
    made = {"kind": "terminal", "z": 2, "sandbox_id": sandbox, "terminal_id": terminal}
    return Map({**made, **fields})


def write(atoll: Server, dashboard: str, *acts: Callable[[Items], None]) -> None:
    """Join as a new author, perform each act as one update, and leave once all are durable."""
    # In a thread, as the one that drives a browser has a loop already.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, _write(atoll, dashboard, acts)).result()


async def _write(atoll: Server, dashboard: str, acts: tuple[Callable[[Items], None], ...]) -> None:
    headers = {"Authorization": f"Bearer {atoll.host.token}"}
    address = f"{atoll.host.url}/v1/dashboards/{dashboard}/attach"
    async with (
        aiohttp.ClientSession(headers=headers) as session,
        session.ws_connect(address, max_msg_size=0) as socket,
    ):
        doc: Doc[Any] = Doc()
        items = doc.get("items", type=Map)
        await socket.send_bytes(spell_frame(SyncStep1(read_clocks(doc.get_state()))))
        await _joined(socket, doc)
        for act in acts:
            before = doc.get_state()
            act(items)
            await socket.send_bytes(spell_frame(SyncUpdate(bytes(doc.get_update(before)))))
            await _saved(socket)


async def _joined(socket: aiohttp.ClientWebSocketResponse, doc: "Doc[Any]") -> None:
    """Return once the document is here, and the server was told what it lacks."""
    met = False
    while not met:
        message = await socket.receive(timeout=60)
        if message.type is not aiohttp.WSMsgType.BINARY:
            continue
        match read_frame(message.data):
            case SyncStep1(clocks):
                answer = doc.get_update(spell_clocks(clocks))
                await socket.send_bytes(spell_frame(SyncStep2(bytes(answer))))
            case SyncStep2(update):
                doc.apply_update(update)
                met = True
            case _:
                pass


async def _saved(socket: aiohttp.ClientWebSocketResponse) -> None:
    while True:
        message = await socket.receive(timeout=60)
        if message.type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED):
            raise RuntimeError(f"the dashboard hung up: {message.data} {message.extra}")
        if message.type is aiohttp.WSMsgType.TEXT:
            said = json.loads(message.data)
            if said["type"] == "saved":
                return
            if said["type"] == "refused":
                raise RuntimeError(f"an update was refused: {said['message']}")
