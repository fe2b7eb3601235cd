"""A machine of the OpenShell peer: an image with the places of ours, under OpenShell's policy.

What the vendor's supervisor refuses is refused here by the same means, a seccomp filter and
Landlock, so that what must not be needed is not there.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.peers.clouds.machine import STARTED_SECONDS, Machine

CONFINE = Path(__file__).with_name("openshell_confine.py")
BEGIN = """
r=$1/root uid=$2
mount -t tmpfs -o mode=755 tmpfs "$r"
for d in usr etc; do mkdir "$r/$d"; mount --rbind "/$d" "$r/$d"; done
for d in bin sbin lib lib64; do
  if [ -L "/$d" ]; then ln -s "$(readlink "/$d")" "$r/$d"
  elif [ -d "/$d" ]; then mkdir "$r/$d"; mount --rbind "/$d" "$r/$d"; fi
done
mkdir "$r/proc" "$r/tmp" "$r/dev" "$r/old" "$r/var" "$r/opt" "$r/home"
chmod 1777 "$r/tmp"; mkdir -m 1777 "$r/var/tmp"
mount --bind "$1/home" "$r/home"
for d in workspace .atoll home/agent opt/atoll mnt srv sandbox; do
  mkdir -p "$1/home/disk/$d" "$r/$d"; mount --bind "$1/home/disk/$d" "$r/$d"
  chown "$uid:$uid" "$r/$d"
done
mkdir "$r/py"; mount --rbind "$3" "$r/py"; touch "$r/confine.py"
mount --bind "$4" "$r/confine.py"
mount -t tmpfs -o mode=755 tmpfs "$r/dev"
for d in null zero full random urandom tty; do
  touch "$r/dev/$d"; mount --bind "/dev/$d" "$r/dev/$d"
done
mkdir "$r/dev/pts" "$r/dev/shm"; chmod 1777 "$r/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$r/dev/pts"
ln -s pts/ptmx "$r/dev/ptmx"; ln -s /proc/self/fd "$r/dev/fd"
ln -s fd/0 "$r/dev/stdin"; ln -s fd/1 "$r/dev/stdout"; ln -s fd/2 "$r/dev/stderr"
mount --bind "$1/passwd" "$r/etc/passwd"
cd "$r"; pivot_root . old; mount -t proc proc /proc; umount -l /old; rmdir /old
ip link set lo up
touch /home/.begun
exec sleep infinity
"""


@dataclass
class PolicyMachine(Machine):
    """A machine whose every command is confined. `policy` holds `read_only` and `read_write`."""

    policy: dict[str, list[str]] = field(default_factory=dict)

    def start(self) -> None:
        """Start it."""
        self.folder.chmod(0o755)
        self.home.mkdir()
        (self.folder / "root").mkdir()
        passwd = self.folder / "passwd"
        line = f"sandbox:x:{self.uid}:{self.uid}::/sandbox:/bin/sh\n"
        passwd.write_text(Path("/etc/passwd").read_text() + line)
        passwd.chmod(0o644)
        self.process = subprocess.Popen(
            ["unshare", "--net", "--pid", "--mount", "--ipc", "--fork", "--kill-child",
             "--propagation", "private", "sh", "-ec", BEGIN, "sh",
             str(self.folder), str(self.uid), sys.base_prefix, str(CONFINE)],
            stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        deadline = time.monotonic() + STARTED_SECONDS
        while not (self.home / ".begun").exists():
            assert self.process.poll() is None, "the machine did not start"
            assert time.monotonic() < deadline, "the machine does not start"
            time.sleep(0.005)

    def argv(self, *words: str) -> list[str]:
        """Return what runs these words there, as its user and under its policy."""
        inside = ("nsenter", f"--target={self.pid}", "--net", "--pid", "--mount", "--ipc")
        env = ("env", "-i", f"PATH={os.defpath}", "HOME=/sandbox", "LD_LIBRARY_PATH=/py/lib")
        confined = ("/py/bin/python3", "-I", "/confine.py", str(self.uid), json.dumps(self.policy))
        return [*inside, "--wd=/", "--", *env, *confined, *words]

    def workspace(self, sandbox: str) -> Path | None:
        """Where the files of its one sandbox are seen from outside."""
        return self.home / "disk" / "workspace"

    def end(self) -> None:
        """End everything there, and remove its disk."""
        if self.process is not None:
            with suppress(IndexError, FileNotFoundError, ProcessLookupError):
                os.kill(self.pid, 9)
            self.process.kill()
            self.process.wait(timeout=10)
            self.process = None
        shutil.rmtree(self.folder, ignore_errors=True)
