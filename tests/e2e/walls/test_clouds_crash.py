"""The control plane killed at each vendor call of a create: at most one machine, and none for
long. The key reaches nobody but the vendor."""

import threading
from collections.abc import Iterator
from typing import Any, Protocol

import pytest

from atoll.testing.server import TestServer, test_server
from tests.peers.api import api_of, until
from tests.peers.clouds.cloud import EACH, Cloud
from tests.peers.clouds.faults import Faults
from tests.peers.clouds.machine import missing

pytestmark = [
    pytest.mark.skipif(bool(missing()), reason=str(missing())),
    pytest.mark.timeout(120),
]


@pytest.fixture(scope="module", params=EACH)
def cloud(request: pytest.FixtureRequest) -> Cloud:
    found: Cloud = request.param
    return found


@pytest.fixture(scope="module")
def peer(cloud: Cloud) -> Iterator[Any]:
    with cloud.serve() as running:
        yield running


@pytest.fixture(scope="module")
def server(cloud: Cloud, peer: Any) -> Iterator[TestServer]:
    with test_server(start=False) as running:
        (running.home / "config.toml").write_text(cloud.settings(peer))
        running.start()
        with api_of(running) as api:
            api.call("PUT", "/v1/profiles/profile.cloud", json=cloud.profile)
            api.call("PUT", "/v1/secrets/CLOUD", json=cloud.secret)
        yield running


class Gated(Protocol):
    """A peer whose calls can be held."""

    faults: Faults


class Gate:
    """Holds the first call of a name, before or after it was done."""

    def __init__(self, peer: Gated, name: str, when: str) -> None:
        self.reached, self.released = threading.Event(), threading.Event()
        self._at = (name, when)
        peer.faults.gate = self._pass

    def _pass(self, name: str, when: str) -> None:
        if (name, when) == self._at and not self.reached.is_set():
            self.reached.set()
            assert self.released.wait(60)


def killed_in_a_create(gate: Gate, server: TestServer, profile: str) -> str:
    """Kill the control plane while a gate holds a create; returns the sandbox once it is back."""
    try:
        with api_of(server) as api:
            made = api.client.post("/v1/sandboxes", json={"profile": profile})
            sandbox: str = made.json()["sandbox_id"]
        assert gate.reached.wait(30)
        server.kill()
    finally:
        gate.released.set()
    server.start()
    return sandbox


def every_step() -> list[Any]:
    """Return cloud, call and moment. The usual run has those whose lost answers cost the most."""
    worst = {("create", "after"), ("connect", "before")}
    return [
        pytest.param(
            *(one.values[0], name, when),
            id=f"{one.id}-{name}-{when}",
            marks=[*one.marks, *(() if (name, when) in worst else (pytest.mark.slow,))],
        )
        for one in EACH
        for name in one.values[0].calls
        for when in ("before", "after")
    ]


@pytest.mark.parametrize(("cloud", "name", "when"), every_step(), indirect=["cloud"])
def test_kill_at_a_vendors_call_leaves_at_most_one_machine(
    cloud: Cloud, server: TestServer, peer: Any, name: str, when: str
) -> None:
    sandbox = killed_in_a_create(Gate(peer, name, when), server, "profile.cloud")
    with api_of(server) as api:
        settled = api.until(sandbox, lambda told: told["state"] in ("ready", "active", "failed"))
        mine = [one for one in peer.live if one.tags["atoll-sandbox"] == sandbox]
        assert len(mine) <= 1, settled
        if settled["state"] != "failed":
            assert api.run(sandbox, "echo here") == "here\n"
        api.act(sandbox, "destroy")
    until(lambda: len(peer.live), lambda count: count == 0)


def test_down_gives_rented_machines_back_and_keeps_their_files(
    server: TestServer, peer: Any
) -> None:
    peer.faults.gate = None
    with api_of(server) as api:
        sandbox = api.create(profile="cloud")["sandbox_id"]
        api.run(sandbox, "echo kept > file")
    assert len(peer.live) == 1
    server.down()
    assert peer.live == []
    server.start()
    with api_of(server) as api:
        assert api.sandbox(sandbox)["state"] == "stopped"
        api.act(sandbox, "start")
        assert api.run(sandbox, "cat file") == "kept\n"
        api.act(sandbox, "destroy")


def test_no_machine_outlives_a_control_plane_that_never_returns(
    server: TestServer, peer: Any
) -> None:
    peer.faults.gate = None
    with api_of(server) as api:
        sandbox = api.create(profile="cloud")["sandbox_id"]
    server.kill()
    assert len(peer.live) == 1
    peer.advance(1801)
    assert peer.live == []
    server.start()
    with api_of(server) as api:
        api.act(sandbox, "destroy")
