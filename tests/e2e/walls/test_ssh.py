"""Sandboxes on another machine: a real sshd, an ordinary user there, and everything over a link."""

import asyncio
import http.server
import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from atoll.testing.server import TestServer, test_server
from tests.e2e.terminals.test_turns import attach_with
from tests.peers.api import Api, api_of, until
from tests.peers.canary import files_with, memory_holds
from tests.peers.machines.ssh_server import SshServer, missing, throwaway_ssh_server

NOT_HERE = missing() or ("" if os.geteuid() == 0 else "needs root")
pytestmark = pytest.mark.skipif(bool(NOT_HERE), reason=NOT_HERE)

KEY = "sk-canary-of-the-far-side-0123456789"
PROFILE = {
    "id": "profile.far",
    "version": "1.0.0",
    "description": "A shell on another machine.",
    "extension": "ext.ssh",
    "image": "host",
    "workspace": {"mode": "remote-canonical", "access": "rw", "scope_default": "session"},
}
TICKS = "i=0; while :; do i=$((i+1)); echo tick-$i-; sleep 0.02; done"


def ticks_in(seen: bytes | bytearray) -> list[int]:
    """Return the numbers of `TICKS` that came; none is lost, and none came twice."""
    numbers = [int(found) for found in re.findall(rb"tick-(\d+)-", seen)]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    return numbers


class Model(http.server.BaseHTTPRequestHandler):
    """A provider that answers with what key it was called."""

    def do_GET(self) -> None:
        said = b"keyed" if self.headers.get("Authorization") == f"Bearer {KEY}" else b"keyless"
        self.send_response(200)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def model() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def box() -> Iterator[SshServer]:
    with throwaway_ssh_server() as running:
        yield running


@pytest.fixture(scope="module")
def server(box: SshServer) -> Iterator[TestServer]:
    env = {"ATOLL_EXTENSIONS": "namespaces,ssh"}
    with (
        model() as url,
        test_server(env, start=False, keys=f'[openai]\nkey = "{KEY}"\n') as running,
    ):
        (running.home / "config.toml").write_text(f'[upstreams]\nopenai = "{url}"\n')
        running.start()
        with api_of(running) as api:
            add_host(api, box)
        yield running


def add_host(api: Api, box: SshServer) -> None:
    """Add the machine, as a newcomer does, and the profile that asks for it."""
    added = api.call("POST", "/v1/hosts", json={"address": box.address, "name": "box"})
    box.authorize(added["authorized_key"])
    looked = api.call("POST", "/v1/hosts/box/check")
    assert (looked["wall"], looked["problems"]) == (True, []), looked
    api.call("PUT", "/v1/profiles/profile.far", json=PROFILE)


@pytest.fixture
def api(server: TestServer) -> Iterator[Api]:
    with api_of(server) as made:
        yield made


@pytest.fixture
def far(server: TestServer) -> Iterator[str]:
    with api_of(server) as api:
        sandbox = api.create(profile="far")["sandbox_id"]
    yield sandbox
    with api_of(server) as api:  # it may listen elsewhere by now
        api.act(sandbox, "destroy")


def places(box: SshServer, sandbox: str) -> list[Path]:
    return list(box.home.glob(f".atoll/*/boxes/{sandbox}"))


def test_interior_is_that_of_every_sandbox(api: Api, far: str) -> None:
    assert api.run(far, "id -un; pwd").split() == ["agent", "/workspace"]
    assert api.run(far, "grep CapEff /proc/self/status").split()[1] == "0" * 16
    assert api.run(far, "ls /sys/class/net 2>/dev/null; cat /proc/net/dev | grep -c :") == "1\n"
    with_docs = api.sandbox(far)["isolation"]
    assert with_docs["level"] == "container"
    assert any(note.startswith("memory:") for note in with_docs["degraded"])


def test_network_is_the_two_doors(api: Api, far: str) -> None:
    assert "keyed" in api.run(far, "curl -sS http://127.0.0.1:8082/broker/openai/v1/models")
    assert "keyed" in api.run(far, "curl -sS -g 'http://[::1]:8082/broker/openai/v1/models'")
    refused = api.run(far, "curl -sS -m 9 https://example.com 2>&1 || true")
    assert "403" in refused
    direct = (
        "python3 -c 'import socket; socket.create_connection((\"1.1.1.1\", 53), 2)' 2>&1 || true"
    )
    assert "unreachable" in api.run(far, direct)


def test_no_key_ever_reaches_the_other_machine(api: Api, box: SshServer, far: str) -> None:
    assert "keyed" in api.run(far, "curl -sS http://127.0.0.1:8082/broker/openai/v1/models")
    needle = KEY.encode()
    assert files_with(box.home, needle) == []
    looked_at = 0
    for pid in box.processes():
        with suppress(ProcessLookupError, FileNotFoundError):
            assert needle not in Path(f"/proc/{pid}/environ").read_bytes()
            assert not memory_holds(pid, needle), Path(f"/proc/{pid}/cmdline").read_bytes()
            looked_at += 1
    assert looked_at >= 3


