"""Sandboxes under a policy of OpenShell: a peer on its own wheel, and everything over a link."""

import subprocess
from collections.abc import Iterator

import pytest

from atoll.testing.server import TestServer, test_server
from tests.e2e.terminals.test_turns import attach_with
from tests.e2e.walls.test_clouds_crash import Gate, killed_in_a_create
from tests.e2e.walls.test_ssh import KEY, TICKS, model, ticks_in
from tests.peers.api import Api, api_of, until
from tests.peers.canary import files_with, memory_holds
from tests.peers.clouds.machine import FAR_TIER, missing
from tests.peers.clouds.openshell import KEY as VENDOR_KEY
from tests.peers.clouds.openshell import OpenShellPeer, openshell_peer
from tests.peers.clouds.openshell_machine import PolicyMachine

pytestmark = [
    *FAR_TIER,
    pytest.mark.skipif(bool(missing()), reason=str(missing())),
    pytest.mark.timeout(120),
]

PROFILE = {
    "id": "profile.policy",
    "version": "1.0.0",
    "description": "A shell under a policy.",
    "extension": "ext.openshell",
    "image": "host",
    "isolation": {"level": "policy"},
    "workspace": {"mode": "remote-canonical", "access": "rw", "scope_default": "session"},
}
SECRET = {"value": VENDOR_KEY, "kind": "extension", "extension": "ext.openshell"}


def settings(peer: OpenShellPeer) -> str:
    """The settings of a home that has a gateway at the peer."""
    return (
        'extensions = ["namespaces", "openshell"]\n'
        f'[openshell]\ngateway = "{peer.url}"\nimages = {{ host = "atoll:1" }}\n'
    )


@pytest.fixture(scope="module")
def peer() -> Iterator[OpenShellPeer]:
    with openshell_peer() as running:
        yield running


@pytest.fixture(scope="module")
def server(peer: OpenShellPeer) -> Iterator[TestServer]:
    keys = f'[openai]\nkey = "{KEY}"\n'
    with model() as url, test_server(start=False, keys=keys) as running:
        config = settings(peer) + f'[upstreams]\nopenai = "{url}"\n'
        (running.home / "config.toml").write_text(config)
        running.start()
        with api_of(running) as api:
            api.call("PUT", "/v1/profiles/profile.policy", json=PROFILE)
            api.call("PUT", "/v1/secrets/OPENSHELL", json=SECRET)
        yield running


@pytest.fixture
def api(server: TestServer) -> Iterator[Api]:
    with api_of(server) as made:
        yield made


@pytest.fixture
def far(server: TestServer, api: Api) -> Iterator[str]:
    sandbox = api.create(profile="policy")["sandbox_id"]
    yield sandbox
    with api_of(server) as again:  # it may listen elsewhere by now
        again.act(sandbox, "destroy")


def machine_of(peer: OpenShellPeer, sandbox: str) -> PolicyMachine:
    (made,) = peer.ours(sandbox)
    assert made.machine is not None
    return made.machine


def test_isolation_is_a_policy_and_says_what_is_missing(api: Api, far: str) -> None:
    isolation = api.sandbox(far)["isolation"]
    assert isolation["level"] == "policy"
    assert any(note.startswith("uid:") for note in isolation["degraded"])
    assert not any(note.startswith("network:") for note in isolation["degraded"])


def test_network_is_closed_and_the_doors_lead_here(api: Api, far: str, peer: OpenShellPeer) -> None:
    assert "keyed" in api.run(far, "curl -sS http://127.0.0.1:8082/broker/openai/v1/models")
    assert "403" in api.run(far, "curl -sS -m 9 https://example.com 2>&1 || true")
    argv = machine_of(peer, far).argv("sh", "-c", "grep -c : /proc/net/dev")
    assert subprocess.run(argv, capture_output=True, check=True).stdout == b"1\n"


def test_no_key_reaches_the_sandbox_an_event_or_a_log(
    api: Api, server: TestServer, far: str, peer: OpenShellPeer
) -> None:
    assert "keyed" in api.run(far, "curl -sS http://127.0.0.1:8082/broker/openai/v1/models")
    machine = machine_of(peer, far)
    assert not memory_holds(api.box(far).runtime_pid, VENDOR_KEY.encode())
    for needle in (KEY.encode(), VENDOR_KEY.encode()):
        assert files_with(machine.home, needle) == []
        assert len(machine.processes()) >= 3
        assert not [pid for pid in machine.processes() if memory_holds(pid, needle)]
    assert not peer.faults.holds(KEY)
    for place in (server.home / "rented", server.home / "logs"):
        assert not place.exists() or files_with(place, VENDOR_KEY.encode()) == []
    assert VENDOR_KEY not in str(api.call("GET", f"/v1/sandboxes/{far}"))
    assert VENDOR_KEY not in str(api.call("GET", "/v1/events?limit=1000"))


def test_stop_keeps_files_here_and_destroy_leaves_nothing(api: Api, peer: OpenShellPeer) -> None:
    sandbox = api.create(profile="policy")["sandbox_id"]
    api.run(sandbox, "echo kept > file; mkdir -p a/b; ln -s /etc/passwd a/l; chmod 000 a/b")
    api.act(sandbox, "stop")
    assert peer.ours(sandbox) == []
    api.act(sandbox, "start")
    assert api.run(sandbox, "cat file; readlink a/l") == "kept\n/etc/passwd\n"
    api.act(sandbox, "destroy")
    assert peer.ours(sandbox) == []


async def test_cut_streams_and_a_lost_control_plane_lose_no_byte(
    server: TestServer, api: Api, peer: OpenShellPeer, far: str
) -> None:
    terminal = api.terminal(far, "sh", "-c", TICKS)
    headers = {"Authorization": f"Bearer {server.token}"}
    async with attach_with(api.attach_url(far, terminal), headers) as viewer:
        await viewer.sees(b"tick-20-")
        peer.cut()
        await viewer.sees(b"tick-200-")
        assert ticks_in(viewer.seen)[0] == 1
    server.kill()
    server.start()
    with api_of(server) as again:
        assert again.run(far, "echo back") == "back\n"


def test_sandbox_whose_main_process_ends_fails_with_the_reason(
    api: Api, peer: OpenShellPeer
) -> None:
    sandbox = api.create(profile="policy")["sandbox_id"]
    (made,) = peer.ours(sandbox)
    peer.end(made)
    told = api.until(sandbox, lambda seen: seen["state"] == "failed")
    assert "OpenShell" in told["reason"]
    api.act(sandbox, "destroy")
    assert peer.made == {}


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", ["list", "create", "get", "config"])
def test_kill_at_a_gateways_call_leaves_at_most_one_sandbox(
    server: TestServer, peer: OpenShellPeer, name: str, when: str
) -> None:
    sandbox = killed_in_a_create(Gate(peer, name, when), server, "profile.policy")
    peer.faults.gate = None
    with api_of(server) as api:
        settled = api.until(sandbox, lambda told: told["state"] in ("ready", "active", "failed"))
        assert len(peer.ours(sandbox)) <= 1, settled
        if settled["state"] != "failed":
            assert api.run(sandbox, "echo here") == "here\n"
        api.act(sandbox, "destroy")
    until(lambda: len(peer.ours(sandbox)), lambda count: count == 0)
