"""OpenSSH's own clients at the gateway of a server, with a key and a configuration of their own."""

import json
import os
import pty
import select
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from atoll.testing.server import TestServer
from tests.peers.api import Pauses

SECONDS = 60


@dataclass(frozen=True, slots=True)
class SshClient:
    """A person with a key: `config` is a file for `ssh -F`."""

    server: TestServer
    folder: Path
    key: Path

    @classmethod
    def made(cls, server: TestServer, folder: Path, name: str = "id") -> "SshClient":
        """Make a key, which nobody knows yet."""
        key = folder / name
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
        return cls(server, folder, key)

    @property
    def public(self) -> str:
        """The public key, as a line."""
        return self.key.with_suffix(".pub").read_text().strip()

    @property
    def port(self) -> int:
        """The port of the gateway, which is waited for."""
        pauses, until = Pauses(), time.monotonic() + SECONDS
        while time.monotonic() < until:
            with suppress(OSError, ValueError):
                note = json.loads((self.server.home / "run" / "ssh.json").read_text())
                if note["port"] and Path(f"/proc/{note['pid']}").exists():
                    return int(note["port"])
            pauses.sleep()
        raise AssertionError("the gateway listens nowhere")

    @property
    def gateway_pid(self) -> int:
        """The pid of the gateway."""
        return int(json.loads((self.server.home / "run" / "ssh.json").read_text())["pid"])

    def config(self) -> Path:
        """Write the configuration and return it."""
        path = self.folder / f"{self.key.name}.config"
        path.write_text(
            f"Host gateway\n HostName 127.0.0.1\n Port {self.port}\n"
            f"Host *\n IdentityFile {self.key}\n IdentitiesOnly yes\n BatchMode yes\n"
            " StrictHostKeyChecking no\n UserKnownHostsFile /dev/null\n LogLevel ERROR\n"
        )
        return path

    def words(self, program: str = "ssh", *options: str) -> list[str]:
        """Return the argv of a client up to where its destination follows."""
        return [program, "-F", str(self.config()), *options]

    def run(
        self, sandbox: str, *command: str, stdin: bytes = b"", options: tuple[str, ...] = ()
    ) -> "subprocess.CompletedProcess[bytes]":
        """Run `ssh SANDBOX@gateway COMMAND…` to its end."""
        words = [*self.words("ssh", *options), f"{sandbox}@gateway", *command]
        return subprocess.run(words, input=stdin, capture_output=True, timeout=SECONDS, check=False)

    @contextmanager
    def terminal(self, sandbox: str, *command: str) -> Iterator["TypedTerminal"]:
        """Yield an `ssh -t` at a terminal of ours, which is killed at the end."""
        words = [*self.words("ssh", "-tt"), f"{sandbox}@gateway", *command]
        child, master = pty.fork()
        if child == 0:
            os.execvp(words[0], words)
        typed = TypedTerminal(child, master)
        try:
            yield typed
        finally:
            typed.close()


class TypedTerminal:
    """A program at a terminal that a test types at."""

    def __init__(self, child: int, master: int) -> None:
        self._child = child
        self._master = master
        self.shown = b""

    def type(self, keys: bytes) -> None:
        """Type keys."""
        os.write(self._master, keys)

    def await_text(self, text: bytes, seconds: float = SECONDS) -> bytes:
        """Read until this was shown, since the last call; returns what was."""
        until = time.monotonic() + seconds
        while text not in self.shown:
            left = until - time.monotonic()
            assert left > 0, f"{text!r} was not shown: {self.shown[-2000:]!r}"
            assert self._read(left), f"it ended without {text!r}: {self.shown[-2000:]!r}"
        before, _, self.shown = self.shown.partition(text)
        return before + text

    def await_end(self) -> int:
        """Read to the end, and return the exit code."""
        while self._read(SECONDS):
            pass
        _, status = os.waitpid(self._child, 0)
        self._child = 0
        return os.waitstatus_to_exitcode(status)

    def close(self) -> None:
        """Kill the program, if it still runs."""
        if self._child:
            with suppress(ProcessLookupError):
                os.kill(self._child, 9)
            os.waitpid(self._child, 0)
            self._child = 0
        with suppress(OSError):
            os.close(self._master)

    def _read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self._master], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self._master, 65536)
        except OSError:
            return False
        self.shown += data
        return bool(data)
