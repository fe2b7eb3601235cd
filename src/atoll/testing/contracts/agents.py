"""The contracts of AgentLayers, AgentConfigs and AgentShelf.

Subclass one in a test module and give it the fixture its docstring names.
"""

import asyncio
from pathlib import PurePosixPath

import pytest

from atoll.domain.agents.acp.added import NewAgent
from atoll.domain.errors import Conflict, Invalid, NotFound
from atoll.ports.agents import AgentConfigs, AgentLayers, AgentShelf

ABSENT = "aider"
NOBODY = "nobody-calls-an-agent-so"
HOSTILE = ("", ".", "..", "../codex", "a/b", "-rf", "a\0b", "a\nb", "x" * 5000)
WRONG_VERSIONS = ("", "../1", "1 2", "-rf", "1/2", "1\0", "1" * 5000)


class AgentLayersContract:
    """A contract of agent layers. Fixtures: `layers`, and `offered`, the name of an agent that this
    host offers in a layer; it offers neither aider nor a version 9.9.9 of anything."""

    async def test_offered_agent_is_known_and_mounted_where_it_is_read_only(
        self, layers: AgentLayers, offered: str
    ) -> None:
        assert layers.known(offered).name == offered
        mounts = await layers.mounts_for(offered)
        for mount in mounts:
            target = PurePosixPath(mount.target)
            assert target.is_absolute() and ".." not in target.parts
            assert PurePosixPath(mount.source).is_absolute()
        assert len({mount.target for mount in mounts}) == len(mounts)
        assert await layers.mounts_for(offered) == mounts

    async def test_offered_agents_are_those_that_can_be_mounted(
        self, layers: AgentLayers, offered: str
    ) -> None:
        offers = {offer.agent.name: offer for offer in await layers.list_offered()}
        assert offers[offered].version and ABSENT not in offers
        for name, offer in offers.items():
            assert offer.agent == layers.known(name)
            assert offer.mounts == await layers.mounts_for(name)

    async def test_agent_or_version_that_is_not_installed_is_refused_with_what_to_do(
        self, layers: AgentLayers, offered: str
    ) -> None:
        for reference in (ABSENT, f"{offered}@9.9.9"):
            with pytest.raises(Invalid, match=f"atoll agent install {reference}") as refused:
                await layers.mounts_for(reference)
            assert refused.value.field == "agent"

    async def test_calls_at_once_give_the_same_mounts(
        self, layers: AgentLayers, offered: str
    ) -> None:
        several = await asyncio.gather(*(layers.mounts_for(offered) for _ in range(8)))
        assert all(mounts == several[0] for mounts in several)

    async def test_every_alias_is_the_agent_itself(self, layers: AgentLayers, offered: str) -> None:
        agent = layers.known(offered)
        for alias in agent.aliases:
            assert layers.known(alias) == agent
            assert await layers.mounts_for(alias) == await layers.mounts_for(offered)

    @pytest.mark.parametrize("name", [NOBODY, *HOSTILE])
    async def test_unknown_agent_is_refused_by_its_field(
        self, layers: AgentLayers, name: str
    ) -> None:
        with pytest.raises(Invalid) as refused:
            layers.known(name)
        assert refused.value.field == "agent"
        assert len(refused.value.message) < 2000

    @pytest.mark.parametrize("version", WRONG_VERSIONS)
    async def test_wrong_version_is_refused(
        self, layers: AgentLayers, offered: str, version: str
    ) -> None:
        with pytest.raises(Invalid):
            layers.known(f"{offered}@{version}")


class AgentConfigsContract:
    """A contract of agent configurations. Fixtures: `configs`, and `configured`, the name of a
    sandbox that has some."""

    async def test_files_are_texts_below_the_home(
        self, configs: AgentConfigs, configured: str
    ) -> None:
        seeds = await configs.config_for(configured)
        assert seeds
        for seed in seeds:
            path = PurePosixPath(seed.path)
            assert not path.is_absolute() and ".." not in path.parts and "\0" not in seed.path
            seed.content.encode()
        assert len({seed.path for seed in seeds}) == len(seeds)

    async def test_files_are_the_same_each_time_and_in_one_order(
        self, configs: AgentConfigs, configured: str
    ) -> None:
        seeds = await configs.config_for(configured)
        several = await asyncio.gather(*(configs.config_for(configured) for _ in range(8)))
        assert all(configuration == seeds for configuration in several)

    @pytest.mark.parametrize("name", ["another", "../x", ".hidden", *HOSTILE[:-1]])
    async def test_sandbox_of_another_name_has_none(self, configs: AgentConfigs, name: str) -> None:
        assert await configs.config_for(name) == ()

    async def test_name_that_no_sandbox_has_is_refused_or_has_none(
        self, configs: AgentConfigs
    ) -> None:
        try:
            assert await configs.config_for(HOSTILE[-1]) == ()
        except Invalid as refused:
            assert HOSTILE[-1] not in refused.message


