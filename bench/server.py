"""An Atoll of the benchmark's own: started by the command people use, in a throw-away home."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

ATOLL = str(Path(sys.executable).with_name("atoll"))


@dataclass
class Server:
    """A running control plane and a client that is logged in to it."""

    home: Path
    process: subprocess.Popen[bytes]
    api: httpx.Client

    def kill(self) -> None:
        """SIGKILL the control plane; sandboxes live on."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def start_again(self) -> None:
        """Start the control plane over the same home."""
        self.api.close()
        self.process = _launch(self.home)
        self.api = _client(self.home, self.process)

    def create(self, **fields: object) -> str:
        """A ready sandbox's id."""
        answer = self.api.post(
            "/v1/sandboxes", params={"wait": "ready"}, json={"profile": "shell", **fields}
        )
        answer.raise_for_status()
        sandbox = answer.json()
        if sandbox["state"] not in {"ready", "active"}:
            raise RuntimeError(f"sandbox is {sandbox['state']}: {sandbox['reason']}")
        return str(sandbox["sandbox_id"])

    def run(self, sandbox_id: str, *argv: str) -> dict[str, object]:
        """Run a command to its end."""
        answer = self.api.post(f"/v1/sandboxes/{sandbox_id}/exec", json={"argv": list(argv)})
        answer.raise_for_status()
        result: dict[str, object] = answer.json()
        return result


def _launch(home: Path) -> "subprocess.Popen[bytes]":
    (home / "run" / "control.json").unlink(missing_ok=True)
    log = (home.parent / "up.log").open("ab")
    return subprocess.Popen(
        [ATOLL, "up", "--home", str(home), "--port", "0", "--no-browser"],
        stdout=log,
        stderr=log,
        env={**os.environ, "ATOLL_MAX_SANDBOXES": "2000"},
    )


def _client(home: Path, process: "subprocess.Popen[bytes]") -> httpx.Client:
    control = home / "run" / "control.json"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            url = json.loads(control.read_text())["url"]
            token = (home / "token").read_text().strip()
            client = httpx.Client(
                base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=60
            )
            client.get("/readyz").raise_for_status()
            return client
        except (OSError, ValueError, httpx.HTTPError):
            time.sleep(0.005)
    raise RuntimeError(f"Atoll did not start: see {home.parent / 'up.log'}")


@contextmanager
def server() -> Iterator[Server]:
    """Start, and at the end take everything away."""
    parent = Path(tempfile.mkdtemp(prefix="atb", dir="/tmp"))
    parent.chmod(0o711)
    home = parent / "h"
    home.mkdir()
    process = _launch(home)
    one = Server(home, process, _client(home, process))
    try:
        yield one
    finally:
        one.api.close()
        subprocess.run([ATOLL, "down", "--home", str(home)], check=False, capture_output=True)
        one.process.terminate()
        one.process.wait(30)
        shutil.rmtree(parent, ignore_errors=True)
