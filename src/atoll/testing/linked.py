"""A link of which both ends are on this machine: the real far end, the real near end, and between
them a relay that can be cut anywhere."""

import asyncio
import contextlib
import os
import secrets
import socket
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from atoll.inside.program import init_argv, init_binary, link_binary
from atoll.runtime.spawners.init import InitSpawner
from atoll.runtime.spawners.link.carrier import Carrier
from atoll.runtime.spawners.link.line import LinkLine
from atoll.runtime.tasks import Tasks

READY_SECONDS = 20.0
CHUNK_BYTES = 64 * 1024


class _Cut(Exception):
    """The connection is over."""


@dataclass(slots=True)
class Relay:
    """Bytes between the near end's socket and the far end's. `cut_after` is a number of bytes, of
    either direction, after which the connection is cut; then another is made, unless `hold` was
    called. `cuts` counts the ends."""

    near: Path
    far: Path
    cut_after: int | None = None
    cuts: int = 0
    _passed: int = 0
    _free: asyncio.Event = field(default_factory=asyncio.Event)
    _broken: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._free.set()

    def hold(self) -> None:
        """Cut the connection, and make no further one until `release`."""
        self._free.clear()
        self._broken.set()

    def release(self) -> None:
        """Make connections again."""
        self._broken.clear()
        self._free.set()

    async def run(self) -> None:
        """Carry until an end listens no more."""
        with contextlib.suppress(ConnectionRefusedError, FileNotFoundError):
            while True:
                await self._free.wait()
                await self._carry()
                self.cuts += 1

    async def _carry(self) -> None:
        near = await asyncio.open_unix_connection(str(self.near))
        far = await asyncio.open_unix_connection(str(self.far))
        try:
            async with asyncio.TaskGroup() as ways:
                ways.create_task(self._copy(near[0], far[1]))
                ways.create_task(self._copy(far[0], near[1]))
                ways.create_task(self._watch())
        except* (_Cut, OSError):
            pass
        finally:
            for _, writer in (near, far):
                writer.transport.abort()

    async def _watch(self) -> None:
        await self._broken.wait()
        raise _Cut

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(CHUNK_BYTES):
            if self.cut_after is not None and self._passed + len(data) >= self.cut_after:
                writer.write(data[: self.cut_after - self._passed])
                self._passed, self.cut_after = 0, None
                raise _Cut
            self._passed += len(data)
            writer.write(data)
            await writer.drain()
        raise _Cut


@dataclass(frozen=True, slots=True)
class LinkRig:
    """Both ends of a link, and what is between them."""

    spawner: InitSpawner
    line: LinkLine
    carrier: Carrier
    relay: Relay
    far_pid: int


@contextlib.asynccontextmanager
async def link_rig(
    root: Path,
    folder: Path,
    *,
    grace: int = 60,
    doors: tuple[int, ...] = (),
) -> AsyncIterator[LinkRig]:
    """Start an init whose workspace is `root` behind a link; sockets are made in `folder`."""
    key = secrets.token_bytes(32)
    async with (
        far_end(root, folder, key, grace=grace, doors=doors) as process,
        near_end(folder, key, patience_seconds=grace) as (line, carrier, relay),
    ):
        spawner = InitSpawner(line, program=(str(init_binary()),), root=str(root))
        try:
            yield LinkRig(spawner, line, carrier, relay, process.pid)
        finally:
            await spawner.close()


@contextlib.asynccontextmanager
async def far_end(
    root: Path,
    folder: Path,
    key: bytes,
    *,
    grace: int = 60,
    doors: tuple[int, ...] = (),
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Start `link serve` with an init, listening at `far.sock` in `folder`; end it on the way
    out."""
    far = folder / "far.sock"
    argv = init_argv((str(init_binary()),), control_fd=3, doors=doors, root=str(root))
    process = await asyncio.create_subprocess_exec(
        *(str(link_binary()), "serve", "--socket", str(far)),
        *("--grace", str(grace), "--", *argv),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"PATH": os.environ.get("PATH", os.defpath)},
    )
    try:
        if process.stdin is not None:
            process.stdin.write(key)
            process.stdin.close()
        # Not the socket's coming: it is there a moment before anybody may connect.
        if process.stdout is not None:
            async with asyncio.timeout(READY_SECONDS):
                report = await process.stdout.readline()
            if report != b"ready\n":
                raise RuntimeError(f"the far end did not start: {report.decode()}")
        yield process
    finally:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(READY_SECONDS):
                await process.wait()
        if process.returncode is None:
            process.kill()
            await process.wait()


@contextlib.asynccontextmanager
async def near_end(
    folder: Path, key: bytes, *, patience_seconds: float = 60.0
) -> AsyncIterator[tuple[LinkLine, Carrier, Relay]]:
    """Make a near end at `near.sock` in `folder`, relayed to the far end there."""
    near = folder / "near.sock"
    near.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(near))
    listener.listen(8)
    listener.setblocking(False)
    async with Tasks() as tasks:
        carrier = Carrier(key, patience_seconds=patience_seconds)
        line = LinkLine(carrier.write, tasks)
        relay = Relay(near, folder / "far.sock")
        async with carrier.serve(listener, on_frame=line.frame, on_lost=line.lost):
            relaying = tasks.spawn(relay.run(), "relay")
            async with asyncio.timeout(READY_SECONDS):
                await line.ready()
            yield line, carrier, relay
        # The last acknowledgement is on its way.
        relay.release()
        async with asyncio.timeout(READY_SECONDS):
            await relaying
