"""Agents as layers: what is installed, how, by whom, and which one a sandbox gets."""

import os
import stat
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from atoll.adapters import turns
from atoll.adapters.agents.install import install, lock_layers
from atoll.adapters.agents.installed import layer, versions
from atoll.adapters.agents.layers import InstalledLayers
from atoll.adapters.agents.pins import pinned_version, write_pin
from atoll.adapters.agents.removed import sweep_removed
from atoll.adapters.agents.shelf import LayerShelf
from atoll.domain.agents.agent import Package, agents_by_name, split_reference
from atoll.domain.agents.registry import AGENTS, allowed_agents, find
from atoll.domain.broker.provider import PROVIDERS
from atoll.domain.errors import Conflict, Failed, Forbidden, Invalid, NotFound
from atoll.testing import AgentLayersContract, AgentShelfContract, FakeAgentLayers, FakeAgentShelf

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

NPM = """#!/bin/sh
echo "$@" >> "$0.asked"
[ ! -e "$0.broken" ] || { echo "registry says no" >&2; exit 7; }
while [ "$1" != --prefix ]; do shift; done
mkdir -p "$2/node_modules/.bin" && printf x > "$2/node_modules/.bin/codex"
chmod 4770 "$2/node_modules/.bin/codex" && chmod 700 "$2/node_modules"
"""


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that stands for npm: a registry is not ours to test."""
    program = tmp_path / "tools" / "npm"
    program.parent.mkdir()
    program.write_text(NPM)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return program


def lay(folder: Path, name: str, version: str) -> Path:
    agent = find(name)
    place = folder / agent.name / version
    (place / "bin").mkdir(parents=True)
    (place / "bin" / agent.command).write_text("")
    return place


def quiet(_line: str) -> None:
    return


def test_catalogue_names_and_aliases_are_one_agent_each() -> None:
    names = [name for agent in AGENTS for name in (agent.name, *agent.aliases)]
    assert len(names) == len(set(names))
    assert len(agents_by_name(AGENTS)) <= 32  # the zygote's limit


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_agent_file_holds_together(agent: object) -> None:
    assert agent in AGENTS
    known = next(one for one in AGENTS if one is agent)
    assert set(known.providers) <= set(PROVIDERS)
    assert known.package is not None or known.hint
    for argv in (known.argv, known.task_argv):
        assert known.command in {word.rsplit("/", 1)[-1] for word in argv}
    for seed in known.seeds:
        assert not seed.path.startswith("/") and ".." not in seed.path


def test_install_npm_layer_is_whole_readable_and_made_once(tmp_path: Path, npm: Path) -> None:
    folder = tmp_path / "agents"
    heard: list[str] = []
    made = install(folder, find("codex"), None, heard.append)
    program = Path(made.path) / "bin" / "codex"
    assert made.new and made.bytes == 1
    assert program.read_text() == "x"
    assert stat.S_IMODE(program.stat().st_mode) == 0o755
    assert stat.S_IMODE((Path(made.path) / "node_modules").stat().st_mode) == 0o755
    assert any("fetching @openai/codex" in line for line in heard)
    assert not install(folder, find("codex"), None, quiet).new
    asked = npm.with_name("npm.asked").read_text().splitlines()
    assert len(asked) == 1 and asked[0].endswith("@openai/codex@0.171.0")


def test_install_that_fails_leaves_nothing_and_says_why(tmp_path: Path, npm: Path) -> None:
    npm.with_name("npm.broken").touch()
    with pytest.raises(Failed, match="registry says no"):
        install(tmp_path / "agents", find("codex"), None, quiet)
    assert not list((tmp_path / "agents" / "codex").iterdir())


def test_install_sweeps_what_a_killed_one_left(tmp_path: Path, npm: Path) -> None:
    left = tmp_path / "agents" / "codex" / ".making-old"
    left.mkdir(parents=True)
    install(tmp_path / "agents", find("codex"), None, quiet)
    assert not left.exists()


def test_install_after_another_waits_its_turn_and_says_so(tmp_path: Path, npm: Path) -> None:
    said: list[str] = []
    folder, agent = tmp_path / "agents", find("codex")
    with ThreadPoolExecutor() as pool:
        with lock_layers(folder, agent):
            waiting = pool.submit(install, folder, agent, None, said.append)
            while not said:
                time.sleep(0.01)  # until it waits
        assert waiting.result().new
    assert said[0] == "codex: waiting for another install"


def test_install_does_not_wait_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "LOCK_SECONDS", 0.0)
    outcome: list[BaseException | None] = []

    def attempt() -> None:
        try:
            install(tmp_path / "agents", find("codex"), None, quiet)
        except Conflict as error:
            outcome.append(error)

    with lock_layers(tmp_path / "agents", find("codex")):
        other = threading.Thread(target=attempt)
        other.start()
        other.join()
    assert len(outcome) == 1


@as_root
def test_install_into_a_folder_of_somebody_else_is_forbidden(tmp_path: Path) -> None:
    folder = tmp_path / "agents"
    folder.mkdir()
    os.chown(folder, 1_900_000_000, 1_900_000_000)
    with pytest.raises(Forbidden, match="1900000000"):
        install(folder, find("codex"), None, quiet)


@pytest.mark.parametrize("version", ["../evil", "-g", "1..2", "1/2", "", "x" * 65, "1 2"])
def test_install_of_an_odd_version_is_refused(tmp_path: Path, version: str) -> None:
    with pytest.raises(Invalid):
        split_reference(f"codex@{version}")
    if version:
        with pytest.raises(Invalid):
            install(tmp_path / "agents", find("codex"), version, quiet)


def test_install_of_what_is_on_no_registry_says_how_else(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="/usr/local/bin"):
        install(tmp_path / "agents", find("cursor-agent"), None, quiet)


def test_install_pip_layer_works_where_sandboxes_see_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _wheel(tmp_path, "tinyagent", "1.0")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    package = Package("pip", "tinyagent", "1.0", programs=("venv/bin/aider",))
    made = install(tmp_path / "agents", replace(find("aider"), package=package), None, quiet)
    script = Path(made.path) / "bin" / "aider"
    assert script.read_text().splitlines()[0] == "#!/opt/atoll/agents/aider/venv/bin/python"
    said = subprocess.run(
        [f"{made.path}/venv/bin/python", "-c", "import tinyagent; print(tinyagent.WORD)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout == "hello\n"
    assert ".making" not in (Path(made.path) / "venv" / "pyvenv.cfg").read_text()


def _wheel(folder: Path, name: str, version: str) -> None:
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}.py", "WORD = 'hello'\ndef main(): print(WORD)\n")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/entry_points.txt", f"[console_scripts]\naider = {name}:main\n")
        wheel.writestr(f"{info}/RECORD", "")


def test_versions_side_by_side_default_to_the_pinned_one(tmp_path: Path) -> None:
    lay(tmp_path, "codex", "0.171.0")
    lay(tmp_path, "codex", "0.170.0")
    assert versions(tmp_path, find("codex"))[0] == "0.171.0"
    assert layer(tmp_path, find("codex"), "0.170.0") == tmp_path / "codex" / "0.170.0"
    assert layer(tmp_path, find("codex"), "9") is None


async def test_layers_mount_the_version_that_was_named(tmp_path: Path) -> None:
    lay(tmp_path, "codex", "0.171.0")
    other = lay(tmp_path, "codex", "0.170.0")
    layers = InstalledLayers(tmp_path)
    (mount,) = await layers.mounts_for("codex@0.170.0")
    assert (mount.source, mount.target) == (str(other), "/opt/atoll/agents/codex")
    with pytest.raises(Invalid, match=r"atoll agent install codex@9\.9"):
        await layers.mounts_for("codex@9.9")


async def test_layers_of_a_further_folder_come_after_the_persons_own(tmp_path: Path) -> None:
    own, served = tmp_path / "agents", tmp_path / "installed"
    layers = InstalledLayers(own, further=(served,))
    theirs = lay(served, "codex", "0.171.0")
    assert [one.source for one in await layers.mounts_for("codex")] == [str(theirs)]
    (codex,) = [
        one for one in LayerShelf(own, further=(served,)).list() if one.agent.name == "codex"
    ]
    assert codex.versions == ("0.171.0",)
    mine = lay(own, "codex", "0.171.0")
    assert [one.source for one in await layers.mounts_for("codex")] == [str(mine)]


def test_install_by_a_user_without_a_home_uses_a_temporary_one(
    tmp_path: Path, npm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/proc/1/none")
    assert LayerShelf(tmp_path / "agents").install("codex", None, quiet).new
    assert list(Path(tempfile.gettempdir()).glob("atoll-fetch-*")) == []


async def test_layers_without_the_agent_name_the_command_to_run(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="atoll agent install opencode"):
        await InstalledLayers(tmp_path).mounts_for("opencode")


async def test_layers_shell_needs_no_layer(tmp_path: Path) -> None:
    assert await InstalledLayers(tmp_path).mounts_for("shell") == ()


async def test_layers_outside_the_catalogue_are_forbidden(tmp_path: Path) -> None:
    lay(tmp_path, "codex", "0.171.0")
    layers = InstalledLayers(tmp_path, ("claude-code", "shell"))
    with pytest.raises(Forbidden, match="claude-code, shell"):
        await layers.mounts_for("codex")
    assert [one.name for one in allowed_agents(("shell",))] == ["shell"]
    assert allowed_agents(()) == () and allowed_agents(None) == AGENTS


def test_shelf_lists_installs_and_removes(tmp_path: Path, npm: Path) -> None:
    shelf = LayerShelf(tmp_path / "agents")
    assert not next(one for one in shelf.list() if one.agent.name == "codex").versions
    shelf.install("codex", None, quiet)
    shelf.install("codex@0.1.0", None, quiet)
    codex = next(one for one in shelf.list() if one.agent.name == "codex")
    assert codex.versions == ("0.171.0", "0.1.0")
    assert [one.version for one in shelf.remove("codex", "0.1.0")] == ["0.1.0"]
    assert [one.version for one in shelf.remove("codex", None)] == ["0.171.0"]
    with pytest.raises(NotFound, match="installed: none"):
        shelf.remove("codex", None)


@as_root
def test_removed_version_stays_for_sandboxes_until_none_has_it(
    tmp_path: Path, npm: Path, hold: Callable[[Path, str], subprocess.Popen[bytes]]
) -> None:
    folder = tmp_path / "agents"
    shelf = LayerShelf(folder)
    made = shelf.install("codex", None, quiet)
    sandbox = hold(Path(made.path), "/opt/atoll/agents/codex")
    assert [one.kept for one in shelf.remove("codex", None)] == [True]
    assert not Path(made.path).exists() and not versions(folder, find("codex"))
    assert shelf.install("codex", None, quiet).new  # the same version again, beside it
    inside = Path(f"/proc/{sandbox.pid}/root/opt/atoll/agents/codex/bin/codex")
    assert os.path.lexists(inside)
    assert [one.kept for one in shelf.remove("codex", None)] == [False]
    assert os.path.lexists(inside)
    sandbox.communicate()
    sweep_removed(folder)
    assert [path.name for path in (folder / "codex").iterdir()] == []


@pytest.fixture
def hold() -> Iterator[Callable[[Path, str], subprocess.Popen[bytes]]]:
    """Shows a folder at a path, in a mount namespace that lives as long as the test."""
    held: list[subprocess.Popen[bytes]] = []

    def start(source: Path, target: str) -> subprocess.Popen[bytes]:
        steps = (
            "mount -t tmpfs none /opt && mkdir -p $2 && mount --bind $1 $2 && echo held && read x"
        )
        process = subprocess.Popen(
            ["unshare", "-m", "sh", "-c", steps, "sh", str(source), target],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        held.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        return process

    yield start
    for process in held:
        if process.poll() is None:
            process.communicate()


def test_catalogue_loads_without_the_control_plane() -> None:
    code = "import sys, atoll.adapters.agents.shelf; print('sqlalchemy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


class TestInstalledLayers(AgentLayersContract):
    @pytest.fixture
    def layers(self, tmp_path: Path) -> InstalledLayers:
        lay(tmp_path, "codex", "1.0.0")
        return InstalledLayers(tmp_path)

    @pytest.fixture
    def offered(self) -> str:
        return "codex"


class TestFakeAgentLayers(AgentLayersContract):
    @pytest.fixture
    def layers(self) -> FakeAgentLayers:
        return FakeAgentLayers()

    @pytest.fixture
    def offered(self) -> str:
        return "codex"


class TestLayerShelf(AgentShelfContract):
    @pytest.fixture
    def shelf(self, tmp_path: Path, npm: Path) -> LayerShelf:
        return LayerShelf(tmp_path / "agents")

    @pytest.fixture
    def installable(self) -> str:
        return "codex"


class TestFakeAgentShelf(AgentShelfContract):
    @pytest.fixture
    def shelf(self) -> FakeAgentShelf:
        return FakeAgentShelf()

    @pytest.fixture
    def installable(self) -> str:
        return "codex"


def test_version_that_is_pinned_here_is_taken_where_none_is_named(
    tmp_path: Path, npm: Path
) -> None:
    shelf = LayerShelf(tmp_path)
    shelf.install("codex", None, quiet)
    shelf.install("codex", "0.172.0", quiet)
    write_pin(tmp_path, find("codex"), "0.172.0")
    (codex,) = [one for one in shelf.list() if one.agent.name == "codex"]
    assert codex.versions[0] == "0.172.0"
    assert codex.agent.package is not None and codex.agent.package.version == "0.172.0"
    shelf.remove("codex", "0.172.0")
    assert shelf.install("codex", None, quiet).version == "0.172.0"
    (tmp_path / "codex" / "pinned").write_text("../x")
    assert pinned_version(tmp_path, find("codex")) == "0.171.0"
