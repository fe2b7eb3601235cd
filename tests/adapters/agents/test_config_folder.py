"""A person's configuration for one sandbox, read from a folder of the home."""

import os
from pathlib import Path

import pytest

from atoll.adapters.agents.config_folder import ConfigFolder
from atoll.domain.agents.agent import Seed
from atoll.domain.errors import Invalid, LimitReached
from atoll.testing import AgentConfigsContract, FakeAgentConfigs


@pytest.fixture
def box(tmp_path: Path) -> Path:
    (tmp_path / "box" / ".claude").mkdir(parents=True)
    return tmp_path / "box"


async def test_files_come_with_their_paths_in_order(box: Path) -> None:
    (box / ".claude" / "settings.json").write_text("{}")
    (box / ".aider.conf.yml").write_text("dark-mode: true\n")
    found = await ConfigFolder(box.parent).config_for("box")
    assert found == (
        Seed(".aider.conf.yml", "dark-mode: true\n"),
        Seed(".claude/settings.json", "{}"),
    )


@pytest.mark.parametrize("name", ["other", "..", ".", "box/.claude", "link"])
async def test_names_without_a_folder_of_their_own_have_nothing(box: Path, name: str) -> None:
    (box / ".claude" / "settings.json").write_text("{}")
    (box.parent / "link").symlink_to("box")
    assert await ConfigFolder(box.parent).config_for(name) == ()


async def test_links_and_what_is_no_text_are_refused_by_name(box: Path) -> None:
    place = box / "x"
    for make in (
        lambda: place.symlink_to("/etc/passwd"),
        lambda: os.mkfifo(place),
        lambda: place.write_bytes(b"\xff"),
        lambda: place.write_bytes(b"a\0b"),
        lambda: place.write_bytes(b"a" * 70_000),
    ):
        make()
        with pytest.raises(Invalid, match="box/x"):
            await ConfigFolder(box.parent).config_for("box")
        place.unlink()


async def test_too_much_is_refused(box: Path) -> None:
    for number in range(65):
        (box / str(number)).write_text("")
    with pytest.raises(LimitReached, match="64 files"):
        await ConfigFolder(box.parent).config_for("box")


class TestConfigFolder(AgentConfigsContract):
    @pytest.fixture
    def configs(self, box: Path) -> ConfigFolder:
        (box / ".claude" / "settings.json").write_text("{}")
        return ConfigFolder(box.parent)

    @pytest.fixture
    def configured(self) -> str:
        return "box"


class TestFakeAgentConfigs(AgentConfigsContract):
    @pytest.fixture
    def configs(self) -> FakeAgentConfigs:
        return FakeAgentConfigs({"box": (Seed(".a/b", "text"), Seed(".c", ""))})

    @pytest.fixture
    def configured(self) -> str:
        return "box"
