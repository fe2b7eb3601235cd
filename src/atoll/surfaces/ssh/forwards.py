"""Forwards (`-L`, `-D`, `-W`): connections to the sandbox's own loopback and sockets.

They go to the sandbox's runtime and are dialled inside, where there is no other network. So no
forward leads to the host, to the metadata of a cloud, or to another sandbox.
"""

import asyncio
import ipaddress
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from typing import Final

import asyncssh
from asyncssh.stream import SSHTCPStreamSession, SSHUNIXStreamSession

from atoll.domain.errors import AtollError, Forbidden, Invalid
from atoll.domain.network.forwarded_port import read_port
from atoll.ports.runtime import ByteConnection
from atoll.surfaces.ssh.login import Login

CHUNK_BYTES: Final = 128 * 1024

_PROHIBITED: Final = asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED
_FAILED: Final = asyncssh.OPEN_CONNECT_FAILED

Serve = Callable[
    [asyncssh.SSHReader[bytes], asyncssh.SSHWriter[bytes]], Coroutine[None, None, None]
]


async def open_port(
    login: Login, host: str, port: int, closed: Callable[[], None]
) -> SSHTCPStreamSession[bytes]:
    """Connect to a port of the loopback; returns the session. Raises `ChannelOpenError` with a
    sentence, as `open_socket`."""

    def connect() -> AbstractAsyncContextManager[ByteConnection]:
        if not _is_loopback(host):
            raise Forbidden(f"forwards lead to the sandbox's own localhost only, not to {host!r}")
        return login.port(read_port(str(port)))

    return SSHTCPStreamSession(await _connect(login, connect, closed))


async def open_socket(
    login: Login, path: str, closed: Callable[[], None]
) -> SSHUNIXStreamSession[bytes]:
    """Connect to a socket inside; returns the session. Raises `ChannelOpenError` with a
    sentence."""
    return SSHUNIXStreamSession(await _connect(login, lambda: login.socket(path), closed))


async def _connect(
    login: Login,
    connect: Callable[[], AbstractAsyncContextManager[ByteConnection]],
    closed: Callable[[], None],
) -> Serve:
    """Return what serves a connection inside, which is made before: a refusal is one of the
    channel."""
    async with AsyncExitStack() as opened:
        opened.callback(closed)
        try:
            login.check("forward")
            inside = await opened.enter_async_context(connect())
        except (Forbidden, Invalid) as error:
            raise asyncssh.ChannelOpenError(_PROHIBITED, error.message) from error
        except AtollError as error:
            raise asyncssh.ChannelOpenError(_FAILED, error.message) from error
        held = opened.pop_all()

    async def serve(reader: asyncssh.SSHReader[bytes], writer: asyncssh.SSHWriter[bytes]) -> None:
        async with held:
            await _relay(writer, _write(reader, inside), _read(inside, writer))
            with suppress(OSError, asyncssh.Error):
                writer.close()

    return serve


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


async def _relay(
    writer: asyncssh.SSHWriter[bytes],
    up: Coroutine[None, None, None],
    down: Coroutine[None, None, None],
) -> None:
    """Pass bytes both ways until nothing more comes from inside, or the client is gone: what
    listens inside may never end a connection by itself."""
    async with asyncio.TaskGroup() as group:
        receiving = group.create_task(down)
        gone = group.create_task(writer.wait_closed())
        tasks = [group.create_task(up), receiving, gone]
        await asyncio.wait({receiving, gone}, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()


async def _write(reader: asyncssh.SSHReader[bytes], inside: ByteConnection) -> None:
    with suppress(AtollError, OSError, asyncssh.Error):
        while data := await reader.read(CHUNK_BYTES):
            await inside.write(data)
        await inside.write_eof()


async def _read(inside: ByteConnection, writer: asyncssh.SSHWriter[bytes]) -> None:
    with suppress(AtollError, OSError, asyncssh.Error):
        async for data in inside:
            writer.write(data)
            await writer.drain()
