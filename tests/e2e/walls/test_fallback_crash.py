"""The control plane killed at each step of a fallback, from the first backend's failure to the next
one's start: never two bills, and the sandbox gets up at the second one."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from atoll.testing.server import TestServer, test_server
from atoll.wire.zygote import messages as wire
from atoll.wiring.launch import zygote_process
from atoll.zygote.host.home import Home
from tests.e2e.walls.test_clouds_crash import Gate
from tests.peers.api import api_of, until
from tests.peers.clouds.cloud import E2B
from tests.peers.clouds.e2b import E2bPeer, e2b_peer
from tests.peers.clouds.faults import Fault
from tests.peers.clouds.machine import missing

pytestmark = [
    pytest.mark.skipif(bool(missing()), reason=str(missing())),
    pytest.mark.timeout(120),
]

PROFILE = {
    "id": "profile.falling",
    "version": "1.0.0",
    "description": "Rented first, since that has a price, and then this machine.",
    "image": "host",
    "extension": "ext.e2b",
    "route": {"strategy": "lowest-cost", "fallback": ["ext.namespaces"]},
    "workspace": {"mode": "remote-canonical", "access": "rw", "scope_default": "session"},
}


@pytest.fixture
def peer() -> Iterator[E2bPeer]:
    with e2b_peer() as running:
        yield running


@pytest.fixture
def server(peer: E2bPeer) -> Iterator[TestServer]:
    with test_server(start=False) as running:
        (running.home / "config.toml").write_text(E2B.settings(peer) + "cost_per_hour = 0.1\n")
        running.start()
        with api_of(running) as api:
            api.call("PUT", "/v1/profiles/profile.falling", json=PROFILE)
            api.call("PUT", "/v1/secrets/E2B", json=E2B.secret)
        yield running


class Bills:
    """What stands for a sandbox, looked at all the time: rented machines, and walls here."""

    def __init__(self, server: TestServer, peer: E2bPeer) -> None:
        self.most, self.looks = 0, 0
        self._home, self._peer = Home(server.home), peer

    def look(self) -> None:
        """Count what stands now."""
        rented = len(self._peer.live)
        answer = zygote_process.ask(self._home, wire.ListBoxes())
        assert isinstance(answer, wire.Listed)
        here = sum(box.live and box.wall != "link" for box in answer.boxes)
        # Again: what was rented while the walls were counted stands beside them.
        self.most = max(self.most, min(rented, len(self._peer.live)) + here)
        self.looks += 1


@contextmanager
def counted(server: TestServer, peer: E2bPeer) -> Iterator[Bills]:
    bills, over = Bills(server, peer), threading.Event()

    def run() -> None:
        while not over.wait(0.005):
            bills.look()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield bills
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize(
    ("name", "when"),
    [
        ("create", "after"),
        pytest.param("connect", "before", marks=pytest.mark.slow),
        pytest.param("connect", "after", marks=pytest.mark.slow),
        pytest.param("kill", "before", marks=pytest.mark.slow),
        pytest.param("kill", "after", marks=pytest.mark.slow),
        ("rerouted", ""),
    ],
)
def test_kill_at_a_step_of_a_fallback_leaves_one_bill(
    server: TestServer, peer: E2bPeer, name: str, when: str
) -> None:
    peer.faults.plan("connect", *[Fault.LOST] * 50)
    gate = Gate(peer, name, when)
    with counted(server, peer) as bills:
        try:
            with api_of(server) as api:
                made = api.client.post("/v1/sandboxes", json={"profile": "profile.falling"})
                sandbox = made.json()["sandbox_id"]
                if name == "rerouted":
                    until(lambda: kinds(api.events(sandbox)), lambda found: name in found)
                else:
                    assert gate.reached.wait(60)
            server.kill()
        finally:
            gate.released.set()
        server.start()
        with api_of(server) as api:
            settled = api.until(sandbox, lambda told: told["state"] in ("ready", "failed"))
            assert (settled["state"], settled["extension"]) == ("ready", "ext.namespaces"), settled
            assert api.run(sandbox, "echo here") == "here\n"
            assert peer.live == []
            before = bills.looks
            until(lambda: bills.looks, lambda count: count > before)
            api.act(sandbox, "destroy")
    assert (bills.most, bills.looks > 100) == (1, True)
    assert peer.rented <= 2


def kinds(events: list[dict[str, object]]) -> list[str]:
    return [str(one["event_type"]).removeprefix("sandbox.") for one in events]
