"""One server with a gateway for all tests of SSH."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from atoll.testing.server import TestServer, test_server
from tests.e2e.ssh.client import SshClient
from tests.peers.api import Api, api_of

PORT = {"ATOLL_SSH_ADDRESS": "127.0.0.1:0"}


@pytest.fixture(scope="package")
def gateway() -> Iterator[TestServer]:
    """A server whose gateway listens."""
    with test_server(PORT) as server:
        yield server


@pytest.fixture(scope="package")
def calls(gateway: TestServer) -> Iterator[Api]:
    """Calls to it."""
    with api_of(gateway) as made:
        yield made


@pytest.fixture(scope="package")
def ada(gateway: TestServer, calls: Api, tmp_path_factory: pytest.TempPathFactory) -> SshClient:
    """The person of the server, with her key."""
    client = SshClient.made(gateway, Path(tmp_path_factory.mktemp("ssh")))
    calls.call("POST", "/v1/ssh/keys", json={"key": client.public, "name": "laptop"})
    return client


@pytest.fixture(scope="package")
def box(calls: Api) -> str:
    """The name of a sandbox that is ready."""
    calls.create(name="box")
    return "box"


@pytest.fixture
def gateway_port(ada: SshClient) -> int:
    """The port of the gateway, on this machine."""
    return ada.port
