"""Whole-system fixtures: a real Atoll, a real repository, real agent programs."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from atoll.adapters.agents.catalogue import find
from atoll.adapters.agents.install import install
from atoll.testing.server import TestServer, test_server

CACHE = Path(__file__).resolve().parents[2] / ".venv" / "agents"


@pytest.fixture(scope="module")
def atoll() -> Iterator[TestServer]:
    with test_server() as server:
        yield server


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
