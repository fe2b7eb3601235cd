"""A zygote of your own, with a home of its own, for tests of walls.

`with zygote_rig() as rig:` starts it as a subprocess; leaving ends it and removes the
home. `python -m atoll.testing.zygote_rig HOME` is that subprocess.
"""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from atoll.runtime.zygote.home import Home
from atoll.runtime.zygote.program import run
from atoll.testing.tiny_runtime import serve
from atoll.wire import zygote as wire

TIMEOUT_SECONDS = 60


@dataclass(slots=True)
class ZygoteRig:
    """A running zygote. `uid` is whose it is: 0, or the unprivileged one it was started as."""

    home: Home
    process: subprocess.Popen[bytes]
    uid: int
    number: int = 0

    def connect(self) -> socket.socket:
        """A connection of the control plane's."""
        link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        link.settimeout(TIMEOUT_SECONDS)
        link.connect(str(self.home.socket))
        return link

    def ask(self, request: wire.Request) -> wire.Answer:
        """One request on a connection of its own, and its answer."""
        with self.connect() as link:
            self.number += 1
            link.send(wire.encode_request(self.number, request))
            while True:
                answered = wire.decode_answer(link.recv(wire.MAX_MESSAGE_BYTES))
                if answered.number == self.number:
                    return answered.answer

    def start(self, sandbox_id: str, **more: object) -> wire.Box:
        """Start a sandbox that must come up."""
        request = wire.Start(sandbox_id, 1, "box", **more)  # type: ignore[arg-type]
        answer = self.ask(request)
        assert isinstance(answer, wire.Started), answer
        return answer.box

    def inside(self, box: wire.Box, *argv: str) -> tuple[int, str]:
        """Run a command in a sandbox (with the tiny runtime): (raw wait status, output)."""
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(TIMEOUT_SECONDS)
            link.connect(box.socket)
            link.sendall(json.dumps({"argv": argv}).encode() + b"\n")
            answer = json.loads(link.makefile("rb").read())
        return answer["status"], answer["output"]


@contextlib.contextmanager
def zygote_rig(uid: int = 0, home: Path | None = None) -> Iterator[ZygoteRig]:
    """Start a zygote as `uid` (root only when we are) in a fresh or given home."""
    fresh = home is None
    place = home or Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
    place.chmod(0o711)
    if os.geteuid() == 0 and uid != 0:
        os.chown(place, uid, uid)
    process = start_zygote(place, uid)
    try:
        yield ZygoteRig(Home(place), process, uid)
    finally:
        process.terminate()
        process.wait(TIMEOUT_SECONDS)
        if fresh:
            shutil.rmtree(place)


def start_zygote(home: Path, uid: int) -> subprocess.Popen[bytes]:
    """The subprocess, listening."""
    read, write = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", "atoll.testing.zygote_rig", str(home), str(write), str(uid)],
        pass_fds=(write,),
        env={"PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.defpath},
    )
    os.close(write)
    with os.fdopen(read, "rb") as ready:
        assert ready.read() == b"ready", f"the zygote ended: {process.wait()}"
    return process


def main() -> None:
    """The subprocess: drops to the uid after its imports, which may lie in a private home."""
    home, ready_fd, uid = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    if uid != os.geteuid():
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)

    def ready() -> None:
        os.write(ready_fd, b"ready")
        os.close(ready_fd)

    run(home, serve, ready=ready)


if __name__ == "__main__":
    main()
