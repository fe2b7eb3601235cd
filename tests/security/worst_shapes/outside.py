"""A watch over a server in a process of its own: what `/healthz` waits, and memory."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tests.security.worst_shapes.watch import MOST_MIB, MOST_SECONDS

PROBE = Path(__file__).with_name("probe.py")


@dataclass(frozen=True)
class Seen:
    """The longest wait of a request for `/healthz`, in seconds, and by how many MiB the server's
    memory, the kernel's and that of its connections grew at most."""

    delay: float
    grown: int
    unreclaimed: int
    sockets: int
    asked: int

    def faults(self, name: str) -> list[str]:
        """Return what is beyond the bounds."""
        found = []
        if self.delay > MOST_SECONDS:
            found.append(f"{name}: /healthz waited {self.delay * 1000:.0f} ms")
        if self.grown > MOST_MIB:
            found.append(f"{name}: {self.grown} MiB more")
        if self.unreclaimed > MOST_MIB:
            found.append(f"{name}: {self.unreclaimed} MiB more of the kernel's")
        if self.sockets > MOST_MIB:
            found.append(f"{name}: {self.sockets} MiB more of connections")
        return found


class OutsideWatch:
    """A running probe."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def begin(self) -> None:
        """Begin to look for the worst."""
        self._ask("begin")

    def end(self) -> Seen:
        """Return the worst since `begin`."""
        return Seen(**json.loads(self._ask("end")))

    def _ask(self, word: str) -> str:
        told, answers = self._process.stdin, self._process.stdout
        assert told is not None and answers is not None
        print(word, file=told, flush=True)
        answer = answers.readline()
        assert answer, f"the probe ended by {self._process.wait()}"
        return answer


@contextmanager
def watched_from_outside(url: str, pid: int) -> Iterator[OutsideWatch]:
    """Watch the process that answers at a URL."""
    place = urlsplit(url)
    argv = [sys.executable, "-I", "-S", str(PROBE), str(place.hostname), str(place.port), str(pid)]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield OutsideWatch(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(30)
