"""A sandbox on a host whose key changed: its destruction rests until the host is trusted again."""

import os
import subprocess
from collections.abc import Iterator

import pytest

from atoll.testing.server import TestServer, test_server
from tests.e2e.walls.test_ssh import add_host, places
from tests.peers.api import Api, api_of
from tests.peers.machines.ssh_server import SshServer, missing, throwaway_ssh_server

NOT_HERE = missing() or ("" if os.geteuid() == 0 else "needs root")
pytestmark = pytest.mark.skipif(bool(NOT_HERE), reason=NOT_HERE)


@pytest.fixture
def box() -> Iterator[SshServer]:
    with throwaway_ssh_server() as running:
        yield running


@pytest.fixture
def server(box: SshServer) -> Iterator[TestServer]:
    with test_server({"ATOLL_EXTENSIONS": "namespaces,ssh"}) as running:
        with api_of(running) as api:
            add_host(api, box)
        yield running


def swap_key(server: TestServer, box: SshServer) -> None:
    """Have the machine show another key, and end the connections from before."""
    box.swap_key()
    uid = server.home.stat().st_gid
    for place in (server.home / "ssh").glob("*.mux"):
        # As the control plane does it: the master obeys its own user alone.
        words = ["unshare", "--user", "--map-root-user", "--", "ssh", "-F", "none", "-O", "exit"]
        words += ["-o", f"ControlPath={place}", "--", "host"]
        subprocess.run(words, user=uid, group=uid, extra_groups=[], check=True)


def test_destroy_ends_with_what_stands_and_goes_on_once_the_host_is_trusted(
    server: TestServer, box: SshServer
) -> None:
    with api_of(server) as api:
        sandbox = api.create(profile="far", name="there")["sandbox_id"]
        swap_key(server, box)
        late = server.run("new", "--profile", "far", "--name", "late", "-d")
        assert late.returncode == 1, late.stdout
        assert "shows another key than the one pinned" in late.stderr
        assert server.run("destroy", "late", "--yes", timeout=50).returncode == 1
        tried = api.sandbox("late")
        assert (tried["state"], len(tried["leftovers"])) == ("destroying", 1)
        done = server.run("destroy", "there", "--yes", timeout=50)
        assert done.returncode == 1, done.stdout
        assert "there is destroying." in done.stdout
        assert f"This stands: the files of there ({sandbox}) on host box" in done.stdout
        assert "shows another key than the one pinned" in done.stdout
        shown = api.sandbox(sandbox)
        assert (shown["state"], len(shown["leftovers"])) == ("destroying", 1)
        assert places(box, sandbox)
        events = api.events(sandbox)
        assert events[-1]["event_type"] == "sandbox.destroy_held"
        trust_again(api, box)
        for one in (sandbox, tried["sandbox_id"]):
            api.until(one, lambda told: told["state"] == "destroyed")
        assert places(box, sandbox) == []
        assert api.sandbox(sandbox)["leftovers"] == []


def trust_again(api: Api, box: SshServer) -> None:
    """Trust the new key, as the person who changed it does, while its sandboxes stand there."""
    again = {"address": box.address, "name": "box"}
    refused = api.client.post("/v1/hosts", json=again)
    assert refused.json()["code"] == "host_key_changed"
    told = api.call("POST", "/v1/hosts/box/trust", json={})
    assert told["pinned"] not in told["shown"]
    wrong = api.client.post("/v1/hosts/box/trust", json={"fingerprint": told["pinned"]})
    assert wrong.json()["code"] == "host_key_changed"
    named = {"fingerprint": told["shown"][0]}
    assert api.call("POST", "/v1/hosts/box/trust", json=named)["pinned"] == named["fingerprint"]
