"""One Docker daemon for all tests of agents in containers."""

from collections.abc import Iterator

import pytest

from tests.peers.docker_daemon import DockerDaemon, docker_daemon


@pytest.fixture(scope="session")
def daemon() -> Iterator[DockerDaemon]:
    with docker_daemon() as running:
        yield running
