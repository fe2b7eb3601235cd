"""A whole Atoll behind each wall, shared by the suites that are run behind all of them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from atoll.testing.server import TestServer, test_server
from tests.e2e.walls.test_rootless import person
from tests.peers.api import Api, api_of
from tests.peers.docker_daemon import IMAGE, docker_daemon, why_not

PROFILE = """
id: profile.attacked
version: "1.0.0"
{backend}
resources: {{{limits}pids: 96, ptys: 12}}
"""
#: What takes root to keep, so that a profile behind another wall may not name it.
LIMITS = "cpu: 1.5, memory_mb: 256, workspace_mb: 64, "


@dataclass(frozen=True)
class Walled:
    """A server whose profile `attacked` makes small sandboxes behind `wall`."""

    wall: str
    server: TestServer
    api: Api


@contextmanager
def server_of(wall: str) -> Iterator[tuple[TestServer, str]]:
    """A server with this wall, and what a profile says to get it."""
    if wall == "rootless":
        with person() as server:
            yield server, "extension: ext.namespaces"
    elif wall == "root":
        with test_server() as server:
            yield server, "extension: ext.namespaces"
    else:
        with docker_daemon() as daemon:
            env = {"ATOLL_EXTENSIONS": "namespaces,docker", "ATOLL_DOCKER_HOST": daemon.host}
            with test_server(env) as server:
                yield server, f"extension: ext.docker\nimage: {IMAGE}"


@pytest.fixture(
    scope="session",
    params=[
        pytest.param("root", marks=pytest.mark.root),
        "rootless",
        pytest.param("docker", marks=[pytest.mark.root, pytest.mark.docker, pytest.mark.slow]),
    ],
)
def walled(request: pytest.FixtureRequest) -> Iterator[Walled]:
    """Each wall that can be had on this machine."""
    wall: str = request.param
    if wall != "rootless" and os.geteuid() != 0:
        pytest.skip("needs root")
    if wall == "docker" and why_not():
        pytest.skip(f"no Docker daemon: {why_not()}")
    with server_of(wall) as (server, backend), api_of(server) as api:
        limits = "" if wall == "rootless" else LIMITS
        profile = PROFILE.format(backend=backend, limits=limits)
        api.call("PUT", "/v1/profiles/attacked", content=profile)
        yield Walled(wall, server, api)
