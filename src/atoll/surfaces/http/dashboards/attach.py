"""The WebSocket of an open dashboard: binary frames of y-protocols, text frames of JSON.

The server says `welcome` first, `refused` for an update that it did not apply, and `heartbeat` at
intervals where `?heartbeat=true` asks for it.
"""

import asyncio
from typing import Final

from starlette.websockets import WebSocket, WebSocketDisconnect

from atoll.domain.errors import AtollError, LimitReached, Unauthenticated
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.services.application import Application
from atoll.services.dashboards.connections import Closing, RoomConnection
from atoll.services.dashboards.rooms import Room
from atoll.surfaces.http.body.queries import socket_flag
from atoll.surfaces.http.server.guard import REVOKED
from atoll.surfaces.http.serving.routes import Sockets
from atoll.surfaces.http.terminals.relay import NORMAL, close, code_of
from atoll.wire.attach import HEARTBEAT_SECONDS, Heartbeat, encode

sockets = Sockets()

TOO_MUCH: Final = 4429
"""The close code of a client that sent too much, or of too many connections."""


@sockets.serves(
    "/v1/dashboards/{dashboard}/attach", Capability.DASHBOARD_READ, takes=("heartbeat",)
)
async def attach_dashboard(
    socket: WebSocket, atoll: Application, caller: Principal, dashboard: str
) -> None:
    """Edit or watch a dashboard's document together with others."""
    try:
        beats = socket_flag(socket, "heartbeat")
        async with atoll.dashboards.rooms.attach(caller, dashboard) as (room, connection):
            try:
                await socket.accept()
            except OSError:
                return  # the client went before it was answered
            await _both_ways(socket, room, connection, beats=beats)
    except AtollError as error:
        await close(socket, _code(error), error.message)


async def _both_ways(
    socket: WebSocket, room: Room, connection: RoomConnection, *, beats: bool
) -> None:
    async with asyncio.TaskGroup() as group:
        down = group.create_task(_relay_to_client(socket, connection))
        up = group.create_task(_relay_to_room(socket, room, connection))
        down.add_done_callback(lambda _: up.cancel())
        up.add_done_callback(lambda _: down.cancel())
        if beats:
            beat = group.create_task(_beat(connection))
            down.add_done_callback(lambda _: beat.cancel())


async def _beat(connection: RoomConnection) -> None:
    """Show a client that the connection is alive: a browser sees no pings."""
    while True:
        connection.send(encode(Heartbeat(round(HEARTBEAT_SECONDS * 1000))))
        await asyncio.sleep(HEARTBEAT_SECONDS)


async def _relay_to_client(socket: WebSocket, connection: RoomConnection) -> None:
    try:
        while not isinstance(frame := await connection.next(), Closing):
            kind = "text" if isinstance(frame, str) else "bytes"
            await socket.send({"type": "websocket.send", kind: frame})
    except (WebSocketDisconnect, OSError):
        return
    error = frame.error
    code, words = (NORMAL, "") if error is None else (_code(error), error.message)
    await close(socket, code, words)


async def _relay_to_room(socket: WebSocket, room: Room, connection: RoomConnection) -> None:
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            return
        data = message.get("bytes")
        if data is None:
            # A newer page may say in JSON what this server does not know; it counts all the same.
            await connection.pace(len(message["text"]))
        else:
            await room.receive(connection, data)


def _code(error: AtollError) -> int:
    if isinstance(error, Unauthenticated):
        return REVOKED
    return TOO_MUCH if isinstance(error, LimitReached) else code_of(error)
