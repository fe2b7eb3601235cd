"""An Atoll of the benchmark's own, with a client that is logged in to it."""

import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from atoll.testing.server import TestServer, test_server


@dataclass
class Server:
    """A running control plane and its API."""

    host: TestServer
    api: httpx.Client

    def start_again(self) -> None:
        """Start the control plane over the same home, after a kill."""
        self.api.close()
        self.host.start()
        self.api = _client(self.host)

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


def _client(host: TestServer) -> httpx.Client:
    client = httpx.Client(
        base_url=host.url, headers={"Authorization": f"Bearer {host.token}"}, timeout=60
    )
    while client.get("/readyz").status_code != 200:
        time.sleep(0.005)
    return client


@contextmanager
def server(
    env: Mapping[str, str] | None = None, *, profile: str = "", boxes_on: Path | None = None
) -> Iterator[Server]:
    """Start, and at the end take everything away. `profile` is a document of its owner's;
    sandboxes' disks lie in the folder `boxes_on`, where it is given."""
    said = {"ATOLL_MAX_SANDBOXES": "2000", **(env or {})}
    with test_server(said, start=False, cold=True) as host:
        if profile:
            (host.home / "profiles").mkdir()
            (host.home / "profiles" / "bench.yaml").write_text(profile)
        if boxes_on is not None:  # a home has its folders once it was started
            host.start()
            host.down()
        with _bound(host.home / "boxes", boxes_on):
            host.start()
            one = Server(host, _client(host))
            try:
                yield one
            finally:
                one.api.close()
                host.down()


@contextmanager
def _bound(place: Path, folder: Path | None) -> Iterator[None]:
    """Have a folder lie at another place."""
    if folder is None:
        yield
        return
    subprocess.run(["mount", "--bind", str(folder), str(place)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)