class AgentShelfContract:
    """A contract of agent shelves. Fixtures: `shelf`, with nothing installed, and `installable`,
    the name of an agent that can be installed here, at any version, without a registry."""

    def versions(self, shelf: AgentShelf, name: str) -> tuple[str, ...]:
        """Return the installed versions of an agent."""
        return next(program.versions for program in shelf.list() if program.agent.name == name)

    def test_every_agent_is_listed_once_without_versions(self, shelf: AgentShelf) -> None:
        shelved = shelf.list()
        assert len({program.agent.name for program in shelved}) == len(shelved) > 0
        assert not any(program.versions for program in shelved)

    def test_pinned_version_is_installed_once(self, shelf: AgentShelf, installable: str) -> None:
        lines: list[str] = []
        made = shelf.install(installable, None, lines.append)
        assert made.new and made.agent == installable and made.bytes > 0 and lines
        assert self.versions(shelf, installable) == (made.version,)
        again = shelf.install(installable, None, lambda _line: None)
        assert (again.new, again.path, again.version) == (False, made.path, made.version)

    def test_versions_lie_side_by_side_the_default_first(
        self, shelf: AgentShelf, installable: str
    ) -> None:
        pinned = shelf.install(installable, None, lambda _line: None)
        other = shelf.install(installable, "0.0.1", lambda _line: None)
        named = shelf.install(f"{installable}@0.0.2", None, lambda _line: None)
        assert len({pinned.path, other.path, named.path}) == 3
        there = self.versions(shelf, installable)
        assert there[0] == pinned.version
        assert set(there[1:]) == {"0.0.1", "0.0.2"}

    def test_removed_version_is_gone_and_leaves_the_others(
        self, shelf: AgentShelf, installable: str
    ) -> None:
        pinned = shelf.install(installable, None, lambda _line: None)
        shelf.install(installable, "0.0.1", lambda _line: None)
        assert [layer.version for layer in shelf.remove(installable, "0.0.1")] == ["0.0.1"]
        assert self.versions(shelf, installable) == (pinned.version,)
        with pytest.raises(NotFound):
            shelf.remove(installable, "0.0.1")
        shelf.install(installable, "0.0.1", lambda _line: None)
        gone = shelf.remove(installable, None)
        assert {layer.version for layer in gone} == {pinned.version, "0.0.1"}
        assert self.versions(shelf, installable) == ()
        assert shelf.install(installable, None, lambda _line: None).new

    def test_added_agent_is_listed_until_it_is_removed(self, shelf: AgentShelf) -> None:
        wanted = NewAgent("acp:own", command="own acp", state=(".own",), checked=False)
        made = shelf.add(wanted, lambda _line: None)
        assert (made.agent, made.new, made.path) == ("acp:own", True, "")
        with pytest.raises(Conflict):
            shelf.add(wanted, lambda _line: None)
        (program,) = [program for program in shelf.list() if program.agent.name == "acp:own"]
        assert program.agent.machine is not None and program.agent.machine.protocol == "acp"
        assert [layer.agent for layer in shelf.remove("acp:own", None)] == ["acp:own"]
        assert not [program for program in shelf.list() if program.agent.name == "acp:own"]
        with pytest.raises(NotFound):
            shelf.remove("acp:own", None)

    def test_agents_of_two_names_are_both_added(self, shelf: AgentShelf) -> None:
        names = {"acp:one", "acp:two"}
        for name in sorted(names):
            shelf.add(NewAgent(name, command="own acp", checked=False), lambda _line: None)
        assert names <= {program.agent.name for program in shelf.list()}

    @pytest.mark.parametrize(
        "wanted",
        [
            NewAgent("own", command="own"),
            NewAgent("acp:Own", command="own"),
            NewAgent("acp:own"),
            NewAgent("acp:own", "npm", "../own"),
            NewAgent("acp:own", command="own", env=("no variable",)),
            NewAgent("acp:own", command="own", state=("/etc",)),
            NewAgent("acp:own", command="own", providers=("nobody",)),
        ],
    )
    def test_bad_agent_is_not_added(self, shelf: AgentShelf, wanted: NewAgent) -> None:
        before = [program.agent.name for program in shelf.list()]
        with pytest.raises(Invalid):
            shelf.add(wanted, lambda _line: None)
        assert [program.agent.name for program in shelf.list()] == before

    @pytest.mark.parametrize("name", [NOBODY, *HOSTILE])
    def test_unknown_agent_is_not_found(self, shelf: AgentShelf, name: str) -> None:
        with pytest.raises((NotFound, Invalid)):
            shelf.install(name, None, lambda _line: None)
        with pytest.raises((NotFound, Invalid)):
            shelf.remove(name, None)
        assert not any(program.versions for program in shelf.list())

    @pytest.mark.parametrize("version", WRONG_VERSIONS)
    def test_wrong_version_is_refused(
        self, shelf: AgentShelf, installable: str, version: str
    ) -> None:
        with pytest.raises(Invalid):
            shelf.install(f"{installable}@{version}", None, lambda _line: None)
        with pytest.raises((Invalid, NotFound)):
            shelf.remove(installable, version or "../1")
        assert self.versions(shelf, installable) == ()

    def test_version_that_is_not_installed_cannot_be_removed(self, shelf: AgentShelf) -> None:
        for shelved in shelf.list():
            with pytest.raises(NotFound):
                shelf.remove(shelved.agent.name, None)
