"""Sandboxes in machines of QEMU: a real guest, nothing but a virtio-serial port, and everything
over a link. One boot serves most of these. They run in `make test-backends`."""

import os
import re
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from atoll.testing.server import TestServer, test_server
from tests.e2e.terminals.test_open import forwarded
from tests.e2e.terminals.test_turns import attach_with
from tests.e2e.walls.test_ssh import KEY, TICKS, model
from tests.peers.api import Api, api_of, until
from tests.peers.canary import files_with, memory_holds
from tests.peers.machines.microvm import home_with_image, missing, qemu_of

NOT_HERE = missing()
pytestmark = [
    pytest.mark.docker,
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.skipif(bool(NOT_HERE), reason=NOT_HERE),
]
PROFILE = {
    "id": "profile.vm",
    "version": "1.0.0",
    "description": "A shell in a machine of its own.",
    "extension": "ext.vm-packer",
    "image": "host",
    "workspace": {"mode": "remote-canonical", "access": "rw", "scope_default": "session"},
    "resources": {"workspace_mb": 200, "memory_mb": 512, "cpu": 1},
}
CONFIG = 'extensions = ["namespaces", "microvm"]\n'


@pytest.fixture(scope="module")
def server() -> Iterator[TestServer]:
    keys = f'[openai]\nkey = "{KEY}"\n'
    with model() as url, test_server(start=False, keys=keys) as running:
        home_with_image(running.home)
        config = CONFIG + f'[upstreams]\nopenai = "{url}"\n'
        (running.home / "config.toml").write_text(config)
        running.start()
        with api_of(running) as api:
            api.call("PUT", "/v1/profiles/profile.vm", json=PROFILE)
        yield running


@pytest.fixture(scope="module")
def far(server: TestServer) -> str:
    """The one machine of most tests, which `down` ends."""
    with api_of(server) as api:
        return str(api.create(profile="vm")["sandbox_id"])


@pytest.fixture
def api(server: TestServer) -> Iterator[Api]:
    with api_of(server) as made:
        yield made


def test_interior_is_that_of_every_sandbox(api: Api, far: str) -> None:
    shown = api.sandbox(far)
    assert (shown["extension"], shown["isolation"]["level"]) == ("ext.microvm", "microvm")
    notes = {note.partition(":")[0] for note in shown["isolation"]["degraded"]}
    assert notes <= {"speed"}, shown["isolation"]
    assert api.run(far, "id -un; pwd").split() == ["agent", "/workspace"]
    assert api.run(far, "grep CapEff /proc/self/status").split()[1] == "0" * 16
    tools = "for tool in git curl jq rg awk which less python3; do command -v $tool; done | wc -l"
    assert api.run(far, tools) == "8\n"
    assert "Linux 6" in api.run(far, "uname -sr")


def test_neither_sandbox_nor_guest_nor_qemu_has_a_network(
    api: Api, server: TestServer, far: str
) -> None:
    assert api.run(far, "grep -c : /proc/net/dev") == "1\n"
    assert api.run(far, "ls /sys/class/net 2>/dev/null | wc -l") == "0\n"
    pid = qemu_of(server.home, far)
    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    assert words[words.index(b"-nic") + 1] == b"none"
    assert not [word for word in words if b"netdev" in word or b"virtio-net" in word]
    interfaces = Path(f"/proc/{pid}/net/dev").read_text().splitlines()[2:]
    assert [line.split(":")[0].strip() for line in interfaces] == ["lo"]
    assert Path(f"/proc/{pid}/root/home").exists() is False
    # It is as large as its profile says, whatever the control plane may take.
    assert ":/" in (groups := Path(f"/proc/{pid}/cgroup").read_text())
    assert "/control\n" not in groups


def test_network_is_the_two_doors(api: Api, far: str) -> None:
    assert "keyed" in api.run(far, "curl -sS http://127.0.0.1:8082/broker/openai/v1/models")
    assert "403" in api.run(far, "curl -sS -m 20 https://example.com 2>&1 || true")


def test_no_key_is_in_the_machine(api: Api, server: TestServer, far: str) -> None:
    assert "keyed" in api.run(far, "curl -sS http://127.0.0.1:8082/broker/openai/v1/models")
    api.run(far, "echo a-canary-that-is-there-$((6*7)) > seen; sync")
    pid = qemu_of(server.home, far)
    assert memory_holds(pid, b"a-canary-that-is-there-42")
    assert not memory_holds(pid, KEY.encode())
    assert files_with(server.home / "vms", KEY.encode()) == []


@pytest.mark.slow
def test_files_are_the_same_by_the_api_and_inside(api: Api, far: str) -> None:
    body = os.urandom(3_000_000)
    put = api.client.put(f"/v1/sandboxes/{far}/files/content?path=big", content=body)
    assert put.is_success, put.text
    assert api.client.get(f"/v1/sandboxes/{far}/files/content?path=big").content == body
    assert api.run(far, "wc -c < big") == "3000000\n"


