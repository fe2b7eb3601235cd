"""A seat at a terminal for a client whose own connection is handed over
(docs/program/runtime-contract.md).

The control plane asks on its unix socket and is answered 101; once the client has its seat one
byte says so. Then the control plane finishes the client's handshake and passes its socket with
SCM_RIGHTS (unix(7)): nothing but frames passes on it here. What it asked on stays as the tether:
its word closes the client, and its end too: nobody stays for whom no control plane answers.
"""

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable, Coroutine

from aiohttp import web

from atoll.domain.errors import Invalid, LimitReached
from atoll.domain.terminal.turn import Party
from atoll.runtime.parts import Parts
from atoll.runtime.terminals.viewers.arrival import fresh_client, read_arrival
from atoll.runtime.terminals.viewers.attach import MAX_VIEWERS, Sitting
from atoll.runtime.terminals.viewers.socket_link import HandedConnection
from atoll.runtime.terminals.viewers.viewer import Viewer

PROTOCOL = "atoll-seat"
HAND_OVER_SECONDS = 10.0
MAX_WORDS = 256
CLOSE_UNTETHERED = 1013
NEVER_CAME = CLOSE_UNTETHERED, "the client never came"


async def seat(request: web.Request, parts: Parts) -> web.StreamResponse:
    """`GET /sessions/{id}/seat`. Raises `Invalid`, `NotFound` and `LimitReached` before 101."""
    arrival = read_arrival(request)
    terminal = parts.terminals.get(request.match_info["id"])
    asked = request.transport
    upgrades = request.headers.get("Upgrade") == PROTOCOL
    own = None if asked is None else asked.get_extra_info("socket")
    if not upgrades or asked is None or own is None or own.family != socket.AF_UNIX:
        raise Invalid(f"a seat is given on a unix socket, by an upgrade to {PROTOCOL}")
    if terminal.viewers >= MAX_VIEWERS:
        raise LimitReached(f"{MAX_VIEWERS} viewers watch this terminal; close one first")
    # What comes next is no HTTP, and holds a descriptor that only recvmsg(2) takes.
    asked.pause_reading()
    response = web.StreamResponse(status=101, headers={"Upgrade": PROTOCOL})
    response.force_close()
    tether = _Tether(socket.socket(fileno=os.dup(own.fileno())), parts.control_plane.cut)
    try:
        await response.prepare(request)
        connection = HandedConnection(tether.announce)
        client = terminal.client_for(arrival.principal, arrival.client, fresh_client())
        party = Party(arrival.principal, arrival.name, client, arrival.role)
        sitting = Sitting(terminal, Viewer(party, connection, terminal), parts.activity)
        await _held(sitting.serve(arrival), connection, tether)
    finally:
        tether.close()
    return response


async def _held(
    sitting: Coroutine[None, None, None], connection: HandedConnection, tether: "_Tether"
) -> None:
    """Serve until the sitting is over; the tether may end it."""

    async def heed() -> None:
        handed = await tether.handed()
        if handed is None:
            await connection.close(*NEVER_CAME)
        else:
            connection.take(handed)
            await connection.close(*await tether.word())

    async with asyncio.TaskGroup() as group:
        heeding = group.create_task(heed())
        await sitting
        await connection.close(1000, "")
        heeding.cancel()


class _Tether:
    """The control plane's end of one seat, as a descriptor of our own. `cut` is called when that
    end is gone without a reason."""

    def __init__(self, own: socket.socket, cut: Callable[[], None]) -> None:
        own.setblocking(False)
        self._own = own
        self._cut = cut
        self._loop = asyncio.get_running_loop()

    async def handed(self) -> socket.socket | None:
        """The client's socket, None when the control plane changed its mind."""
        with contextlib.suppress(TimeoutError, OSError):
            async with asyncio.timeout(HAND_OVER_SECONDS):
                await self._readable()
            _, fds, _, _ = socket.recv_fds(self._own, 1, 4)
            if not fds:
                return None
            first, *rest = fds
            for other in rest:
                os.close(other)
            return _connection(first)
        return None

    def announce(self) -> None:
        """The client has its seat."""
        with contextlib.suppress(OSError):
            self._own.send(b"\1")

    async def word(self) -> tuple[int, str]:
        """Why the client must go: a code in two bytes, and a reason."""
        said = b""
        with contextlib.suppress(OSError):
            said = await self._loop.sock_recv(self._own, MAX_WORDS)
        if len(said) < 2:
            self._cut()
            return CLOSE_UNTETHERED, "the control plane is gone; come back"
        return int.from_bytes(said[:2], "big"), said[2:].decode("utf-8", "replace")

    def close(self) -> None:
        """Let go."""
        self._own.close()

    async def _readable(self) -> None:
        ready = asyncio.Event()
        self._loop.add_reader(self._own, ready.set)
        try:
            await ready.wait()
        finally:
            self._loop.remove_reader(self._own)


def _connection(fd: int) -> socket.socket | None:
    """What was handed over, as a socket; None, and closed, when that is nothing of the kind."""
    try:
        return socket.socket(fileno=fd)
    except OSError:
        os.close(fd)
        return None
