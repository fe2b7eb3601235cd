"""The process of one machine: started, found again by another control plane, ended.

Its folder holds the disk and the sockets of its ports. QEMU outlives this process; a process whose
command shows this folder to a machine is the machine's.
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
from atoll.adapters.extensions.microvm.qemu import shown_folder, with_console
from atoll.domain.errors import Failed

MAX_CONSOLE_BYTES = 64 * 1024
STOP_SECONDS = 45.0
KILL_SECONDS = 10.0
_DETACHED = 'echo 0 >&0; setsid "$@" </dev/null >&2 &'
"""Starts a command as the leader of a session, which is no child of this process, in the control
group whose `cgroup.procs` is its input."""


@dataclass(frozen=True, slots=True)
class GuestMachine:
    """The machine of a folder, running or not. `group` is the open `cgroup.procs` of the control
    group that it runs in; None is that of this process."""

    folder: Path
    group: int | None = None

    @property
    def link(self) -> Path:
        """The socket of the port that carries the link."""
        return self.folder / "link.sock"

    @property
    def files(self) -> Path:
        """The socket of the port by which files come."""
        return self.folder / "files.sock"

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
            try:
                with far:
                    (self.folder / "generation").write_text(str(generation))
                    await self._spawn(with_console(argv, far.fileno()), far.fileno(), env or {})
                async with asyncio.timeout(seconds):
                    return await _console_until_ready(near, self.folder)
            except TimeoutError as error:
                await self.kill()
                raise Failed(f"the guest was not ready after {seconds:g} s") from error
            except BaseException:
                await self.kill()
                raise

    async def _spawn(self, argv: Sequence[str], console: int, env: Mapping[str, str]) -> None:
        with (self.folder / "qemu.log").open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                *("sh", "-c", _DETACHED, "sh", *argv),
                stdin=asyncio.subprocess.DEVNULL if self.group is None else self.group,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=log,
                env={"PATH": os.defpath, **env},
                pass_fds=(console,),
            )
        try:
            await process.wait()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

    def runs(self, generation: int | None = None) -> bool:
        """Report whether the machine runs, and as this generation."""
        if generation is not None and self._generation() != str(generation):
            return False
        return bool(self._processes())

    async def stop(self) -> bool:
        """Have the guest end its programs and write its disk; returns whether it ran. Kills one
        that does not end."""
        running = self._processes()
        if running:
            with suppress(TimeoutError, OSError):
                async with asyncio.timeout(STOP_SECONDS):
                    _, writer = await asyncio.open_unix_connection(self.folder / "stop.sock")
                    try:
                        writer.write(b"stop\n")
                        await _wait_ended(running)
                    finally:
                        writer.close()
        await self.kill()
        return bool(running)

    async def kill(self) -> None:
        """Kill the machine. Raises `Failed` when it does not end."""
        try:
            async with asyncio.timeout(KILL_SECONDS):
                while running := self._processes():
                    for pid in running:
                        with suppress(ProcessLookupError):
                            os.kill(pid, signal.SIGKILL)
                    await _wait_ended(running)
        except TimeoutError as error:
            raise Failed(f"the machine of {self.folder} does not end") from error

    def _generation(self) -> str:
        try:
            return (self.folder / "generation").read_text()
        except FileNotFoundError:
            return ""

    def _processes(self) -> list[int]:
        """Return the processes of the folder's owner that show it to a machine; zombies have no
        command. Others may say the same words: a sandbox of another kind, above all."""
        words = b"\0".join(map(os.fsencode, shown_folder(self.folder)))
        pids = [int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()]
        candidates = [pid for pid in pids if pid != os.getpid() and words in _command(pid)]
        if not candidates:
            return []
        try:
            owner = self.folder.stat().st_uid
        except FileNotFoundError:
            owner = os.geteuid()
        return [pid for pid in candidates if _owner(pid) == owner]


async def _console_until_ready(near: socket.socket, folder: Path) -> str:
    loop = asyncio.get_running_loop()
    near.setblocking(False)
    console = b""
    while len(console) < MAX_CONSOLE_BYTES:
        more = await loop.sock_recv(near, 4096)
        console += more
        lines = console.splitlines()
        if READY in [line.strip() for line in lines]:
            return console.decode(errors="replace")
        failed = [line for line in lines if line.startswith(FAILED)]
        if not more or failed:
            break
    with (folder / "qemu.log").open("rb") as log:
        complaint = log.read(500)
    words = (console[-500:] + complaint).decode(errors="replace").strip()
    raise Failed(f"the guest did not come up: {words or 'QEMU ended without a word'}")


async def _wait_ended(pids: Sequence[int]) -> None:
    """Wait until these processes have ended (Linux, pidfd_open(2))."""
    loop = asyncio.get_running_loop()
    for pid in pids:
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        over = asyncio.Event()
        loop.add_reader(descriptor, over.set)
        try:
            await over.wait()
        finally:
            loop.remove_reader(descriptor)
            os.close(descriptor)


def _command(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def _owner(pid: int) -> int | None:
    """Return the real uid of a process, also of one that is not dumpable; None once it is gone."""
    with suppress(OSError):
        status = Path(f"/proc/{pid}/status").read_bytes()
        return int(status.partition(b"\nUid:\t")[2].split(maxsplit=1)[0])
    return None