@pytest.mark.slow
def test_port_inside_is_opened_here(api: Api, server: TestServer, far: str) -> None:
    serve = "setsid python3 -m http.server --bind 127.0.0.1 4002 --directory /usr/share"
    api.run(far, f"({serve} >/dev/null 2>&1 &)")
    api.run(far, "until curl -sS http://127.0.0.1:4002 >/dev/null 2>&1; do sleep 0.1; done")
    with (
        forwarded(server, far, 4002) as (local, _),
        urllib.request.urlopen(f"http://127.0.0.2:{local}/", timeout=60) as answer,
    ):
        assert b"ca-certificates" in answer.read()


@pytest.mark.slow
def test_repository_comes_and_is_pulled(api: Api, server: TestServer, tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    script = (
        f"git init -q -b main {repo} && cd {repo} && echo one > a && git add . && "
        "git -c user.name=a -c user.email=a@example.com commit -qm first"
    )
    subprocess.run(script, shell=True, check=True)
    done = server.run("new", ".", "--profile", "vm", "--name", "cloned", "-d", cwd=repo)
    assert done.returncode == 0, done.stderr
    api.run("cloned", "echo two >> a && git commit -qam second")
    pulled = server.run("pull", "cloned", cwd=repo)
    assert pulled.returncode == 0, pulled.stderr
    log = ["git", "log", "--all", "--format=%s"]
    said = subprocess.run(log, cwd=repo, capture_output=True, text=True, check=True).stdout
    assert said.split() == ["second", "first"]
    api.act("cloned", "destroy")


@pytest.mark.slow
async def test_lost_control_plane_loses_no_byte(server: TestServer, api: Api, far: str) -> None:
    terminal = api.terminal(far, "sh", "-c", TICKS)
    headers = {"Authorization": f"Bearer {server.token}"}
    async with attach_with(api.attach_url(far, terminal), headers) as viewer:
        await viewer.sees(b"tick-20-")
    server.kill()
    server.start()
    with api_of(server) as again:
        assert again.run(far, "echo back") == "back\n"
        async with attach_with(again.attach_url(far, terminal), headers) as viewer:
            await viewer.sees(b"tick-100-")
            seen = bytes(viewer.seen)
        again.call("DELETE", f"/v1/sandboxes/{far}/terminals/{terminal}")
    numbers = [int(found) for found in re.findall(rb"tick-(\d+)-", seen)]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    assert numbers[0] == 1


@pytest.mark.slow
def test_disk_that_is_full_is_its_own_sandboxs_alone(
    api: Api, server: TestServer, far: str
) -> None:
    said = api.run(far, "cat /dev/zero 2>&1 > full; true")
    assert "No space left" in said
    disk = server.home / "vms" / far / "disk"
    assert disk.stat().st_size == 200 * 1024 * 1024
    assert api.run(far, "rm full; echo again > file; cat file") == "again\n"


@pytest.mark.slow
def test_lost_runtime_is_replaced_and_its_programs_run_on(server: TestServer, far: str) -> None:
    with api_of(server) as api:
        api.run(far, "(setsid sleep 5678 >/dev/null 2>&1 &)")
        machine = qemu_of(server.home, far)
        os.kill(api.box(far).runtime_pid, signal.SIGKILL)
        failed = api.until(far, lambda told: told["state"] == "failed")
        assert failed["reason"].startswith("runtime lost")
        api.act(far, "start")
        assert qemu_of(server.home, far) == machine
        assert api.run(far, "pgrep -xc sleep") == "1\n"


@pytest.mark.slow
def test_stop_keeps_files_and_destroy_leaves_nothing(server: TestServer, far: str) -> None:
    with api_of(server) as api:
        api.run(far, "echo kept > file; mkdir -p a/b; ln -s /etc/passwd a/l; chmod 000 a/b")
        machine = qemu_of(server.home, far)
        api.act(far, "stop")
        assert not Path(f"/proc/{machine}").exists()
        got = api.client.get(f"/v1/sandboxes/{far}/files/content?path=file")
        assert (got.status_code, got.content) == (200, b"kept\n")
        api.act(far, "start")
        assert api.run(far, "cat file; readlink a/l") == "kept\n/etc/passwd\n"
        machine = qemu_of(server.home, far)
        os.kill(machine, signal.SIGKILL)
        told = api.until(far, lambda seen: seen["state"] == "failed")
        assert "machine ended" in told["reason"]
        api.act(far, "destroy")
        assert list((server.home / "vms").iterdir()) == []


@pytest.mark.slow
def test_down_ends_machines(server: TestServer) -> None:
    with api_of(server) as api:
        sandbox = api.create(profile="vm")["sandbox_id"]
    machine = qemu_of(server.home, sandbox)
    server.kill()
    server.down()
    until(lambda: Path(f"/proc/{machine}").exists(), lambda there: not there)
    assert (server.home / "vms" / sandbox / "disk").exists()
    server.start()
