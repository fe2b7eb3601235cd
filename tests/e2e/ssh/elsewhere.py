"""Gateways before sandboxes that are not behind this machine's own wall: in containers of a real
Docker daemon, and on another machine with a real sshd."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from atoll.testing.server import TestServer, test_server
from tests.e2e.ssh.client import SshClient
from tests.e2e.ssh.conftest import PORT
from tests.peers.api import Api
from tests.peers.docker_daemon import IMAGE, docker_daemon
from tests.peers.machines.ssh_server import throwaway_ssh_server

PROFILE = "elsewhere"


class ElsewhereApi(Api):
    """Creates there."""

    def create(self, **body: Any) -> dict[str, Any]:
        return super().create(**{"profile": PROFILE, **body})


@contextmanager
def in_containers() -> Iterator[TestServer]:
    """Yield a server whose profile `elsewhere` makes containers."""
    with docker_daemon() as daemon:
        env = {**PORT, "ATOLL_EXTENSIONS": "docker", "ATOLL_DOCKER_HOST": daemon.host}
        with test_server(env) as made:
            _add_profile(made, "ext.docker", IMAGE)
            yield made


@contextmanager
def on_a_machine() -> Iterator[TestServer]:
    """Yield a server whose profile `elsewhere` makes sandboxes on another machine."""
    with (
        throwaway_ssh_server() as machine,
        test_server({**PORT, "ATOLL_EXTENSIONS": "ssh"}) as made,
    ):
        host = {"address": machine.address, "name": "machine"}
        with _api(made) as api:
            machine.authorize(api.call("POST", "/v1/hosts", json=host)["authorized_key"])
            assert api.call("POST", "/v1/hosts/machine/check")["problems"] == []
        _add_profile(made, "ext.ssh", "host")
        yield made


@contextmanager
def _api(server: TestServer) -> Iterator[Api]:
    api = ElsewhereApi(server)
    try:
        yield api
    finally:
        api.client.close()


def _add_profile(server: TestServer, extension: str, image: str) -> None:
    profile = {
        "id": f"profile.{PROFILE}",
        "version": "1.0.0",
        "extension": extension,
        "image": image,
        "workspace": {"mode": "remote-canonical", "access": "rw", "scope_default": "session"},
    }
    with _api(server) as api:
        api.call("PUT", f"/v1/profiles/{profile['id']}", json=profile)


@pytest.fixture(scope="module")
def calls(gateway: TestServer) -> Iterator[Api]:
    """Calls to the module's server."""
    with _api(gateway) as made:
        yield made


@pytest.fixture(scope="module")
def ada(gateway: TestServer, calls: Api, tmp_path_factory: pytest.TempPathFactory) -> SshClient:
    """The person of that server, with her key."""
    client = SshClient.made(gateway, Path(tmp_path_factory.mktemp("ssh")))
    calls.call("POST", "/v1/ssh/keys", json={"key": client.public, "name": "laptop"})
    return client


@pytest.fixture(scope="module")
def box(calls: Api) -> str:
    """The name of a sandbox there."""
    calls.create(name="box")
    return "box"
