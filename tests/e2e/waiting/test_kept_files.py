"""What a stopped or expired sandbox keeps is read on real walls, and nothing stays running."""

import io
import os
import signal
import tarfile
from pathlib import Path

import httpx

from atoll.testing.server import TestServer
from tests.e2e.servers import SHORT, rootless_is_slow
from tests.peers.api import Api, until
from tests.peers.remains import pids_of

PROFILES = {"short": SHORT}
ALONE_SECONDS = 60

pytestmark = rootless_is_slow


def read(api: Api, sandbox: str, path: str) -> bytes:
    answer = api.client.get(f"/v1/sandboxes/{sandbox}/files/content", params={"path": path})
    assert answer.is_success, answer.text
    return answer.content


def refused(answer: httpx.Response) -> str:
    assert answer.status_code == 409, answer.text
    return str(answer.json()["code"])


def test_expired_sandbox_gives_its_files_and_starts_with_its_whole_time(api: Api) -> None:
    made = api.create(profile="short")
    sandbox = made["sandbox_id"]
    api.run(sandbox, "mkdir -p a && echo one > a/one && (setsid sleep 600 >&- 2>&- &)")
    expired = api.until(sandbox, lambda told: told["state"] == "expired", 60)
    assert expired["retained_until"]
    listed = api.call("GET", f"/v1/sandboxes/{sandbox}/files", params={"path": "a"})
    assert [entry["name"] for entry in listed["entries"]] == ["one"]
    assert read(api, sandbox, "a/one") == b"one\n"
    tree = api.client.get(f"/v1/sandboxes/{sandbox}/files/archive", params={"path": "a"})
    with tarfile.open(fileobj=io.BytesIO(tree.content)) as archive:
        assert any(name.endswith("one") for name in archive.getnames())
    # Nothing else is possible, and nothing of the agent's runs.
    assert api.sandbox(sandbox)["state"] == "expired"
    exec_ = api.client.post(f"/v1/sandboxes/{sandbox}/exec", json={"shell": "true"})
    assert refused(exec_) == "not_running"
    assert exec_.json()["detail"].endswith("DIR` takes them out as it is.")
    put = api.client.put(
        f"/v1/sandboxes/{sandbox}/files/content", params={"path": "x"}, content=b"x"
    )
    assert refused(put) == "not_running"
    kept = api.call("POST", f"/v1/sandboxes/{sandbox}/extend_ttl", json={"ttl": "10m"})
    assert kept["retained_until"] > expired["retained_until"]
    started = api.act(sandbox, "start")
    assert (started["state"], started["generation"]) == ("ready", 1)
    assert started["expires_at"] > expired["expires_at"]
    assert api.run(sandbox, "cat a/one; grep -lx sleep /proc/[0-9]*/comm || true") == "one\n"


def test_maintenance_start_of_a_killed_control_plane_ends_by_itself(
    server: TestServer, api: Api
) -> None:
    sandbox = api.create()["sandbox_id"]
    api.run(sandbox, "echo one > one")
    api.act(sandbox, "stop")
    assert read(api, sandbox, "one") == b"one\n"
    box = api.box(sandbox)
    assert box.maintenance
    server.kill()
    try:
        until(
            lambda: Path(f"/proc/{box.runtime_pid}").exists(),
            lambda alive: not alive,
            ALONE_SECONDS * 3,
        )
        until(lambda: api.box(sandbox).live, lambda live: not live, 60)
        if box.host_uid != server.home.stat().st_uid:
            until(lambda: pids_of(frozenset({box.host_uid})), lambda pids: not pids, 60)
    finally:
        server.start(int(server.url.rpartition(":")[2]))
    api.until(sandbox, lambda told: told["state"] == "stopped")
    assert read(api, sandbox, "one") == b"one\n"
    told = [event["event_type"] for event in api.events(sandbox)]
    assert [kind for kind in told if kind.startswith("sandbox.")][-1] == "sandbox.stopped"


def test_maintenance_start_killed_while_it_is_read_leaves_the_state_as_it_was(api: Api) -> None:
    sandbox = api.create()["sandbox_id"]
    api.run(sandbox, "echo one > one")
    api.act(sandbox, "stop")
    assert read(api, sandbox, "one") == b"one\n"
    os.kill(api.box(sandbox).runtime_pid, signal.SIGKILL)
    until(lambda: api.box(sandbox).live, lambda live: not live, 30)

    def again() -> httpx.Response:
        return api.client.get(f"/v1/sandboxes/{sandbox}/files/content", params={"path": "one"})

    until(again, lambda answer: answer.is_success, 30)
    assert api.sandbox(sandbox)["state"] == "stopped"