def test_files_and_ports_and_repositories_work(
    api: Api, server: TestServer, far: str, tmp_path: Path
) -> None:
    body = os.urandom(3_000_000)
    put = api.client.put(f"/v1/sandboxes/{far}/files/content?path=big", content=body)
    assert put.is_success, put.text
    got = api.client.get(f"/v1/sandboxes/{far}/files/content?path=big")
    assert got.content == body
    assert (
        api.client.get(
            f"/v1/sandboxes/{far}/files/content?path=big",
            headers={"Range": "bytes=1000000-1000009"},
        ).content
        == body[1_000_000:1_000_010]
    )
    repo = tmp_path / "repo"
    script = (
        f"git init -q -b main {repo} && cd {repo} && echo one > a && git add . && "
        "git -c user.name=a -c user.email=a@example.com commit -qm first"
    )
    subprocess.run(script, shell=True, check=True)
    done = server.run("new", ".", "--profile", "far", "--name", "cloned", "-d", cwd=repo)
    assert done.returncode == 0, done.stderr
    api.run("cloned", "echo two >> a && git commit -qam second")
    pulled = server.run("pull", "cloned", cwd=repo)
    assert pulled.returncode == 0, pulled.stderr
    log = subprocess.run(
        ["git", "log", "--all", "--format=%s"], cwd=repo, capture_output=True, text=True, check=True
    )
    assert log.stdout.split() == ["second", "first"]
    api.act("cloned", "destroy")


@contextmanager
def leaking(box: SshServer) -> Iterator[None]:
    """Have the machine's bwrap leave the network as it is, as a broken or a hostile one does."""
    (bwrap,) = box.home.glob(".atoll/*/bin/*/bwrap")
    real = bwrap.rename(bwrap.with_name("real"))
    bwrap.write_text(f'#!/bin/sh\nfirst=$1; shift\nexec {real} "$first" --share-net "$@"\n')
    bwrap.chmod(0o755)
    try:
        yield
    finally:
        real.rename(bwrap)


def test_wall_that_leaks_is_found_from_inside_and_refused_unless_accepted_by_name(
    api: Api, box: SshServer, far: str
) -> None:
    def noted(name: str, sandbox: dict[str, Any]) -> list[str]:
        return [one for one in sandbox["isolation"]["degraded"] if one.startswith(name)]

    whole = api.sandbox(far)
    for name in ("network", "capabilities", "privileges", "seccomp"):
        assert noted(name, whole) == []
    with leaking(box):
        body = {"profile": "far", "name": "leaky"}
        told = api.call("POST", "/v1/sandboxes?wait=ready&timeout=240", json=body)
        assert told["state"] == "failed"
        assert "its network is not closed (a route leads out by" in told["reason"]
        api.act("leaky", "destroy")
        accepted = api.create(profile="far", route={"accept_open_network": True})
        assert len(noted("network", accepted)) == 1
        api.act(accepted["sandbox_id"], "stop")
        started = api.act(accepted["sandbox_id"], "start")
        assert len(noted("network", started)) == 1
        api.act(accepted["sandbox_id"], "destroy")


def test_stop_keeps_files_and_destroy_leaves_nothing_there(api: Api, box: SshServer) -> None:
    sandbox = api.create(profile="far")["sandbox_id"]
    api.run(sandbox, "echo kept > file; (setsid sleep 4321 >/dev/null 2>&1 &)")
    api.act(sandbox, "stop")
    assert box.processes("-f", "sleep 4321") == []
    api.act(sandbox, "start")
    assert api.run(sandbox, "cat file") == "kept\n"
    assert places(box, sandbox)
    api.act(sandbox, "destroy")
    assert places(box, sandbox) == []
    assert box.processes("-f", sandbox) == []


async def test_cut_connection_and_a_lost_control_plane_lose_no_byte(
    server: TestServer, api: Api, box: SshServer, far: str
) -> None:
    terminal = api.terminal(far, "sh", "-c", TICKS)
    headers = {"Authorization": f"Bearer {server.token}"}
    async with attach_with(api.attach_url(far, terminal), headers) as viewer:
        await viewer.sees(b"tick-20-")
        await asyncio.to_thread(box.restart)
        await viewer.sees(b"tick-200-")
        numbers = ticks_in(viewer.seen)
    assert numbers[0] == 1
    await asyncio.to_thread(server.kill)
    await asyncio.to_thread(server.start)
    with api_of(server) as again:
        assert again.run(far, "echo back") == "back\n"
        async with attach_with(again.attach_url(far, terminal), headers) as viewer:
            await viewer.sees(b"tick-%d-" % (numbers[-1] + 100))
            ticks_in(viewer.seen)


async def test_lost_runtime_is_replaced_and_its_programs_run_on(
    server: TestServer, box: SshServer
) -> None:
    headers = {"Authorization": f"Bearer {server.token}"}
    with api_of(server) as api:
        far = api.create(profile="far")["sandbox_id"]
        terminal = api.terminal(far, "sh", "-c", TICKS)
        api.run(far, "(setsid sleep 5678 >/dev/null 2>&1 &)")
        os.kill(api.box(far).runtime_pid, signal.SIGKILL)
        failed = api.until(far, lambda told: told["state"] == "failed")
        assert failed["reason"].startswith("runtime lost")
        assert len(box.processes("-f", "sleep 5678")) == 1
        api.act(far, "start")
        assert len(box.processes("-f", "sleep 5678")) == 1
        async with attach_with(api.attach_url(far, terminal), headers) as viewer:
            while not re.search(rb"tick-\d+-", viewer.seen):
                assert await viewer.hear() is not None
        api.act(far, "destroy")
        until(lambda: box.processes("-f", "sleep 5678"), lambda left: not left)
