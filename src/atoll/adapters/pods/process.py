"""A sandbox as a process: `atoll.wiring.pod` behind its light wall, with a record that finds it
again. Not the zygote's wall: no limits of memory, processes or disk.

Everything here blocks for a short time; `start` waits until the runtime listens.
"""

import asyncio
import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ParamSpec, TypeVar

import msgspec

from atoll.adapters.zygote.start import allowed_agents
from atoll.domain.errors import Failed, Invalid
from atoll.ports.extension import Provision
from atoll.wire.zygote.messages import Agent

P = ParamSpec("P")
T = TypeVar("T")

START_SECONDS = 60.0
END_SECONDS = 10.0
_RECORD = "record.json"
_LISTENS = "runtime on "


class PodRecord(msgspec.Struct, frozen=True):
    """A sandbox that was started. `live` is false once somebody ended it or saw its end. `started`
    tells its process from a later one with the same number."""

    generation: int
    pid: int
    started: str
    address: str
    token: str
    maintenance: bool = False
    live: bool = True


@dataclass(frozen=True, slots=True)
class PodProcess:
    """The process of one sandbox, kept in a directory that nobody else may read."""

    place: Path

    @property
    def record(self) -> PodRecord | None:
        """The last start; None when there was none."""
        try:
            return msgspec.json.decode((self.place / _RECORD).read_bytes(), type=PodRecord)
        except (OSError, msgspec.MsgspecError):
            return None

    @property
    def lives(self) -> bool:
        """Report whether its process runs and nobody ended it."""
        record = self.record
        return record is not None and record.live and _start_time_of(record.pid) == record.started

    def start(
        self,
        request: Provision,
        *,
        agents: tuple[Agent, ...] = (),
        upstreams: tuple[tuple[str, str], ...] = (),
    ) -> PodRecord:
        """Start the runtime of a request. Raises `Failed` with its last words, and `Invalid` for
        what this wall cannot show."""
        if request.host_mounts:
            raise Invalid("this backend mounts no folders of the host", field="mounts")
        if request.fresh:
            self.remove()
        for name in ("workspace", "home", "journal"):
            (self.place / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        token = secrets.token_urlsafe(32)
        named = allowed_agents(request, agents)
        boot = {
            "token": token,
            "wall": "bwrap",
            "same_uid": True,  # in process ids of its own, nothing inside can name the runtime
            "env": request.env,
            "agents": () if request.maintenance_seconds else named,
            "upstreams": upstreams,
            "home": str(self.place / "home"),
            "mounts": [{"source": one.source, "target": one.target} for one in request.mounts],
            "idle_end_seconds": request.maintenance_seconds,
        }
        process = _launch(self.place, self.command(request), msgspec.json.encode(boot))
        record = PodRecord(
            request.generation,
            process.pid,
            _start_time_of(process.pid),
            self._address(process),
            token,
            maintenance=request.maintenance_seconds is not None,
        )
        self._write(record)
        # It outlives this object, which would warn of that; `_start_time_of` reaps it.
        process.returncode = 0
        return record

    def command(self, request: Provision) -> list[str]:
        """Return the command of its runtime, which gets `--boot-fd N` as well."""
        argv = [sys.executable, "-m", "atoll.wiring.pod", "--host", "127.0.0.1", "--port", "0"]
        argv += ["--sandbox-id", request.sandbox_id, "--generation", str(request.generation)]
        argv += ["--workspace", str(self.place / "workspace")]
        return [*argv, "--journal", str(self.place / "journal")]

    def end(self) -> bool:
        """End every process; return whether any ran."""
        record = self.record
        if record is None:
            return False
        lived = self.lives
        self._write(msgspec.structs.replace(record, live=False, token=""))
        for number in (signal.SIGTERM, signal.SIGKILL):
            deadline = time.monotonic() + END_SECONDS
            while _start_time_of(record.pid) == record.started and time.monotonic() < deadline:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(record.pid, number)
                time.sleep(0.05)
        return lived

    def remove(self) -> bool:
        """Remove every file; return whether there were any."""
        there = self.place.exists()
        shutil.rmtree(self.place, ignore_errors=True)
        return there

    def _write(self, record: PodRecord) -> None:
        fresh = self.place / f"{_RECORD}.new"
        fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(msgspec.json.encode(record))
        fresh.replace(self.place / _RECORD)

    def _address(self, process: "subprocess.Popen[str]") -> str:
        """Return the address it says. Raises `Failed` when it ends or stays silent."""
        log = self.place / "log"
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            for line in log.read_text(errors="replace").splitlines():
                if line.startswith(_LISTENS):
                    return f"http://{line.removeprefix(_LISTENS)}"
            if process.poll() is not None:
                break
            time.sleep(0.02)
        process.kill()
        process.wait()
        raise Failed(f"the runtime did not start: {log.read_text(errors='replace')[-500:]}")


async def run_to_end_in_thread(work: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
    """Run `work` in a thread. Cancelled, it waits for the thread first: what the thread makes would
    otherwise come to be after a teardown."""
    running = asyncio.get_running_loop().run_in_executor(None, partial(work, *args, **named))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait({running})
        raise


def _launch(place: Path, argv: list[str], boot: bytes) -> "subprocess.Popen[str]":
    fd = os.memfd_create("atoll-boot", os.MFD_CLOEXEC)
    os.write(fd, boot)
    os.lseek(fd, 0, os.SEEK_SET)
    try:
        with (place / "log").open("w") as log:
            return subprocess.Popen(
                [*argv, "--boot-fd", str(fd)],
                pass_fds=(fd,),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=place,
                start_new_session=True,
                text=True,
            )
    finally:
        os.close(fd)


def _start_time_of(pid: int) -> str:
    """Return when a process was started, by the kernel's clock (proc_pid_stat(5)); empty when it is
    gone or waits to be reaped, which is done here where it is our child."""
    with contextlib.suppress(OSError):
        os.waitpid(pid, os.WNOHANG)
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    fields = text.rpartition(")")[2].split()
    return "" if fields[0] in ("Z", "X") else fields[19]
