"""A real OpenSSH server on loopback, run by an ordinary user, at a port that the system gives.

As root the user exists only in the server's own mount namespace, where /etc/passwd has a line more.
"""

import getpass
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.claims import claim_uid, free_port

USER = "atollssh"
STARTED_SECONDS = 20.0
SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


def missing() -> str | None:
    """Why there can be no server here; None when there can."""
    if SSHD is None or shutil.which("ssh") is None:
        return "no OpenSSH here (apt-get install openssh-server openssh-client)"
    if os.geteuid() == 0 and shutil.which("unshare") is None:
        return "no unshare(1) here"
    return None


@dataclass
class SshServer:
    """A server, and the home of the one user who may log in. As root, `engine` is the socket of a
    Docker daemon that this machine has at its usual place."""

    folder: Path
    port: int
    uid: int = field(default_factory=claim_uid)
    engine: Path | None = None
    process: subprocess.Popen[bytes] | None = None
    settings: str = ""
    """More lines of its configuration."""

    @property
    def user(self) -> str:
        """Who logs in."""
        return USER if os.geteuid() == 0 else getpass.getuser()

    @property
    def home(self) -> Path:
        """The home of the user."""
        return self.folder / "home"

    @property
    def address(self) -> str:
        """How Atoll names it."""
        return f"ssh://{self.user}@127.0.0.1:{self.port}"

    def authorize(self, line: str) -> None:
        """Let the owner of this key in, as its person does."""
        file = self.folder / "authorized_keys"
        file.write_text(line + "\n")
        file.chmod(0o644)

    def restart(self) -> None:
        """End it with every connection, and start it again."""
        self.stop()
        subprocess.run(["pkill", "-KILL", "-x", "sshd", "-U", str(self.uid)], check=False)
        self.start()

    def reboot(self) -> None:
        """End all that runs there, and have what was started there be of another start of that
        machine: its own number cannot be changed here. As root only."""
        self.stop()
        _end_all(self)
        for boot in self.home.glob(".atoll/*/boxes/*/boot"):
            boot.write_text("of another start")
        self.start()

    def processes(self, *words: str) -> list[int]:
        """Pids of what its user runs, as pgrep(1) finds them by these words. As root only."""
        argv = ["pgrep", "-r", "D,R,S,T", "-U", str(self.uid), *words]
        said = subprocess.run(argv, capture_output=True, check=False)
        return [int(pid) for pid in said.stdout.split()]

    def swap_key(self) -> None:
        """Have it show another host key from now on."""
        self.stop()
        for file in self.folder.glob("host_key*"):
            file.unlink()
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        key = self.folder / "host_key"
        if not key.exists():
            words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)]
            subprocess.run(words, check=True)
        config = self.folder / "sshd_config"
        config.write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {key}\nPidFile none\n"
            f"AuthorizedKeysFile {self.folder}/authorized_keys\nStrictModes no\nUsePAM no\n"
            f"PasswordAuthentication no\nSetEnv HOME={self.home}\n{self.settings}"
        )
        words = [str(SSHD), "-D", "-e", "-f", str(config)]
        if os.geteuid() == 0:
            for path in (key, config, self.home):
                os.chown(path, self.uid, self.uid)
            words = self._as_user(words)
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(words, stderr=log, stdout=log, start_new_session=True)
        _await_answer(self.port, self.process, self.folder / "log")

    def _as_user(self, words: list[str]) -> list[str]:
        passwd = self.folder / "passwd"
        line = f"{USER}:x:{self.uid}:{self.uid}::{self.home}:/bin/sh\n"
        passwd.write_text(Path("/etc/passwd").read_text() + line)
        passwd.chmod(0o644)
        script = (
            'mount --bind "$1" /etc/passwd; uid=$2; engine=$3; shift 3; '
            'if [ -n "$engine" ]; then mount -t tmpfs none /run; : >/run/docker.sock; '
            'mount --bind "$engine" /run/docker.sock; fi; '
            'exec setpriv --reuid="$uid" --regid="$uid" --clear-groups -- "$@"'
        )
        named = ("unshare", "--mount", "--propagation", "private", "sh", "-ec", script, "sh")
        if self.engine is not None:
            os.chown(self.engine, self.uid, -1)
        return [*named, str(passwd), str(self.uid), str(self.engine or ""), *words]

    def stop(self) -> None:
        """End it and its sessions."""
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGTERM)
            self.process.wait(timeout=10)
            self.process = None


@contextmanager
def ssh_server(folder: Path, engine: Path | None = None) -> Iterator[SshServer]:
    """Yield a server whose files are in a folder that its user may enter."""
    server = SshServer(folder, free_port(), engine=engine)
    server.home.mkdir()
    server.start()
    try:
        yield server
    finally:
        server.stop()
        if os.geteuid() == 0:
            _end_all(server)


@contextmanager
def throwaway_ssh_server(engine: Path | None = None) -> Iterator[SshServer]:
    """Yield a server in a folder of its own, which is removed with all that was put there."""
    folder = Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
    folder.chmod(0o755)
    try:
        with ssh_server(folder, engine) as server:
            yield server
    finally:
        subprocess.run(["chmod", "-R", "u+rwX", str(folder)], check=False)
        shutil.rmtree(folder)


def _end_all(server: SshServer) -> None:
    """End what its user left running: links outlive their connections."""
    deadline = time.monotonic() + STARTED_SECONDS
    while server.processes():
        subprocess.run(["pkill", "-KILL", "-U", str(server.uid)], check=False)
        assert time.monotonic() < deadline, "processes of the server's user do not end"
        time.sleep(0.02)


def _await_answer(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + STARTED_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1) as link:
                if link.recv(4).startswith(b"SSH"):
                    return
        except OSError:
            time.sleep(0.02)
    raise RuntimeError(f"sshd did not start: {log.read_text()[-2000:]}")
