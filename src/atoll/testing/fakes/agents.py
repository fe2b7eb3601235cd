"""Agents without a registry or a layer on a disk, and configuration without a directory."""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field

import msgspec

from atoll.domain.agents.acp.added import (
    AcpDefinition,
    NewAgent,
    added_agent,
    is_added,
    read_definition,
)
from atoll.domain.agents.agent import Agent, Seed, layer_path, split_reference
from atoll.domain.agents.registry import AGENTS, allowed_agents, find
from atoll.domain.errors import AtollError, Conflict, Forbidden, Invalid, NotFound
from atoll.ports.agents import InstalledAgent, Layer, OfferedAgent
from atoll.ports.extension import Mount


@dataclass(slots=True)
class FakeAgentLayers:
    """A `ports.agents.AgentLayers` of `installed`: an agent's versions, the default first. One
    without versions is a program of the sandbox's own root. `catalogue` names those that may be
    used; None allows all."""

    installed: dict[str, tuple[str, ...]] = field(
        default_factory=lambda: {
            "shell": (),
            "codex": ("1.0",),
            "claude-code": ("2.0",),
            "opencode": ("3.0",),
        }
    )
    catalogue: Container[str] | None = None
    definitions: tuple[AcpDefinition, ...] = ()
    """Agents that an administrator added."""

    async def list_offered(self) -> tuple[OfferedAgent, ...]:
        """See the port."""
        return tuple(
            self._offer(agent, None)
            for agent in (*AGENTS, *self.list_added())
            if agent.name in self.installed and self._may_use(agent)
        )

    async def mounts_for(self, agent: str) -> tuple[Mount, ...]:
        """See the port."""
        known, version = self.known(agent), split_reference(agent)[1]
        if not self._may_use(known):
            raise Forbidden(f"{known.name} is not in the agent_catalogue", field="agent")
        versions = self.installed.get(known.name)
        if versions is None or (version is not None and version not in versions):
            raise Invalid(f"{agent} is not installed: atoll agent install {agent}", field="agent")
        return self._offer(known, version).mounts

    def list_added(self) -> tuple[Agent, ...]:
        """See the port."""
        return tuple(filter(self._may_use, map(added_agent, self.definitions)))

    def known(self, agent: str) -> Agent:
        """See the port."""
        name = split_reference(agent)[0]
        try:
            return next((a for a in self.list_added() if a.name == name), None) or find(name)
        except NotFound as error:
            raise Invalid(error.message, field="agent") from error

    def _may_use(self, agent: Agent) -> bool:
        named = self.catalogue is None or agent.name in self.catalogue
        known = {known_agent.name for known_agent in allowed_agents(self.catalogue)}
        return named if is_added(agent.name) else agent.name in known

    def _offer(self, agent: Agent, version: str | None) -> OfferedAgent:
        version = version or next(iter(self.installed[agent.name]), None)
        if version is None:
            return OfferedAgent(agent)
        mount = Mount(f"/fake/{agent.name}/{version}", layer_path(agent))
        return OfferedAgent(agent, version, (mount,))


@dataclass(slots=True)
class FakeAgentConfigs:
    """A `ports.agents.AgentConfigs` of `seeds`, by the name of a sandbox. Raises `failure` while it
    is set."""

    seeds: dict[str, tuple[Seed, ...]] = field(default_factory=dict)
    failure: AtollError | None = None

    async def config_for(self, name: str) -> tuple[Seed, ...]:
        """See the port."""
        if self.failure is not None:
            raise self.failure
        return self.seeds.get(name, ())


@dataclass(slots=True)
class FakeAgentShelf:
    """A `ports.agents.AgentShelf` that installs nothing. `installed` holds the versions of each
    agent, the latest last; `on_host` names the agents of the host's own programs; `asked` lists
    what was requested, in order."""

    agents: Sequence[Agent] = AGENTS
    installed: dict[str, list[str]] = field(default_factory=dict)
    on_host: frozenset[str] = frozenset()
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    added: list[AcpDefinition] = field(default_factory=list)

    def list(self) -> Sequence[InstalledAgent]:
        """See the port."""
        return [
            InstalledAgent(agent, self._versions(agent), agent.name in self.on_host)
            for agent in (*self.agents, *map(added_agent, self.added))
        ]

    def add(
        self,
        wanted: NewAgent,
        report: Callable[[str], None],
        *,
        headway: Callable[[int, int], None] | None = None,
    ) -> Layer:
        """See the port. Its registries have every package, in the version 1.0."""
        definition = read_definition(wanted)
        if any(other.name == definition.name for other in self.added):
            raise Conflict(f"{wanted.name} was added already")
        if not definition.package:
            self.added.append(definition)
            return Layer(wanted.name, "", "", new=True)
        report(f"{wanted.name}: fetching {definition.package}")
        version = definition.version or "1.0"
        self.added.append(msgspec.structs.replace(definition, version=version))
        self.installed[wanted.name] = [version]
        return Layer(wanted.name, version, f"/fake/{wanted.name}", new=True, bytes=1)

    def install(
        self,
        name: str,
        version: str | None,
        report: Callable[[str], None],
        *,
        headway: Callable[[int, int], None] | None = None,
    ) -> Layer:
        """See the port."""
        self.asked.append((name, version))
        agent, wanted = self._find(name, version)
        wanted = wanted or (agent.package.version if agent.package else "1.0")
        there = self.installed.setdefault(agent.name, [])
        if wanted in there:
            return _layer(agent, wanted)
        report(f"{agent.name}: fetching {wanted}")
        if headway is not None:
            headway(1, 1)
        there.append(wanted)
        return Layer(agent.name, wanted, f"/fake/{agent.name}/{wanted}", new=True, bytes=1)

    def remove(self, name: str, version: str | None) -> Sequence[Layer]:
        """See the port."""
        self.asked.append((name, version))
        agent, wanted = self._find(name, version)
        gone = [number for number in self._versions(agent) if wanted in (None, number)]
        known = [
            definition for definition in self.added if added_agent(definition).name == agent.name
        ]
        if known and wanted is None:
            self.added.remove(known[0])
            self.installed.pop(agent.name, None)
            return [_layer(agent, number) for number in gone] or [Layer(agent.name, "", "")]
        if not gone:
            raise NotFound(f"{agent.name} {wanted or ''} is not installed")
        for number in gone:
            self.installed[agent.name].remove(number)
        return [_layer(agent, number) for number in gone]

    def _find(self, name: str, version: str | None) -> tuple[Agent, str | None]:
        """Return the agent and the version of `name`, which may be `name@version`. Raises
        `NotFound`, `Invalid`."""
        bare, number = split_reference(name if version is None else f"{name}@{version}")
        if not is_added(bare):
            return find(bare), number
        for agent in map(added_agent, self.added):
            if agent.name == bare:
                return agent, number
        raise NotFound(f"no agent is called {bare[:80]!r}; added so far: none")

    def _versions(self, agent: Agent) -> tuple[str, ...]:
        pinned = agent.package.version if agent.package else None
        there = reversed(self.installed.get(agent.name, []))
        return tuple(sorted(there, key=lambda version: version != pinned))


def _layer(agent: Agent, version: str) -> Layer:
    return Layer(agent.name, version, f"/fake/{agent.name}/{version}")
