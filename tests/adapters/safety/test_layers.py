"""The folder of shims: what lies in it, that it is shared, and that odd names stay inside it."""

import asyncio
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from atoll.adapters.safety.layers import TARGET, SafetyFolders, files_of
from atoll.domain.agents.agent import TOOLS_PROGRAM
from atoll.domain.errors import Failed
from atoll.domain.profile.profile import Safety
from atoll.ports import SafetyLayers
from atoll.testing import FakeSafetyLayers, SafetyLayersContract

ODD = Safety(
    shell=True,
    operator=(("it's",), ("../../etc/cron",), ("a/b/git", "push"), ("sudo", "x"), ("..",), ("x/",)),
)


async def test_profile_without_layers_gets_shell_marks_and_the_way_to_tools(tmp_path: Path) -> None:
    folders = SafetyFolders(tmp_path)
    (mount,) = await folders.mounts_for(Safety())
    found = {str(each.relative_to(mount.source)) for each in Path(mount.source).rglob("*")}
    assert found == {
        "bin", "bin/atoll-mcp", "marks.bash", ".zshenv", ".zprofile", ".zshrc",
        "fish", "fish/vendor_conf.d", "fish/vendor_conf.d/atoll.fish",
    }  # fmt: skip
    assert "BASH_ENV" not in dict(folders.env_for(Safety()))


async def test_layer_is_made_once_for_all_and_readable_by_everybody(tmp_path: Path) -> None:
    folders = SafetyFolders(tmp_path)
    made = await asyncio.gather(*(folders.mounts_for(ODD) for _ in range(8)))
    assert {mount.target for mounts in made for mount in mounts} == {TARGET}
    (place,) = tmp_path.iterdir()
    assert {mount.source for mounts in made for mount in mounts} == {str(place)}
    for path in (place, *place.rglob("*")):
        assert path.stat().st_mode & (stat.S_IROTH | stat.S_IWOTH) == stat.S_IROTH


def test_odd_names_of_programs_stay_in_the_folder() -> None:
    names = {name for name in files_of(ODD) if name.startswith("bin/")}
    assert names == {
        "bin/it's", "bin/cron", "bin/git", "bin/sudo", "bin/operator-approve", "bin/atoll-mcp",
    }  # fmt: skip


def test_program_of_tools_is_where_agents_are_told_it_is() -> None:
    assert f"{TARGET}/bin/atoll-mcp" == TOOLS_PROGRAM
    assert "/.atoll/init mcp" in files_of(Safety())["bin/atoll-mcp"]


def test_scripts_are_whole_for_the_shells_that_read_them(tmp_path: Path) -> None:
    scripts = {name: text for name, text in files_of(ODD).items() if name != "apt.conf"}
    for number, (name, text) in enumerate(scripts.items()):
        file = tmp_path / str(number)
        file.write_text(text)
        shell = shell_of(name)
        if shutil.which(shell):
            subprocess.run([shell, "-n", str(file)], check=True)


def shell_of(name: str) -> str:
    if name.startswith(".z"):
        return "zsh"
    return {"guard.sh": "bash", "marks.bash": "bash"}.get(
        name, "fish" if name.endswith("fish") else "sh"
    )


class TestSafetyFolders(SafetyLayersContract):
    @pytest.fixture
    def layers(self, tmp_path: Path) -> SafetyFolders:
        return SafetyFolders(tmp_path)

    def reopened(self, layers: SafetyLayers) -> SafetyFolders:
        assert isinstance(layers, SafetyFolders)
        return SafetyFolders(layers._folder)

    def hinder(self, layers: SafetyLayers) -> None:
        assert isinstance(layers, SafetyFolders)
        shutil.rmtree(layers._folder)


class TestFakeSafetyLayers(SafetyLayersContract):
    @pytest.fixture
    def layers(self, tmp_path: Path) -> FakeSafetyLayers:
        return FakeSafetyLayers(tmp_path)

    def hinder(self, layers: SafetyLayers) -> None:
        assert isinstance(layers, FakeSafetyLayers)
        layers.failure = Failed("The disk is full.")
