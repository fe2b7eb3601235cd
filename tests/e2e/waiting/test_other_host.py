"""Snapshots on another host: the first one and its folder are gone, the contents are not."""

import os
import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.waiting.two_hosts import Hosts, two_hosts
from tests.peers.api import WAIT_SECONDS, Api, api_of
from tests.peers.contents.buckets import KEY, buckets
from tests.peers.databases.postgres import PostgresServer

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

FILL = r"""
set -eu
mkdir -p deep/er empty ~/.codex
echo one > file; chmod 640 file; ln file hard; ln -s ../file deep/link; ln -s /nowhere dangling
head -c 3000000 /dev/urandom > deep/noise; chmod 755 deep/noise
truncate -s 64M holes; printf end >> holes
touch 'name with spaces'; mkfifo pipe; chmod 1777 empty
touch -d '2001-02-03 04:05:06' deep/er; echo state > ~/.codex/mine
python3 -c "import os; os.setxattr('file', 'user.note', b'kept')"
"""
DESCRIBE = r"""
set -eu
for top in . ~/.codex; do
  cd $top
  find . -printf '%p %y %m %n %s %l %u %G %T@\n' | sort
  find . -type f -print0 | sort -z | xargs -0 sha256sum
done
python3 -c "import os; os.chdir('/workspace'); print(os.getxattr('file', 'user.note'), \
os.stat('holes').st_blocks < 100, os.stat('file').st_ino == os.stat('hard').st_ino)"
"""


def ready(api: Api, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """Return what became of a sandbox that is asked for."""
    told: dict[str, Any] = api.call("POST", f"{path}?wait=true&timeout={WAIT_SECONDS}", json=body)
    return told


def begin(api: Api) -> dict[str, Any]:
    """Return what became of a sandbox that is to begin as the snapshot."""
    path = f"/v1/sandboxes?wait=ready&timeout={WAIT_SECONDS}"
    told: dict[str, Any] = api.call("POST", path, json={"seed": {"snapshot": "far"}})
    return told


def exported(hosts: Hosts) -> tuple[str, str, str]:
    """Have the first host export a snapshot and be gone; return its sandbox, its id, and what was
    on its disk."""
    with api_of(hosts.first) as api:
        sandbox = api.create(name="origin")["sandbox_id"]
        api.run(sandbox, FILL)
        before = api.run(sandbox, DESCRIBE)
        taken = api.call("POST", f"/v1/sandboxes/{sandbox}/snapshots", json={"name": "far"})
        path = f"/v1/snapshots/{taken['snapshot_id']}"
        assert api.call("POST", f"{path}/export")["exported"] is True
        api.run(sandbox, "rm -rf deep; echo other > file")
    hosts.lose_first()
    return sandbox, taken["snapshot_id"], before


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="at", dir="/tmp") as path:
        Path(path).chmod(0o711)
        yield Path(path)


def test_fork_and_restore_on_another_host_are_equal_file_by_file(
    postgres: PostgresServer, folder: Path
) -> None:
    with two_hosts(postgres, {}, folder=folder / "contents") as hosts:
        sandbox, snapshot, before = exported(hosts)
        with api_of(hosts.second) as api:
            copy = begin(api)
            assert copy["state"] == "ready", copy
            assert api.run(copy["sandbox_id"], DESCRIBE) == before
            assert hosts.leftovers() == [f"boxes/snapshots/{snapshot}"]
            # The same sandbox, whose host is gone, comes back as it was.
            path = f"/v1/sandboxes/{sandbox}/restore"
            told = ready(api, path, {"snapshot": "far"})
            assert told["state"] == "ready", told
            assert api.run(sandbox, DESCRIBE) == before
            # And forks of what began here are as ever.
            made = api.call("POST", f"/v1/sandboxes/{sandbox}/fork", json={"count": 2})
            for one in made["sandboxes"]:
                path = f"/v1/sandboxes/{one['sandbox_id']}?wait=ready&timeout={WAIT_SECONDS}"
                assert api.call("GET", path)["state"] == "ready"
                assert api.run(one["sandbox_id"], DESCRIBE) == before


