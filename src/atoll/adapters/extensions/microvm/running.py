"""The process of one machine: started, found again by another control plane, ended.

Its folder holds the disk, the sockets of its ports, and the number of its process group. QEMU
outlives this process; what carries the folder's name in its command is ours.
"""

import asyncio
import os
import signal
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from atoll.adapters.extensions.microvm.guest import FAILED, READY
from atoll.adapters.extensions.microvm.qemu import with_console
from atoll.domain.errors import Failed

MAX_CONSOLE_BYTES = 64 * 1024
LOOK_SECONDS = 0.02
STOP_SECONDS = 20.0
KILL_SECONDS = 10.0
_DETACHED = 'setsid "$@" </dev/null >&2 & echo $!'
"""Starts a command as the leader of a session, which is no child of this process."""


@dataclass(frozen=True, slots=True)
class Running:
    """The machine of a folder, running or not."""

    folder: Path

    @property
    def link(self) -> Path:
        """The socket of the port that carries the link."""
        return self.folder / "link.sock"

    async def start(
        self,
        argv: Sequence[str],
        *,
        generation: int,
        seconds: float,
        env: Mapping[str, str] | None = None,
    ) -> str:
        """Start a machine and wait until its guest is ready; returns what its console said. Raises
        `Failed` with what the guest or QEMU said, and leaves nothing running then."""
        near, far = socket.socketpair()
        with near:
            with far, (self.folder / "qemu.log").open("wb") as log:
                process = await asyncio.create_subprocess_exec(
                    *("sh", "-c", _DETACHED, "sh", *with_console(argv, far.fileno())),
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=log,
                    env={"PATH": os.defpath, **(env or {})},
                    pass_fds=(far.fileno(),),
                )
                told, _ = await process.communicate()
            (self.folder / "group").write_text(told.decode().strip())
            (self.folder / "generation").write_text(str(generation))
            try:
                async with asyncio.timeout(seconds):
                    return await _console_until_ready(near, self.folder)
            except TimeoutError as error:
                await self.kill()
                raise Failed(f"the guest was not ready after {seconds:g} s") from error
            except BaseException:
                await self.kill()
                raise

    def runs(self, generation: int | None = None) -> bool:
        """Report whether it runs, and as this generation."""
        if generation is not None and self._read("generation") != str(generation):
            return False
        return bool(self._processes())

    async def stop(self) -> bool:
        """Have the guest end its programs and write its disk; returns whether it ran. Kills one
        that does not end."""
        ran = self.runs()
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_SECONDS):
                if ran:
                    await self._ask()
                while self.runs():
                    await asyncio.sleep(LOOK_SECONDS)
        await self.kill()
        return ran

    async def kill(self) -> None:
        """End it at once. Raises `Failed` when it does not end."""
        for pid in self._processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        try:
            async with asyncio.timeout(KILL_SECONDS):
                while self._processes():
                    await asyncio.sleep(LOOK_SECONDS)
        except TimeoutError as error:
            raise Failed(f"the machine of {self.folder} does not end") from error

    async def _ask(self) -> None:
        with suppress(OSError):
            _, writer = await asyncio.open_unix_connection(self.folder / "stop.sock")
            writer.write(b"stop\n")
            await writer.drain()
            while self.runs():
                await asyncio.sleep(LOOK_SECONDS)
            writer.close()

    def _read(self, name: str) -> str:
        try:
            return (self.folder / name).read_text()
        except FileNotFoundError:
            return ""

    def _processes(self) -> list[int]:
        group = self._read("group")
        if not group.isdigit():
            return []
        named = os.fsencode(self.folder)
        return [pid for pid in _members(int(group)) if named in _command(pid)]


async def _console_until_ready(near: socket.socket, folder: Path) -> str:
    loop = asyncio.get_running_loop()
    near.setblocking(False)
    said = b""
    while len(said) < MAX_CONSOLE_BYTES:
        more = await loop.sock_recv(near, 4096)
        said += more
        lines = said.splitlines()
        if READY in [line.strip() for line in lines]:
            return said.decode(errors="replace")
        failed = [line for line in lines if line.startswith(FAILED)]
        if not more or failed:
            break
    log = (folder / "qemu.log").read_bytes()[-500:]
    words = (said[-500:] + log).decode(errors="replace").strip()
    raise Failed(f"the guest did not come up: {words or 'QEMU ended without a word'}")


def _members(group: int) -> list[int]:
    """Return the processes of a group that are no zombies."""
    found = []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with suppress(OSError):
                fields = Path(entry.path, "stat").read_text().rpartition(")")[2].split()
                if int(fields[2]) == group and fields[0] not in "ZX":
                    found.append(int(entry.name))
    return found


def _command(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""
