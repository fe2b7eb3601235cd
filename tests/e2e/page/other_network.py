"""Another machine for tests: a network namespace with a cable to this one."""

import contextlib
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.claims import claim

_CABLE = """
ip link add {near} type veth peer name far netns {pid}
ip addr add {host}/24 dev {near}
ip link set {near} up
nsenter --target {pid} --net sh -ec 'ip link set lo up
ip addr add {guest}/24 dev far
ip link set far up'
"""


@dataclass(frozen=True)
class OtherNetwork:
    """A namespace by the pid of the process that holds it. `address` is this machine's, as seen
    from there; nothing else of this machine is reached."""

    pid: int
    address: str

    @property
    def enter(self) -> tuple[str, ...]:
        """Words before a command that runs it there."""
        return ("nsenter", "--target", str(self.pid), "--net", "--")

    def program(self, folder: Path, path: Path) -> Path:
        """Return a program that runs `path` there."""
        made = folder / f"{path.name}-elsewhere"
        made.write_text(f'#!/bin/sh\nexec {" ".join(self.enter)} {path} "$@"\n')
        made.chmod(0o755)
        return made


@contextmanager
def other_network() -> Iterator[OtherNetwork]:
    """A network of its own, whose only machine besides is this one. Root only."""
    number = claim("network", 200) + 20
    host, guest = f"10.78.{number}.1", f"10.78.{number}.2"
    holder = subprocess.Popen(
        ["unshare", "--net", "sh", "-c", "echo here; exec sleep infinity"], stdout=subprocess.PIPE
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"here\n"
        cable = _CABLE.format(near=f"atg{number}", pid=holder.pid, host=host, guest=guest)
        subprocess.run(["sh", "-ec", cable], check=True)
        yield OtherNetwork(holder.pid, host)
    finally:
        holder.kill()
        holder.wait()
        with contextlib.suppress(AttributeError):
            holder.stdout.close()  # type: ignore[union-attr]
