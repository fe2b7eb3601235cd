"""Whole-system fixtures: a real Atoll, a real repository, real agent programs."""

import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from atoll.adapters.agents.install import install
from atoll.domain.agents.registry import find
from atoll.testing.server import TestServer, test_server
from tests.e2e.agents.agent_world import KEY, World, forgotten, world
from tests.e2e.servers import api_with, emptied
from tests.e2e.walls.test_rootless import person
from tests.peers.api import Api
from tests.peers.browsers import shared_browsers
from tests.peers.docker_daemon import DockerDaemon, docker_daemon
from tests.places import ROOT

CACHE = ROOT / ".venv" / "agents"


@pytest.fixture(scope="session")
def standing() -> Iterator[TestServer]:
    """One for all modules that leave it as they found it: to start one takes seconds."""
    with test_server() as server:
        yield server


@pytest.fixture(scope="session")
def standing_rootless() -> Iterator[TestServer]:
    """The same of a person without rights."""
    with person() as server:
        yield server


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[TestServer]:
    """The standing server, without a sandbox; whose it is, a test says that is `on_both_walls`."""
    rootless = getattr(request, "param", "root") == "rootless"
    made: TestServer = request.getfixturevalue("standing_rootless" if rootless else "standing")
    yield made
    emptied(made)


@pytest.fixture(scope="module")
def atoll(server: TestServer) -> TestServer:
    """The same server, by the name of its command."""
    return server


@pytest.fixture
def api(server: TestServer, request: pytest.FixtureRequest) -> Iterator[Api]:
    """Calls to the server, which knows the profiles of the test's module."""
    with api_with(server, getattr(request.module, "PROFILES", {})) as made:
        yield made


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def standing_world() -> AsyncIterator[World]:
    """One for all tests of agents: a server costs more than most of them."""
    async with world(KEY) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="session")
async def w(standing_world: World) -> AsyncIterator[World]:
    """The world without a sandbox, for a test that runs on the session's loop."""
    yield standing_world
    await forgotten(standing_world)


@pytest.fixture(scope="session")
def daemon() -> Iterator[DockerDaemon]:
    """One Docker daemon for the tests of agents in containers."""
    with docker_daemon() as running:
        yield running


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browsers() -> AsyncIterator[None]:
    """One browser of each kind for all tests that run on the session's loop."""
    async with shared_browsers():
        yield


@pytest.fixture
def usual() -> tuple[str, ...]:
    """Words for `atoll new` that choose the wall of the test's module: this machine's own."""
    return ()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A small repository with one commit on `main`."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "README.md").write_text("# project\n")
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.invalid"]
    subprocess.run(["git", "init", "-q", "-b", "main", str(folder)], check=True)
    subprocess.run(["git", "-C", str(folder), "add", "."], check=True)
    subprocess.run(["git", "-C", str(folder), *identity, "commit", "-qm", "start"], check=True)
    return folder


@pytest.fixture(scope="session")
def provide_agent() -> Callable[[TestServer, str], None]:
    """Gives a server an agent's layer: installed once from the registry, then linked."""

    def provide(server: TestServer, name: str) -> None:
        agent = find(name)
        if shutil.which("npm") is None:
            pytest.skip("agents are installed by npm, which is not on this machine")
        layer = Path(install(CACHE, agent, None, print).path)
        place = server.home / "agents" / agent.name / layer.name
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.exists():
            shutil.copytree(layer, place, symlinks=True, copy_function=_link)

    return provide


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)
