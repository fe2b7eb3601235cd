"""The contracts of AgentLayers, AgentConfigs and AgentShelf.

Subclass one in a test module and give it the fixture its docstring names.
"""

from pathlib import PurePosixPath

import pytest

from atoll.domain.errors import Invalid, NotFound
from atoll.ports.agents import AgentConfigs, AgentLayers, AgentShelf

NOBODY = "nobody-calls-an-agent-so"


class AgentLayersContract:
    """Fixtures `layers` and `offered`, the name of an agent that this host offers."""

    async def test_offered_agent_is_known_and_mounted_where_it_is_read_only(
        self, layers: AgentLayers, offered: str
    ) -> None:
        assert layers.known(offered).name == offered
        mounts = await layers.mounts_for(offered)
        assert all(PurePosixPath(mount.target).is_absolute() for mount in mounts)
        assert await layers.mounts_for(offered) == mounts

    async def test_unknown_agent_is_refused_by_its_field(self, layers: AgentLayers) -> None:
        with pytest.raises(Invalid) as refused:
            layers.known(NOBODY)
        assert refused.value.field == "agent"

    async def test_wrong_version_is_refused(self, layers: AgentLayers, offered: str) -> None:
        for version in ("", "../1", "1 2", "-rf"):
            with pytest.raises(Invalid):
                layers.known(f"{offered}@{version}")


class AgentConfigsContract:
    """Fixtures `configs` and `configured`, the name of a sandbox that has some."""

    async def test_files_are_texts_below_the_home(
        self, configs: AgentConfigs, configured: str
    ) -> None:
        seeds = await configs.config_for(configured)
        assert seeds
        for seed in seeds:
            path = PurePosixPath(seed.path)
            assert not path.is_absolute() and ".." not in path.parts
        assert await configs.config_for(configured) == seeds

    @pytest.mark.parametrize("name", ["another", "..", "../x", ".hidden", "a/b"])
    async def test_sandbox_of_another_name_has_none(self, configs: AgentConfigs, name: str) -> None:
        assert await configs.config_for(name) == ()


class AgentShelfContract:
    """Fixture `shelf`, with nothing installed. No registry is asked."""

    def test_every_agent_is_listed_once_without_versions(self, shelf: AgentShelf) -> None:
        shelved = shelf.list()
        assert len({one.agent.name for one in shelved}) == len(shelved) > 0
        assert not any(one.versions for one in shelved)

    def test_unknown_agent_is_not_found(self, shelf: AgentShelf) -> None:
        with pytest.raises(NotFound):
            shelf.install(NOBODY, None, lambda _line: None)
        with pytest.raises(NotFound):
            shelf.remove(NOBODY, None)

    def test_wrong_version_is_refused(self, shelf: AgentShelf) -> None:
        name = next(one.agent.name for one in shelf.list() if one.agent.package)
        with pytest.raises(Invalid):
            shelf.install(f"{name}@../1", None, lambda _line: None)

    def test_version_that_is_not_installed_cannot_be_removed(self, shelf: AgentShelf) -> None:
        for shelved in shelf.list():
            with pytest.raises(NotFound):
                shelf.remove(shelved.agent.name, None)
