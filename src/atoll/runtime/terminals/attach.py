"""A WebSocket on a terminal: the handshake, the frames a client sends, and silence.

Sending is `viewer`'s. This reads, and ends the connection for the reasons of the contract.
"""

import asyncio
import logging
import os
import re

from aiohttp import WSMessage, WSMsgType, web

from atoll.domain.errors import Invalid, LimitReached, NotFound
from atoll.domain.ids import ID_ENTROPY_BYTES, spell
from atoll.domain.terminal.size import Size, clamp
from atoll.runtime.health import Activity
from atoll.runtime.requests import query_integer
from atoll.runtime.terminals.connection import Connection
from atoll.runtime.terminals.terminal import Terminal
from atoll.runtime.terminals.terminals import Terminals
from atoll.runtime.terminals.viewer import CLOSE_FAILED, CLOSE_SILENT, CLOSE_UNKNOWN, Viewer
from atoll.wire.attach import Ack, BadFrame, Refused, Resize, Resync, Start, decode_client, pack

log = logging.getLogger("atoll.runtime")

ACK_EVERY = 64 * 1024
PING_SECONDS = 25.0
MISSED_PONGS = 2
MAX_VIEWERS = 64
_CLIENT = re.compile(r"[A-Za-z0-9._:-]{1,64}")


async def attach(
    request: web.Request, terminals: Terminals, activity: Activity
) -> web.StreamResponse:
    """`WS /sessions/{id}/attach`. Raises `Invalid` before the upgrade for a bad query."""
    client, since, wish = _query(request)
    connection = Connection(request)
    if not connection.possible:
        raise Invalid("attach is a WebSocket: send an upgrade request")
    try:
        terminal = terminals.get(request.match_info["id"])
    except NotFound:
        await connection.accept()
        await connection.close(CLOSE_UNKNOWN, "no such session")
        return connection.response
    if terminal.viewers >= MAX_VIEWERS:
        raise LimitReached(f"{MAX_VIEWERS} viewers watch this terminal; close one first")
    await connection.accept()
    await _Seat(terminal, Viewer(client, connection, terminal), activity).serve(since, wish)
    return connection.response


class _Seat:
    """One connection from its start message to its close."""

    def __init__(self, terminal: Terminal, viewer: Viewer, activity: Activity) -> None:
        self._terminal = terminal
        self._viewer = viewer
        self._connection = viewer.connection
        self._activity = activity
        self._heard = asyncio.get_running_loop().time()

    async def serve(self, since: int | None, wish: Size | None) -> None:
        """Send and receive until either side ends it."""
        try:
            await self._begin(since, wish)
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._send()), group.create_task(self._ping())]
                try:
                    await self._receive()
                finally:
                    for task in tasks:
                        task.cancel()
        except ConnectionError:
            # The peer is gone: what it had seen is kept by its cursor and acknowledgements.
            return
        except Exception:
            # The root of a connection: its defect must not end the terminal.
            log.exception("a viewer of terminal %s broke", self._terminal.spec.id)
            await self._connection.close(CLOSE_FAILED, "the runtime's log says why")
        finally:
            self._terminal.leave(self._viewer)

    async def _begin(self, since: int | None, wish: Size | None) -> None:
        """Decide where this client's bytes begin, seat it, and say so."""
        viewer, scrollback = self._viewer, self._terminal.scrollback
        preamble, lost = b"", None
        if since is not None and scrollback.start <= since <= scrollback.end:
            viewer.cursor = since
        else:
            cut = scrollback.first_cut()
            viewer.cursor = cut.offset
            # A terminal watched from its first byte needs nothing set.
            preamble = cut.preamble() if cut.offset or since is not None else b""
            if since is not None and since < cut.offset:
                lost = Resync(since, cut.offset, pack(preamble))
        exact = not preamble
        await self._terminal.join(viewer, viewer.cursor, wish)
        await self._connection.tell(self._start(b"" if lost else preamble, lost))
        if lost is not None:
            await self._connection.tell(lost)
        if not exact:
            self._terminal.nudge()

    def _start(self, preamble: bytes, lost: Resync | None) -> Start:
        size = self._terminal.size
        return Start(
            offset=lost.start if lost is not None else self._viewer.cursor,
            preamble=pack(preamble),
            cols=size.cols,
            rows=size.rows,
            client=self._viewer.client,
            driver=self._terminal.driver,
            title=self._terminal.title,
            ack_every=ACK_EVERY,
        )

    async def _send(self) -> None:
        """The sender; a connection that breaks under it ends by the receiver."""
        try:
            await self._viewer.run()
        except ConnectionError:
            return

    async def _ping(self) -> None:
        """Ask for a sign of life; close a connection that gives none."""
        clock = asyncio.get_running_loop().time
        while not self._connection.closed:
            await asyncio.sleep(PING_SECONDS)
            if clock() - self._heard > PING_SECONDS * MISSED_PONGS:
                await self._connection.close(CLOSE_SILENT, "no pong")
                return
            try:
                await self._connection.ping()
            except ConnectionError:
                return

    async def _receive(self) -> None:
        """Take frames until the connection closes."""
        clock = asyncio.get_running_loop().time
        while (message := await self._connection.receive()) is not None:
            self._heard = clock()
            await self._take(message)

    async def _take(self, message: WSMessage) -> None:
        if message.type == WSMsgType.BINARY:
            self._typed(message.data)
        elif message.type == WSMsgType.TEXT:
            self._told(message.data)
        elif message.type == WSMsgType.PING:
            await self._connection.pong(message.data)

    def _typed(self, data: bytes) -> None:
        if not data:
            return
        if self._terminal.type(self._viewer, data):
            self._activity.touch()
            return
        ended = self._terminal.ending is not None
        code = "ended" if ended else "input_full"
        why = "the terminal has ended" if ended else "the program reads no input; this was dropped"
        self._viewer.notify(Refused(code, why))

    def _told(self, text: str) -> None:
        try:
            said = decode_client(text)
        except BadFrame as error:
            self._viewer.notify(Refused("bad_frame", str(error)[:500]))
            return
        match said:
            case Ack(offset):
                if not self._terminal.acknowledge(self._viewer, offset):
                    self._viewer.notify(Refused("bad_ack", f"offset {offset} cannot be right"))
            case Resize(cols, rows):
                if not self._terminal.wish(self._viewer, clamp(cols, rows)):
                    self._viewer.notify(Refused("not_driver", "only the driver sets the size"))


def _query(request: web.Request) -> tuple[str, int | None, Size | None]:
    """Client id, `since` and the wished size."""
    client = request.query.get("client") or spell("c", os.urandom(ID_ENTROPY_BYTES))
    if not _CLIENT.fullmatch(client):
        raise Invalid("client must be 1 to 64 letters, digits, . _ : or -", field="client")
    since = query_integer(request, "since", -1)
    cols, rows = query_integer(request, "cols", 0), query_integer(request, "rows", 0)
    wish = clamp(cols, rows) if cols and rows else None
    return client, None if since < 0 else since, wish
