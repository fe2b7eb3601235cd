"""A real sshd on loopback, for one ordinary user who exists in its own mount namespace alone."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

USER, UID = "traveller", 1_700_000
READY_SECONDS = 20.0

_CONFIG = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host_key
PidFile none
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
AuthorizedKeysFile {folder}/authorized_keys
StrictModes no
PermitRootLogin no
AllowUsers {user}
AcceptEnv none
Subsystem sftp internal-sftp
MaxStartups 200
MaxSessions 100
"""

_SETTLE = """\
set -e
mount --make-rprivate /
mkdir -p "$1/run"
mount -t tmpfs run /run
mkdir -p /run/sshd
for name in passwd group shadow; do mount --bind "$1/$name" "/etc/$name"; done
exec "$2" -D -e -f "$1/sshd_config"
"""


@dataclass(slots=True)
class Sshd:
    """A running sshd: its port, the public key it shows, the private key that opens it, and the
    home of its user."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes]

    @property
    def address(self) -> str:
        """The address for `ext.ssh`."""
        return f"ssh://{USER}@127.0.0.1:{self.port}"

    @property
    def host_key(self) -> str:
        """The type and key that it shows."""
        return " ".join((self.folder / "host_key.pub").read_text().split()[:2])

    @property
    def identity(self) -> Path:
        """The private key that opens it."""
        return self.folder / "identity"

    @property
    def home(self) -> Path:
        """The home of its user."""
        return self.folder / "home"

    def restart(self, *, new_key: bool = False) -> None:
        """End it with every connection, and start it again, perhaps with another key."""
        end(self.process)
        if new_key:
            for path in self.folder.glob("host_key*"):
                path.unlink()
            _make_key(self.folder / "host_key")
        self.process = _started(self.folder, self.port)


def missing() -> str:
    """Return why there can be no sshd here; empty where there can."""
    if os.geteuid() != 0:
        return "needs root: sshd logs another user in"
    return "" if program() else "openssh-server is not installed"


def program() -> str:
    """Return the path of sshd; empty without one."""
    return shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/sbin") or ""


@contextmanager
def sshd() -> Iterator[Sshd]:
    """Start an sshd; end it, what its user runs, and remove everything."""
    folder = Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
    folder.chmod(0o711)
    home = folder / "home"
    home.mkdir(mode=0o700)
    os.chown(home, UID, UID)
    for name, line in (
        ("passwd", f"{USER}:x:{UID}:{UID}::{home}:/bin/sh\n"),
        ("group", f"{USER}:x:{UID}:\n"),
        ("shadow", f"{USER}:*:19000:0:99999:7:::\n"),
    ):
        text = Path("/etc", name).read_text() if name != "shadow" else "root:*:19000::::::\n"
        (folder / name).write_text(text + line)
    for name in ("host_key", "identity"):
        _make_key(folder / name)
    shutil.copy(folder / "identity.pub", folder / "authorized_keys")
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    (folder / "sshd_config").write_text(_CONFIG.format(port=port, folder=folder, user=USER))
    running = Sshd(folder, port, _started(folder, port))
    try:
        yield running
    finally:
        end(running.process)
        subprocess.run(["pkill", "-KILL", "-U", str(UID)], check=False)
        _await_no_process()
        subprocess.run(["chmod", "-R", "u+rwX", str(folder)], check=False)
        shutil.rmtree(folder)


def end(process: subprocess.Popen[bytes]) -> None:
    """End an sshd with its connections."""
    process.terminate()
    process.wait(READY_SECONDS)
    subprocess.run(["pkill", "-KILL", "-U", str(UID), "-x", "sshd"], check=False)


def _await_no_process() -> None:
    deadline = time.monotonic() + READY_SECONDS
    while subprocess.run(["pgrep", "-U", str(UID)], check=False, capture_output=True).stdout:
        assert time.monotonic() < deadline, "processes of the sshd's user do not end"
        time.sleep(0.02)


def _make_key(path: Path) -> None:
    words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(path)]
    subprocess.run(words, check=True)


def _started(folder: Path, port: int) -> subprocess.Popen[bytes]:
    log = (folder / "sshd.log").open("ab")
    with log:
        process = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", _SETTLE, "sh", str(folder), program()],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    deadline = time.monotonic() + READY_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return process
        except OSError:
            assert process.poll() is None, (folder / "sshd.log").read_text()
            assert time.monotonic() < deadline, "sshd does not listen"
            time.sleep(0.02)
