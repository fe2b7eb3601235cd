"""A sandbox on a foreign machine with its near end in this process: a spawner, as a runtime has."""

import asyncio
import os
import secrets
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from atoll.domain.errors import AtollError
from atoll.domain.ids import SandboxId, spell
from atoll.domain.profile.profile import Profile
from atoll.ports.extension import Mount, Provision
from atoll.ports.far import FarBackend, FarBox, LinkTerms
from atoll.runtime.spawners.init import InitSpawner
from atoll.runtime.spawners.link.carrier import Carrier
from atoll.runtime.spawners.link.line import LinkLine
from atoll.runtime.tasks import Tasks
from atoll.testing.inside import run
from tests.peers.far.sides import FarSide

READY_SECONDS = 30.0
GRACE_SECONDS = 60
WORKSPACE = "/workspace"


@dataclass(frozen=True, slots=True)
class FarSandbox:
    """A sandbox there. `workspace` is where its files are seen from here, if anywhere."""

    spawner: InitSpawner
    workspace: Path | None
    box: FarBox


@asynccontextmanager
async def far_sandbox(side: FarSide, mounts: tuple[Mount, ...] = ()) -> AsyncIterator[FarSandbox]:
    """Provision a sandbox there by a backend of its own."""
    backend = side.backend()
    try:
        async with sandbox_on(backend, side, mounts) as sandbox:
            yield sandbox
    finally:
        await backend.close()


@asynccontextmanager
async def sandbox_on(
    backend: FarBackend, side: FarSide, mounts: tuple[Mount, ...] = ()
) -> AsyncIterator[FarSandbox]:
    """Provision a sandbox there and join it with a near end of ours; then tear it down, and see
    that nothing was left over."""
    sandbox = SandboxId(spell("sb", os.urandom(10)))
    request = Provision(sandbox, 1, "one", Profile("profile.x", "1.0.0"), mounts=mounts)
    key = secrets.token_bytes(32)
    place = await backend.provision(side.placed(request), LinkTerms(key, GRACE_SECONDS))
    try:
        async with _joined(backend, place.box, key) as line:
            spawner = InitSpawner(line, program=place.init, root=WORKSPACE)
            yield FarSandbox(spawner, side.workspace(sandbox), place.box)
            await spawner.close()
    finally:
        report = await backend.teardown(place.box, keep_state=False)
    assert report.leftovers == ()


@asynccontextmanager
async def _joined(backend: FarBackend, box: FarBox, key: bytes) -> AsyncIterator[LinkLine]:
    with TemporaryDirectory(prefix="at", dir="/tmp") as folder:
        path = Path(folder, "near.sock")
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(path))
        listener.listen(8)
        listener.setblocking(False)
        async with Tasks() as tasks:
            carrier = Carrier(key, patience_seconds=GRACE_SECONDS)
            line = LinkLine(carrier.write, tasks)
            async with carrier.serve(listener, on_frame=line.frame, on_lost=line.lost):
                carrying = tasks.spawn(_carried(backend, box, path), "carry")
                async with asyncio.timeout(READY_SECONDS):
                    await line.ready()
                yield line
                carrying.cancel()


async def _carried(backend: FarBackend, box: FarBox, path: Path) -> None:
    """Carry the link as the control plane does, until the near end is gone."""
    while True:
        with socket.socket(socket.AF_UNIX) as near:
            try:
                near.connect(str(path))
            except OSError:
                return
            with suppress(OSError, AtollError):
                await backend.carry(box, near)
        await asyncio.sleep(0.05)


@dataclass(slots=True)
class KeptSandbox:
    """One far sandbox for many tests: emptied after each, and replaced once it is over."""

    side: FarSide
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    _now: FarSandbox | None = None

    @asynccontextmanager
    async def empty(self) -> AsyncIterator[FarSandbox]:
        """Yield it with an empty workspace and nothing running; what fails in it ends it."""
        if self._now is None:
            self._now = await self._stack.enter_async_context(far_sandbox(self.side))
        try:
            yield self._now
            if self._now is None:
                return
            await self._now.spawner.end_left_running()
            await _emptied(self._now)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """End it."""
        self._now = None
        await self._stack.aclose()


async def _emptied(sandbox: FarSandbox) -> None:
    """Remove its files; from here where they are seen, since a test may have made them as root."""
    if sandbox.workspace is None:
        argv = ("find", WORKSPACE, "-mindepth", "1", "-delete")
        end, said = await run(sandbox.spawner, *argv)
        assert end.code == 0, said
        return
    for path in list(sandbox.workspace.iterdir()):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
