"""A zygote with a home of its own, for tests of walls.

`with zygote_rig() as rig:` starts it, forked from a process that has loaded it; leaving ends it and
removes the home. `python -m atoll.testing.zygote_rig` is that process.
"""

import contextlib
import json
import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from atoll.testing import subordinate_ids
from atoll.testing.tiny_runtime import become
from atoll.testing.warm_process import Request, WarmProcess, serve, warm_program
from atoll.wire.zygote import messages as wire
from atoll.wiring.launch import mount_view
from atoll.wiring.runtime import become as become_real
from atoll.wiring.runtime import lay
from atoll.zygote.daemon.program import run
from atoll.zygote.host import kernel
from atoll.zygote.host.home import POOL_PREFIX, Home
from atoll.zygote.records import record
from atoll.zygote.records.record import SandboxRecord

TIMEOUT_SECONDS = 60
POLL_SECONDS = 0.02
SANDBOX_PROCESSES = 3
"""Processes of a running sandbox: runtime, bwrap, init."""


@dataclass(slots=True)
class ZygoteRig:
    """Running zygote. `uid` is its owner: 0, or the unprivileged uid it was started as."""

    home: Home
    process: WarmProcess
    uid: int
    number: int = 0

    def connect(self) -> socket.socket:
        """Open a connection as the control plane does."""
        link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        link.settimeout(TIMEOUT_SECONDS)
        link.connect(str(self.home.socket))
        return link

    def ask(self, request: wire.Request) -> wire.Answer:
        """Send one request on a connection of its own and return the answer."""
        with self.connect() as link:
            self.number += 1
            link.send(wire.encode_request(self.number, request))
            while True:
                answered = wire.decode_answer(link.recv(wire.MAX_MESSAGE_BYTES))
                if answered.number == self.number:
                    return answered.answer

    def start(self, sandbox_id: str, **more: object) -> wire.Box:
        """Start a sandbox and return it; fails when it does not start."""
        request = wire.Start(sandbox_id, 1, "box", **more)  # type: ignore[arg-type]
        answer = self.ask(request)
        assert isinstance(answer, wire.Started), answer
        return answer.box

    def list_pooled(self) -> dict[str, SandboxRecord]:
        """Return the pooled sandboxes that are ready, by name."""
        known = {
            path.parent.name: record.load(path)
            for path in self.home.boxes.glob(f"{POOL_PREFIX}*/box.json")
        }
        return {
            name: it for name, it in known.items() if it and len(it.processes) == SANDBOX_PROCESSES
        }

    def await_pooled(self, count: int = 1) -> dict[str, SandboxRecord]:
        """Wait until `count` pooled sandboxes are ready and no other is starting."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while time.monotonic() < deadline:
            pooled = self.list_pooled()
            made = [*self.home.boxes.glob(f"{POOL_PREFIX}*")]
            if len(pooled) == len(made) == count:
                return pooled
            time.sleep(POLL_SECONDS)
        raise AssertionError(
            f"{count} pooled sandboxes were expected; there are {self.list_pooled()}"
        )

    def say(self, box: wire.Box, *packets: str, fds: int = 0, hear: int = 0) -> list[str]:
        """Make the (tiny) runtime of a sandbox send packets to the zygote. Returns the `hear`
        packets it received."""
        heard: list[str] = self._request(box, {"say": packets, "fds": fds, "hear": hear})["heard"]
        return heard

    def inside(self, box: wire.Box, *argv: str) -> tuple[int, str]:
        """Run a command in a sandbox (with the tiny runtime). Returns the raw wait status and the
        output."""
        answer = self._request(box, {"argv": argv})
        return answer["status"], answer["output"]

    def eat(self, box: wire.Box, mib: int) -> bool:
        """Make the (tiny) runtime of a sandbox allocate memory permanently. Returns whether it
        survived."""
        try:
            return bool(self._request(box, {"eat": mib})["eaten"] == mib)
        except (ConnectionError, ValueError):
            return False

    def run(self, box: wire.Box, source: str, given: object) -> Any:
        """Run Python in the (tiny) runtime's own process, with `given`. Returns the value of
        `found`."""
        return self._request(box, {"run": source, "given": given})

    def _request(self, box: wire.Box, request: dict[str, Any]) -> Any:
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(TIMEOUT_SECONDS)
            link.connect(box.socket)
            link.sendall(json.dumps(request).encode() + b"\n")
            return json.loads(link.makefile("rb").read())


@contextlib.contextmanager
def zygote_rig(
    uid: int = 0,
    home: Path | None = None,
    *,
    pool_size: int = 0,
    subordinates: bool = False,
    real: bool = False,
) -> Iterator[ZygoteRig]:
    """Start a zygote as `uid` (root only when we are) in a fresh or given home; with
    `subordinates` it has a range of them (as root only), with `real` Atoll's own runtimes."""
    fresh = home is None
    place = home or Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
    place.chmod(0o711)
    if os.geteuid() == 0 and uid != 0:
        os.chown(place, uid, uid)
    process = start_zygote(place, uid, pool_size=pool_size, subordinates=subordinates, real=real)
    try:
        yield ZygoteRig(Home(place), process, uid)
    finally:
        process.terminate()
        process.wait(TIMEOUT_SECONDS)
        if fresh:
            shutil.rmtree(place)


def start_zygote(
    home: Path,
    uid: int,
    *,
    pool_size: int = 0,
    subordinates: bool = False,
    real: bool = False,
) -> WarmProcess:
    """Start the process and return it once it listens."""
    read, write = os.pipe()
    rig = _RigRequest(str(home), uid, pool_size, subordinates, real)
    process = warm_program(__name__).start(asdict(rig), [write, 1, 2])
    os.close(write)
    with os.fdopen(read, "rb") as ready:
        assert ready.read() == b"ready", f"the zygote ended: {process.wait()}"
    return process


@dataclass(frozen=True, slots=True)
class _RigRequest:
    """A zygote as it was asked for."""

    home: str
    uid: int
    pool_size: int
    subordinates: bool
    real: bool


def _run(request: Request, fds: Sequence[int]) -> int:
    """Run a zygote as this process. It drops to the uid after its imports; what it needs later may
    lie in a folder that is closed to others, too."""
    rig, (ready_fd, *streams) = _RigRequest(**request), fds
    for stream, number in zip(streams, (1, 2), strict=True):
        os.dup2(stream, number)
        os.close(stream)
    kernel.forbid_cores()
    home = Path(rig.home)
    if rig.uid != os.geteuid():
        mount_view.enter_if_closed(home)
    if rig.subordinates:
        subordinate_ids.enter(rig.uid, home)
    if rig.uid != os.geteuid():
        kernel.drop_to(rig.uid)

    def report_ready() -> None:
        os.write(ready_fd, b"ready")
        os.close(ready_fd)

    serve_runtime = partial(become_real, laid=lay()) if rig.real else become
    run(home, serve_runtime, ready=report_ready, pool_size=rig.pool_size)
    return 0


if __name__ == "__main__":
    os.environ.clear()
    os.environ.update(PYTHONPATH=os.pathsep.join(sys.path), PATH=os.defpath)
    serve(int(sys.argv[2]), _run)
