"""A machine that a peer of a vendor rents out: namespaces of its own, an ordinary user, a home.

Where its network is closed it has only `lo`, so that what should not be reached is not there.
"""

import os
import shutil
import subprocess
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.claims import claim_uid

FAR_TIER = (pytest.mark.slow, pytest.mark.docker)
"""The marks of what `make test-backends` runs and the usual run leaves out."""
STARTED_SECONDS = 20.0
BEGIN = """
mount -t proc proc /proc
mount -t tmpfs tmpfs /home; mkdir /home/user; mount --bind "$1" /home/user
mount --bind "$2" /etc/passwd
[ -z "$3" ] || ip link set lo up
touch "$1/.begun"
exec sleep infinity
"""


def missing() -> str | None:
    """Why there can be no machine here; None when there can."""
    if os.geteuid() != 0:
        return "needs root"
    programs = ("unshare", "nsenter", "setpriv", "ip")
    lacking = [name for name in programs if shutil.which(name) is None]
    return f"no {lacking[0]} here" if lacking else None


@dataclass
class Machine:
    """A machine, which runs from the start until `end`."""

    closed: bool
    uid: int = field(default_factory=claim_uid)
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="at", dir="/tmp")))
    process: subprocess.Popen[bytes] | None = None

    @property
    def home(self) -> Path:
        """The home of its user, as it is named outside."""
        return self.folder / "home"

    def start(self) -> None:
        """Start it."""
        self.folder.chmod(0o755)
        self.home.mkdir()
        os.chown(self.home, self.uid, self.uid)
        passwd = self.folder / "passwd"
        line = f"user:x:{self.uid}:{self.uid}::/home/user:/bin/sh\n"
        passwd.write_text(Path("/etc/passwd").read_text() + line)
        passwd.chmod(0o644)
        net = ["--net"] if self.closed else []
        self.process = subprocess.Popen(
            ["unshare", *net, "--pid", "--mount", "--ipc", "--fork", "--kill-child",
             "--propagation", "private", "sh", "-ec", BEGIN, "sh",
             str(self.home), str(passwd), "net" if net else ""],
            stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        deadline = time.monotonic() + STARTED_SECONDS
        while not (self.home / ".begun").exists():
            assert self.process.poll() is None, "the machine did not start"
            assert time.monotonic() < deadline, "the machine does not start"
            time.sleep(0.005)
        (self.home / ".begun").unlink()

    def argv(self, *words: str) -> list[str]:
        """Return what runs these words there, as its user."""
        uid = str(self.uid)
        inside = ("nsenter", f"--target={self.pid}", "--net", "--pid", "--mount", "--ipc")
        user = ("setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups")
        path = f"PATH={os.defpath}"
        env = ("env", "-i", "-C", "/home/user", "HOME=/home/user", "USER=user", path)
        return [*inside, "--", *user, "--", *env, *words]

    @property
    def pid(self) -> int:
        """The pid of its first process."""
        assert self.process is not None
        own = self.process.pid
        return int(Path(f"/proc/{own}/task/{own}/children").read_text().split()[0])

    def workspace(self, sandbox: str) -> Path | None:
        """Where the files of a sandbox there are seen from outside."""
        (found, *_) = (*self.home.glob(f".atoll/*/boxes/{sandbox}"), None)
        return found and found / "workspace"

    def processes(self) -> list[int]:
        """Pids of all that runs there, seen from outside."""
        found = []
        for path in Path("/proc").iterdir():
            with suppress(OSError, ValueError):
                uids = (path / "status").read_text().split("Uid:")[1].split()
                if path.name.isdigit() and int(uids[0]) == self.uid:
                    found.append(int(path.name))
        return found

    def end(self) -> None:
        """End everything there, and remove its disk."""
        if self.process is not None:
            with suppress(IndexError, FileNotFoundError):
                os.kill(self.pid, 9)
            self.process.kill()
            self.process.wait(timeout=10)
            self.process = None
        shutil.rmtree(self.folder, ignore_errors=True)
