"""A machine whose user is root, as containers of Cloudflare are: with a file system of its own."""

import os
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.peers.clouds.machine import STARTED_SECONDS, Machine

BEGIN = """
new=$1/root; mkdir "$new"; mount -t tmpfs tmpfs "$new"
for at in /*; do
  name=${at#/}
  if [ -L "$at" ]; then cp -P "$at" "$new/$name"
  elif [ "$name" != proc ] && [ "$name" != tmp ] && [ "$name" != home ] && [ -d "$at" ]; then
    mkdir "$new/$name"; mount --rbind "$at" "$new/$name"
  fi
done
mkdir "$new/proc" "$new/old" "$new/workspace" "$new/home" "$new/tmp"; chmod 1777 "$new/tmp"
mount --bind "$1/workspace" "$new/workspace"; mount --bind "$1/home" "$new/home"
mount -t proc proc "$new/proc"
[ -z "$2" ] || ip link set lo up
cd "$new"; pivot_root . old; cd /
touch /home/.begun
umount -l /old; rmdir /old
exec sleep infinity
"""


@dataclass
class RootMachine(Machine):
    """A machine, which runs from the start until `end`. Its home is the parent of all homes."""

    def start(self) -> None:
        """Start it."""
        self.folder.chmod(0o755)
        for folder in (self.home, self.folder / "workspace"):
            folder.mkdir()
        net = ["--net"] if self.closed else []
        self.process = subprocess.Popen(
            ["unshare", *net, "--pid", "--mount", "--ipc", "--fork", "--kill-child",
             "--propagation", "private", "sh", "-ec", BEGIN, "sh",
             str(self.folder), "net" if net else ""],
            stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        deadline = time.monotonic() + STARTED_SECONDS
        while not (self.home / ".begun").exists():
            assert self.process.poll() is None, "the machine did not start"
            assert time.monotonic() < deadline, "the machine does not start"
            time.sleep(0.005)
        (self.home / ".begun").unlink()

    def argv(self, *words: str) -> list[str]:
        """Return what runs these words there, as root."""
        inside = ("nsenter", f"--target={self.pid}", "--net", "--pid", "--mount", "--ipc")
        env = ("env", "-i", "-C", "/workspace", "HOME=/root", f"PATH={os.defpath}:/usr/sbin:/sbin")
        return [*inside, "--", *env, *words]

    def workspace(self, sandbox: str) -> Path | None:
        """Where the files of a sandbox there are seen from outside."""
        (found, *_) = (*self.home.glob(f"*/.atoll/*/boxes/{sandbox}"), None)
        return found and found / "workspace"

    def processes(self) -> list[int]:
        """Pids of all that runs there, seen from outside."""
        found = []
        space = Path(f"/proc/{self.pid}/ns/pid").readlink()
        for path in Path("/proc").iterdir():
            with suppress(OSError, ValueError):
                if not path.name.isdigit():
                    continue
                # What is typed there has its parent outside; a wall has a namespace of its own.
                is_there = (path / "ns" / "pid").readlink() == space
                if is_there or self._descends(int(path.name)):
                    found.append(int(path.name))
        return found

    def _descends(self, pid: int) -> bool:
        while pid > 1:
            if pid == self.pid:
                return True
            status = Path(f"/proc/{pid}/status").read_text()
            pid = int(status.split("PPid:")[1].split()[0])
        return False
