"""A whole Atoll for tests: the command people use, in a home of its own, and nothing left after.

Extension authors run theirs against it; Atoll's own end-to-end tests and benchmarks do too.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from atoll.testing.stranger import Stranger
from atoll.testing.warm_command import can_run, run_command
from atoll.testing.warm_process import WarmProcess
from atoll.testing.warm_server import start_command

START_SECONDS = 180.0
"""At most; a machine that is busy with other tests takes more than a minute."""
POLL_SECONDS = 0.005


@dataclass
class TestServer:
    """A control plane over `home`. `env` is added to its environment; `stranger` is whom root
    becomes to run it; `replica` names a further control plane. It is forked from a process that has
    loaded it, as are its commands. If `cold`, or after the words `before`, they are started as
    people do."""

    __test__ = False  # not a test class, whatever its name begins with

    home: Path
    env: Mapping[str, str] = field(default_factory=dict)
    before: tuple[str, ...] = ()
    stranger: Stranger | None = None
    process: subprocess.Popen[bytes] | WarmProcess | None = None
    replica: str | None = None
    cold: bool = False

    @property
    def words_before(self) -> tuple[str, ...]:
        """Words that, put before an argv, run it as the server's person."""
        return (*(() if self.stranger is None else self.stranger.words()), *self.before)

    @property
    def note(self) -> Path:
        """The file in which it says where it listens."""
        name = "control" if self.replica is None else f"replica-{self.replica}"
        return self.home / "run" / f"{name}.json"

    @property
    def url(self) -> str:
        """Address where it listens, without a slash at the end."""
        note: dict[str, str] = json.loads(self.note.read_text())
        return note["url"].rstrip("/")

    @property
    def token(self) -> str:
        """Bearer token of its person."""
        return (self.home / "token").read_text().strip()

    @property
    def log(self) -> Path:
        """Output of `atoll up`, login links included."""
        return self.home.parent / f"up{self.replica or ''}.log"

    def start(self, port: int | None = 0) -> None:
        """Start the control plane; None leaves its port to the settings. Returns once it reports
        that it serves."""
        self.note.unlink(missing_ok=True)
        words = ["up", "--home", str(self.home), "--no-browser"]
        words += [] if port is None else ["--port", str(port)]
        words += [] if self.replica is None else ["--replica", self.replica]
        env = {**os.environ, **self.env}
        with self.log.open("ab") as log:
            if self.cold or self.before:
                argv = [*self.words_before, atoll_command(), *words]
                self.process = subprocess.Popen(
                    argv, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=env
                )
            else:
                self.process = self._start_warm(words, env, log.fileno())
        begun = time.monotonic()
        while (passed := time.monotonic() - begun) < START_SECONDS:
            if self.process.poll() is not None:
                break
            if self._is_serving():
                return
            time.sleep(max(POLL_SECONDS, passed / 20))
        raise RuntimeError(f"Atoll did not start: {self.log.read_text()[-2000:]}")

    def _start_warm(self, words: list[str], env: dict[str, str], log: int) -> WarmProcess:
        nothing = os.open(os.devnull, os.O_RDONLY)
        try:
            return start_command(words, env, (nothing, log, log), stranger=self.stranger)
        finally:
            os.close(nothing)

    def _is_serving(self) -> bool:
        try:
            with urllib.request.urlopen(self.url + "/healthz", timeout=5) as answer:  # noqa: S310
                return bool(answer.status == 200)
        except (OSError, ValueError, KeyError):
            return False

    def kill(self) -> None:
        """Send SIGKILL to the control plane. Sandboxes and their terminals keep running."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()

    def run(self, *words: str, **options: object) -> "subprocess.CompletedProcess[str]":
        """Run `atoll WORDS…` against this server and capture what it prints. Options are those of
        `subprocess.run`."""
        env = {**os.environ, **self.env, "ATOLL_HOME": str(self.home), "NO_COLOR": "1"}
        env.pop("ATOLL_URL", None)
        env.pop("ATOLL_TOKEN", None)
        options = {"env": env, "capture_output": True, "text": True, "check": False, **options}
        if not (self.cold or self.before) and can_run(options):
            return run_command(words, self.stranger, options)
        argv = [*self.words_before, atoll_command(), *words]
        return subprocess.run(argv, **options)  # type: ignore[call-overload,no-any-return]

    def down(self) -> None:
        """End control plane, sandboxes and zygote."""
        self.run("down", "--yes", "--home", str(self.home))
        if self.process is not None:
            if self.process.poll() is None:
                self.process.terminate()
            self.process.wait(30)


def atoll_command() -> str:
    """Return the `atoll` beside the Python that runs this."""
    return str(Path(sys.executable).with_name("atoll"))


@contextmanager
def test_server(
    env: Mapping[str, str] | None = None,
    *,
    keys: str = "",
    start: bool = True,
    cold: bool = False,
) -> Iterator[TestServer]:
    """Run a server in a throw-away home; `keys` is the text of its `keys.toml`, and a `cold` one is
    started as people do. At the end nothing of it is left."""
    parent = Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
    parent.chmod(0o711)
    server = TestServer(parent / "h", dict(env or {}), cold=cold)
    server.home.mkdir(mode=0o711)
    if keys:
        (server.home / "keys.toml").write_text(keys)
        (server.home / "keys.toml").chmod(0o600)
    try:
        if start:
            server.start()
        yield server
    finally:
        server.down()
        shutil.rmtree(parent, ignore_errors=True)


test_server.__test__ = False  # type: ignore[attr-defined]
