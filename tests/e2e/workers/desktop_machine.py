"""A person's machine in a test: its lane, bare, with a Codex that ticks."""

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from atoll.client import Atoll
from atoll.testing.server import TestServer, atoll_command
from tests.peers.api import Pauses

T = TypeVar("T")

HERE = Path(__file__).parent


@dataclass
class Machine:
    """A machine, its lane, and the environment of its person."""

    name: str
    home: Path
    process: "subprocess.Popen[bytes]"
    env: dict[str, str]

    def place(self, worker: str) -> Path:
        return self.home / "atoll" / "desktop" / self.name / "workers" / worker

    def ticks(self, worker: str) -> int:
        found = self.place(worker) / "workspace" / "ticks"
        return len(found.read_text().split()) if found.exists() else 0

    @property
    def log(self) -> str:
        return (self.home / "log").read_text()


@asynccontextmanager
async def machine(
    server: TestServer, name: str, *, url: str | None = None, before: Sequence[str] = ()
) -> AsyncIterator[Machine]:
    """A machine whose lane runs; `before` are words before its command."""
    with tempfile.TemporaryDirectory(prefix="atc") as folder:
        home, program = Path(folder), Path(folder) / "bin" / "codex"
        program.parent.mkdir()
        shutil.copy(HERE / "ticking_codex.py", program)
        program.chmod(0o755)
        own = {"ATOLL_URL": url or server.url, "ATOLL_TOKEN": server.token, "HOME": folder}
        own |= {"XDG_DATA_HOME": folder, "ATOLL_INSECURE_HTTP": "1"}
        argv = [*before, atoll_command(), "desktop", "run", name, "--bare"]
        with (home / "log").open("wb") as log:
            process = subprocess.Popen(
                [*argv, "--codex", str(program)], env={**os.environ, **own}, stdout=log, stderr=log
            )
        try:
            yield Machine(name, home, process, own)
        finally:
            process.terminate()
            await asyncio.to_thread(process.wait, 60)


async def until(look: Callable[[], Awaitable[T]], seconds: float) -> T:
    async with asyncio.timeout(seconds):
        pauses = Pauses()
        while True:
            if found := await look():
                return found
            # What happens to a machine and to its files is announced by nobody.
            await pauses.wait()


async def ticking(atoll: Atoll, desk: Machine, worker: str, **more: Any) -> None:
    """A worker of that machine that works."""

    async def present() -> bool:
        assert desk.process.poll() is None, desk.log
        found = (await atoll.desktops.list()).desktops
        return desk.name in [one.name for one in found if one.present]

    await until(present, 60)
    await atoll.workers.create({"worker_id": worker, **more})  # type: ignore[typeddict-item]
    shown = await atoll.workers.ready(worker)
    assert (shown.backend, shown.sandbox.host) == ("desktop", desk.name)
    await atoll.workers.result(worker, "thread/name/set", {"threadId": "th", "name": "work"})

    async def works() -> bool:
        return desk.ticks(worker) > 10

    await until(works, 20)
