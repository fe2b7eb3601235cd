"""The warm-up of the zygote: the common work of every runtime, run once before the first fork.

Python writes to the pages of code that it runs for the first time. After a warm-up those pages stay
shared by all runtimes, which saves about 1 MiB in each. No sandbox takes part.
"""

import asyncio
import socket
import tempfile
from pathlib import Path

from aiohttp import web

from atoll.domain.errors import Unavailable
from atoll.ports.runtime_boot import RuntimeBoot
from atoll.ports.spawner import InsideFile, Leftovers, Process, ProcessSpec, Pty
from atoll.runtime.api.app import build
from atoll.runtime.api.parts import promise_parts
from atoll.runtime.health import Activity
from atoll.runtime.journal.journal import Journal
from atoll.runtime.policy.redactions import Redactions
from atoll.runtime.tasks import Tasks
from atoll.wire.terminal.scrollback import MIN_CAPACITY, Scrollback
from atoll.wiring.runtime_parts import RuntimeGround, build_parts

ROUNDS = 12
"""So many that Python has made up its mind about the code (PEP 659): eight, and some."""

REQUESTS = (
    b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
    b'PUT /policy HTTP/1.1\r\nHost: x\r\nContent-Length: 14\r\n\r\n{"revision":1}'
    b"GET /journal?after=0&limit=200 HTTP/1.1\r\nHost: x\r\n\r\n"
    b"GET /sessions HTTP/1.1\r\nHost: x\r\n\r\n"
    b'POST /execs HTTP/1.1\r\nHost: x\r\nContent-Length: 17\r\n\r\n{"argv":["true"]}'
    b"POST /sessions HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}"
)
OUTPUT = b"\x1b[?2004h\x1b]0;title\x07\x1b[01;32mname\x1b[00m:\x1b[01;34m~\x1b[00m$ ls\r\n" * 4
LIMIT_SECONDS = 5.0


class _Nowhere:
    """A spawner without a sandbox."""

    async def spawn(self, spec: ProcessSpec) -> Process:
        """Refuse to start a process."""
        raise Unavailable(f"a rehearsal runs nothing, not {spec.argv[0]}")

    async def open_pty(self, *, cols: int, rows: int) -> Pty:
        """Refuse to open a terminal."""
        raise Unavailable(f"a rehearsal has no terminal of {cols} columns and {rows} rows")

    async def open_file(self, path: str, flags: int, mode: int = 0o644) -> InsideFile:
        """Refuse to open a file."""
        raise Unavailable(f"a rehearsal has no file {path} ({flags:o}, {mode:o})")

    def tool(self, *args: str) -> tuple[str, ...]:
        """Return the arguments unchanged."""
        return args

    async def left_running(self) -> Leftovers:
        """Return that nothing runs."""
        return Leftovers((), more=False)

    async def end_left_running(self) -> None:
        """Do nothing, since nothing runs."""

    async def close(self) -> None:
        """Do nothing, since nothing is open."""


def warm_up() -> None:
    """Run the warm-up. Call it once, single-threaded, before the first fork and before `gc.freeze`.
    It leaves no event loop, task or descriptor and takes a fraction of a second."""
    with tempfile.TemporaryDirectory(prefix="at") as folder:
        # Not uvloop: libuv opens pipes for the whole process, and a fork that closes what it
        # inherited would break them.
        asyncio.run(_rehearse(Path(folder)))


async def _rehearse(folder: Path) -> None:
    redactions, activity = Redactions(), Activity("rehearsal", 0)
    journal = Journal(folder / "journal")
    async with asyncio.timeout(LIMIT_SECONDS), Tasks() as tasks:
        ground = RuntimeGround(_Nowhere(), redactions, activity, journal, tasks)
        with socket.socket(socket.AF_UNIX) as listener:
            boot = RuntimeBoot("rehearsal", 0, listener, listener, folder / "journal")
            app = build(token=None)
            promise_parts(app).set_result(build_parts(boot, ground, settle_audit=_none, end=_none))
            runner = web.AppRunner(app, access_log=None)
            await runner.setup()
            listener.bind(str(folder / "s"))
            listener.setblocking(False)
            await web.SockSite(runner, listener).start()
            for _ in range(ROUNDS):
                await _ask(folder / "s")
            await runner.cleanup()
    scrollback = Scrollback(MIN_CAPACITY)
    for _ in range(ROUNDS):
        scrollback.append(OUTPUT)
        scrollback.first_cut().preamble()
    journal.append("rehearsal", {})
    journal.close()


def _none() -> None:
    """Do nothing, since nothing is counted and nothing ends."""


async def _ask(path: Path) -> None:
    reader, writer = await asyncio.open_unix_connection(str(path))
    writer.write(REQUESTS)
    await reader.read()
    writer.close()
    await writer.wait_closed()