def test_one_flipped_bit_is_refused_and_leaves_nothing(
    postgres: PostgresServer, folder: Path
) -> None:
    contents = folder / "contents"
    with two_hosts(postgres, {}, folder=contents) as hosts:
        _, snapshot, before = exported(hosts)
        largest = max(contents.rglob("*"), key=lambda path: path.stat().st_size)
        whole = largest.read_bytes()
        flip(largest, len(whole) // 2)
        with api_of(hosts.second) as api:
            refused = begin(api)
            assert refused["state"] == "failed", refused
            assert "cannot be read whole" in refused["reason"], refused
            assert hosts.leftovers() == []
            boxes = hosts.second.home / "boxes"
            assert not (boxes / refused["sandbox_id"] / "image").exists()
            verified = api.call("POST", f"/v1/snapshots/{snapshot}/verify")
            assert (verified["whole"], verified["damaged"]) == (False, 1)
            flip(largest, len(whole) // 2)
            copy = begin(api)
            assert copy["state"] == "ready", copy
            assert api.run(copy["sandbox_id"], DESCRIBE) == before


def test_restore_of_what_is_nowhere_is_refused_and_ends_nothing(api: Api) -> None:
    own = api.create()["sandbox_id"]
    api.run(own, "echo mine > file")
    taken = api.call("POST", f"/v1/sandboxes/{own}/snapshots", json={"name": "lost"})
    snapshot = taken["snapshot_id"]
    shutil.rmtree(api.server.home / "boxes" / "snapshots" / snapshot)
    before = api.sandbox(own)
    body = {"snapshot": "lost"}
    for path, sent in (
        (f"/v1/sandboxes/{own}/restore", body),
        ("/v1/sandboxes", {"seed": body}),
    ):
        refused = api.client.post(path, json=sent)
        told = refused.json()
        assert (refused.status_code, told["code"]) == (409, "snapshot_elsewhere"), told
        assert f"`atoll snapshot export {snapshot}`" in told["detail"]
        assert "`content_store` names a place that all reach" in told["detail"]
    now = api.sandbox(own)
    assert (now["state"], now["generation"]) == (before["state"], before["generation"]), now
    assert api.run(own, "cat file") == "mine\n"


def flip(path: Path, offset: int) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        [byte] = file.read(1)
        file.seek(offset)
        file.write(bytes([byte ^ 1]))


class Gate:
    """A way to a port of this machine, which stops once it has carried so many bytes back."""

    def __init__(self, target: int, most: int) -> None:
        self.target, self.most, self.carried = target, most, 0
        self.is_shut = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._ends: list[socket.socket] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def run(self) -> None:
        """Carry connections until `close`."""
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self.target))
            self._ends += [near, far]
            for pair in ((near, far, False), (far, near, True)):
                threading.Thread(target=self._pour, args=pair, daemon=True).start()

    def _pour(self, source: socket.socket, sink: socket.socket, back: bool) -> None:
        with suppress(OSError):
            while piece := source.recv(65536):
                self.carried += len(piece) if back else 0
                if back and self.carried > self.most:
                    self.is_shut.set()
                    return
                sink.sendall(piece)
            sink.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """End all connections."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        for one in (self._listener, *self._ends):
            one.close()


@contextmanager
def gate(target: int, most: int) -> Iterator[Gate]:
    made = Gate(target, most)
    carrying = threading.Thread(target=made.run, daemon=True)
    carrying.start()
    try:
        yield made
    finally:
        made.close()
        carrying.join()


def test_server_that_is_killed_while_it_fetches_leaves_nothing(postgres: PostgresServer) -> None:
    with buckets() as service, gate(service.port, 2**20) as shut, gate(service.port, 2**40) as way:
        stored = service.settings().content_store or ""
        settings = {
            "ATOLL_CONTENT_STORE": stored,
            "ATOLL_CONTENT_ENDPOINT": way.url,
            "AWS_ACCESS_KEY_ID": KEY.id,
            "AWS_SECRET_ACCESS_KEY": KEY.secret,
        }
        with two_hosts(postgres, settings) as hosts:
            own = dict(hosts.second.env)
            hosts.second.env = {**own, "ATOLL_CONTENT_ENDPOINT": shut.url}
            _, snapshot, before = exported(hosts)
            with api_of(hosts.second) as api:
                body = {"seed": {"snapshot": "far"}}
                asked = api.call("POST", "/v1/sandboxes", json=body)["sandbox_id"]
                assert shut.is_shut.wait(WAIT_SECONDS)
                assert api.sandbox(asked)["state"] == "provisioning"
            hosts.second.kill()
            assert hosts.leftovers() == []
            hosts.second.env = own
            hosts.second.start()
            with api_of(hosts.second) as api:
                # It goes on by itself, and so does the next one.
                told = api.until(asked, lambda one: one["state"] in ("ready", "failed"))
                assert told["state"] == "ready", told
                for copy in (asked, begin(api)["sandbox_id"]):
                    assert api.run(copy, DESCRIBE) == before
            assert hosts.leftovers() == [f"boxes/snapshots/{snapshot}"]
