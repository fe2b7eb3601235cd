"""Handover of a client's own connection to a terminal (docs/program/runtime-contract.md).

The control plane sends a request on its unix socket and receives 101. One byte reports that the
client has joined the terminal. The control plane then finishes the client's handshake and passes
its socket with SCM_RIGHTS (unix(7)), on which only frames travel. The request's connection stays
open as the handover socket: a close code on it ends the client, and so does its end.
"""

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable, Coroutine

from aiohttp import web

from atoll.domain.errors import Invalid, LimitReached
from atoll.runtime.api.attach import client_at, read_attach_request
from atoll.runtime.api.parts import parts_of
from atoll.runtime.terminals.attach import MAX_VIEWERS, AttachSession
from atoll.runtime.terminals.viewers.socket_link import SocketLink

PROTOCOL = "atoll-seat"
HAND_OVER_SECONDS = 10.0
MAX_CLOSE_BYTES = 256
CLOSE_NO_CONTROL_PLANE = 1013
NEVER_CAME = CLOSE_NO_CONTROL_PLANE, "the client never came"


async def hand_over(request: web.Request) -> web.StreamResponse:
    """Serve `GET /sessions/{id}/seat`. Raises `Invalid`, `NotFound` and `LimitReached` before
    101."""
    attach_request, parts = read_attach_request(request), parts_of(request)
    terminal = parts.terminals.get(request.match_info["id"])
    asked = request.transport
    upgrades = request.headers.get("Upgrade") == PROTOCOL
    own = None if asked is None else asked.get_extra_info("socket")
    if not upgrades or asked is None or own is None or own.family != socket.AF_UNIX:
        raise Invalid(f"a handover needs a unix socket and an upgrade to {PROTOCOL}")
    if terminal.viewers >= MAX_VIEWERS:
        raise LimitReached(f"{MAX_VIEWERS} viewers watch this terminal; close one first")
    # What comes next is no HTTP, and holds a descriptor that only recvmsg(2) takes.
    asked.pause_reading()
    response = web.StreamResponse(status=101, headers={"Upgrade": PROTOCOL})
    response.force_close()
    handover = _HandoverSocket(socket.socket(fileno=os.dup(own.fileno())), parts.control_plane.cut)
    try:
        await response.prepare(request)
        connection = SocketLink(handover.announce)
        client = client_at(terminal, attach_request)
        session = AttachSession(
            terminal, client, connection, attach_request, activity=parts.activity
        )
        await _serve(session.serve(), connection, handover)
    finally:
        handover.close()
    return response


async def _serve(
    session: Coroutine[None, None, None], connection: SocketLink, handover: "_HandoverSocket"
) -> None:
    """Serve until the session is over, or the control plane closes it."""

    async def close_on_request() -> None:
        handed = await handover.receive_socket()
        if handed is None:
            await connection.close(*NEVER_CAME)
        else:
            connection.take(handed)
            await connection.close(*await handover.receive_close())

    async with asyncio.TaskGroup() as group:
        closing = group.create_task(close_on_request())
        await session
        await connection.close(1000, "")
        closing.cancel()


class _HandoverSocket:
    """The control plane's connection for one handover, as a descriptor of our own. Calls `cut`
    when it ends without a close code."""

    def __init__(self, own: socket.socket, cut: Callable[[], None]) -> None:
        own.setblocking(False)
        self._own = own
        self._cut = cut
        self._loop = asyncio.get_running_loop()

    async def receive_socket(self) -> socket.socket | None:
        """Return the client's socket, or None when the control plane sends none in time."""
        with contextlib.suppress(TimeoutError, OSError):
            async with asyncio.timeout(HAND_OVER_SECONDS):
                await self._wait_readable()
            _, fds, _, _ = socket.recv_fds(self._own, 1, 4)
            if not fds:
                return None
            first, *rest = fds
            for other in rest:
                os.close(other)
            return _connection(first)
        return None

    def announce(self) -> None:
        """Report that the client has joined."""
        with contextlib.suppress(OSError):
            self._own.send(b"\1")

    async def receive_close(self) -> tuple[int, str]:
        """Wait for the close code, two bytes, and the reason to close the client with."""
        frame = b""
        with contextlib.suppress(OSError):
            frame = await self._loop.sock_recv(self._own, MAX_CLOSE_BYTES)
        if len(frame) < 2:
            self._cut()
            return CLOSE_NO_CONTROL_PLANE, "the control plane is gone; come back"
        return int.from_bytes(frame[:2], "big"), frame[2:].decode("utf-8", "replace")

    def close(self) -> None:
        """Close the socket."""
        self._own.close()

    async def _wait_readable(self) -> None:
        """Wait until the socket can be read."""
        ready = asyncio.Event()
        self._loop.add_reader(self._own, ready.set)
        try:
            await ready.wait()
        finally:
            self._loop.remove_reader(self._own)


def _connection(fd: int) -> socket.socket | None:
    """Return the descriptor as a socket; close it and return None when it is none."""
    try:
        return socket.socket(fileno=fd)
    except OSError:
        os.close(fd)
        return None
