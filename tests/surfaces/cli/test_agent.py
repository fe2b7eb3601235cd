"""`atoll agent`: what a person sees of the agents of their machine."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from atoll.adapters.agents.catalogue import find
from atoll.domain.errors import NotFound
from atoll.ports.agents import Layer, Shelved
from tests.surfaces.cli.conftest import Cli


class NotedShelf:
    """Installs nothing and notes what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str | None]] = []

    def list(self) -> Sequence[Shelved]:
        return [Shelved(find("codex"), ("0.169.0", "0.1")), Shelved(find("shell"), (), True)]

    def install(
        self,
        name: str,
        version: str | None,
        report: Callable[[str], None],
        *,
        headway: Callable[[int, int], None] | None = None,
    ) -> Layer:
        assert headway is None  # nobody draws where there is no terminal
        self.asked.append((name, version))
        if name == "nobody":
            raise NotFound("no agent is called 'nobody'")
        report(f"{name}: fetching")
        return Layer(name, version or "1.0", "/somewhere", new=name != "codex")

    def remove(self, name: str, version: str | None) -> Sequence[Layer]:
        self.asked.append((name, version))
        return [Layer(name, version or "1.0", "/somewhere")]


class Machine:
    def __init__(self) -> None:
        self.shelf = NotedShelf()
        self.home: Path | None = None

    def agents(self, home: Path) -> NotedShelf:
        self.home = home
        return self.shelf


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.fixture
def agent(cli: Cli, machine: Machine) -> Callable[..., Any]:
    return lambda *words: cli("agent", *words, host=lambda: machine)


def test_agent_list_shows_versions_of_this_home(
    agent: Callable[..., Any], machine: Machine, environ: dict[str, str]
) -> None:
    ran = agent("list")
    assert ran.code == 0
    assert ran.out.splitlines()[1].split()[:3] == ["codex", "0.169.0,", "0.1"]
    assert "on this host" in ran.out
    assert machine.home == Path(environ["ATOLL_HOME"])


def test_agent_list_as_json_says_how_each_is_run(agent: Callable[..., Any]) -> None:
    codex = json.loads(agent("list", "--json").out)["agents"][0]
    assert codex["installed"] == ["0.169.0", "0.1"]
    assert codex["task_argv"][:2] == ["codex", "exec"]
    assert codex["state"] == [".codex"]


def test_agent_install_tells_progress_apart_from_its_answer(agent: Callable[..., Any]) -> None:
    ran = agent("install", "codex", "opencode")
    assert ran.out.splitlines() == ["codex 1.0 was installed already", "opencode 1.0 installed"]
    assert "fetching" in ran.err and "fetching" not in ran.out


def test_agent_install_takes_a_version_for_one_agent_only(
    agent: Callable[..., Any], machine: Machine
) -> None:
    assert agent("install", "codex", "--version", "0.1").code == 0
    assert machine.shelf.asked == [("codex", "0.1")]
    assert agent("install", "codex", "aider", "--version", "0.1").code == 2


def test_agent_install_of_an_unknown_one_is_not_found(agent: Callable[..., Any]) -> None:
    ran = agent("install", "nobody", "--json")
    assert (ran.code, ran.out) == (3, "")
    assert "no agent is called" in ran.err


def test_agent_update_without_names_takes_what_is_installed(
    agent: Callable[..., Any], machine: Machine
) -> None:
    assert agent("update").code == 0
    assert machine.shelf.asked == [("codex", None)]


def test_agent_remove_asks_first(agent: Callable[..., Any], machine: Machine) -> None:
    assert agent("remove", "codex").code == 1
    assert not machine.shelf.asked
    ran = agent("remove", "codex", "--yes", "--version", "0.1", "--json")
    assert json.loads(ran.out)["agents"][0]["version"] == "0.1"
