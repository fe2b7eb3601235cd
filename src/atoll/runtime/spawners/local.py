"""An init as a plain child of this process, for tests and pods: no wall at all.

What runs in it has the rights of this process and is confined to nothing; only the end
of it is sure, because init is the subreaper of everything it started.
"""

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator
from pathlib import Path

from atoll.domain.errors import Failed
from atoll.inside.program import init_argv, init_binary
from atoll.runtime.spawners.control import ControlSocket, receive
from atoll.runtime.spawners.init import InitSpawner
from atoll.wire import init as wire

READY_SECONDS = 10.0


@contextlib.asynccontextmanager
async def local(
    root: Path,
    *,
    program: tuple[str, ...] = (),
    doors: tuple[int, ...] = (),
    nproc: int | None = None,
    listeners: list[socket.socket] | None = None,
) -> AsyncIterator[InitSpawner]:
    """Start an init whose workspace is `root`, and end everything on the way out.

    `program` is the words that run it, by default this machine's. The doors' sockets are appended
    to `listeners`, whose holder closes them. Raises `Failed` when init cannot begin.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    program = program or (str(init_binary()),)
    argv = init_argv(program, control_fd=theirs.fileno(), doors=doors, root=str(root), nproc=nproc)
    with ours:
        with theirs:
            child = await asyncio.create_subprocess_exec(
                *argv, pass_fds=(theirs.fileno(),), env={}, stdin=asyncio.subprocess.DEVNULL
            )
        try:
            ours.setblocking(False)
            ready = await _wait_for_ready(ours)
            if listeners is None:
                for door in ready:
                    door.close()
            else:
                listeners.extend(ready)
            spawner = InitSpawner(ControlSocket(ours), program=program, root=str(root))
            try:
                yield spawner
            finally:
                await spawner.close()
        finally:
            await _wait_for_end(child)


async def _wait_for_ready(control: socket.socket) -> list[socket.socket]:
    """Wait until init is ready, and return the listeners it passed. Raises `Failed`."""
    loop = asyncio.get_running_loop()
    arrived = asyncio.Event()
    loop.add_reader(control.fileno(), arrived.set)
    try:
        async with asyncio.timeout(READY_SECONDS):
            await arrived.wait()
    except TimeoutError as error:
        raise Failed(f"init did not say READY within {READY_SECONDS:g} s") from error
    finally:
        loop.remove_reader(control.fileno())
    return _listeners(receive(control))


def _listeners(arrival: tuple[bytes, list[int]] | None) -> list[socket.socket]:
    if arrival is None:
        raise Failed("init ended before it said READY: its files are missing or broken")
    reply = wire.decode_reply(arrival[0])
    if isinstance(reply, wire.Refused):
        what = "bind its doors" if reply.step is wire.Step.DOOR else "begin"
        raise Failed(f"init could not {what}: {os.strerror(reply.errno)}")
    if not isinstance(reply, wire.Ready) or reply.version != wire.VERSION:
        raise Failed("init speaks another version of the protocol: build it anew")
    return [socket.socket(fileno=fd) for fd in arrival[1]]


async def _wait_for_end(child: asyncio.subprocess.Process) -> None:
    """Wait for a process to end, and kill it when that takes too long."""
    try:
        async with asyncio.timeout(READY_SECONDS):
            await child.wait()
    except TimeoutError:
        child.kill()
        await child.wait()
