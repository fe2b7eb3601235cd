"""Installed agents as read-only mounts: `ports.agents.AgentLayers` over a folder of layers."""

import shutil
from collections.abc import Container, Sequence
from pathlib import Path

from atoll.adapters.agents.added import find_added, read_added
from atoll.adapters.agents.installed import SYSTEM_PATH, layer
from atoll.domain.agents.acp.added import is_added
from atoll.domain.agents.agent import Agent, layer_path, split_reference
from atoll.domain.agents.registry import allowed_agents, find
from atoll.domain.errors import Forbidden, Invalid, NotFound
from atoll.ports.agents import OfferedAgent
from atoll.ports.extension import Mount


class InstalledLayers:
    """The layers below `folder` (`agents/<name>/<version>/`). `catalogue` names the agents
    that may be used; None allows all. `further` directories are looked in after it."""

    def __init__(
        self,
        folder: Path,
        catalogue: Container[str] | None = None,
        *,
        further: tuple[Path, ...] = (),
    ) -> None:
        self._folders = (folder, *further)
        self._catalogue = catalogue
        self._allowed = allowed_agents(catalogue)

    async def list_offered(self) -> tuple[OfferedAgent, ...]:
        """Return the agents of the catalogue that are here."""
        agents = (self._default(agent) for agent in (*self._allowed, *self.list_added()))
        return tuple(one for one in agents if one is not None)

    def _default(self, agent: Agent) -> OfferedAgent | None:
        here = self._layer(agent, None)
        if here is not None:
            return OfferedAgent(agent, here.name, (_mount(agent, here),))
        return OfferedAgent(agent) if _of_image(agent) or _on_host(agent) else None

    def _layer(self, agent: Agent, version: str | None) -> Path | None:
        layers = (layer(folder, agent, version) for folder in self._folders)
        return next((one for one in layers if one is not None), None)

    async def mounts_for(self, agent: str) -> tuple[Mount, ...]:
        """Return the agent's layer, or nothing when the host's own programs include the agent.
        Raises `Invalid`: no such agent, or how to install it; `Forbidden`: not in the catalogue."""
        entry, version = self.known(agent), split_reference(agent)[1]
        if entry not in self._allowed and not self._may_use(entry):
            names = ", ".join(one.name for one in self._allowed) or "none"
            raise Forbidden(
                f"the agent {entry.name} is not in this Atoll's agent_catalogue, which allows "
                f"{names}: choose one of these, or have it added in config.toml",
                field="agent",
            )
        here = self._layer(entry, version)
        if here is not None:
            return (_mount(entry, here),)
        if version is None and (_of_image(entry) or _on_host(entry)):
            return ()
        raise Invalid(_not_installed(entry, version), field="agent")

    def known(self, agent: str) -> Agent:
        """Return the catalogue's entry of an agent, by name, alias, or either with `@version`."""
        name = split_reference(agent)[0]
        try:
            return find_added(name, *self._folders) if is_added(name) else find(name)
        except NotFound as error:
            raise Invalid(error.message, field="agent") from error

    def list_added(self) -> Sequence[Agent]:
        """See the port."""
        return [one for one in read_added(*self._folders) if self._may_use(one)]

    def _may_use(self, agent: Agent) -> bool:
        """Report whether an added agent is in the catalogue."""
        return is_added(agent.name) and (self._catalogue is None or agent.name in self._catalogue)


def _mount(agent: Agent, place: Path) -> Mount:
    return Mount(str(place.resolve()), layer_path(agent))


def _of_image(agent: Agent) -> bool:
    """Report whether an added agent's program is that of the image."""
    return is_added(agent.name) and agent.package is None


def _on_host(agent: Agent) -> bool:
    """Report whether the host's own programs, which a sandbox of image `host` has, include it."""
    return shutil.which(agent.command, path=SYSTEM_PATH) is not None


def _not_installed(agent: Agent, version: str | None) -> str:
    if agent.package is None:
        return f"the agent {agent.name} is not on this host: {agent.hint}"
    named = agent.name if version is None else f"{agent.name}@{version}"
    return (
        f"the agent {named} is not installed on this host; install it once with: "
        f"atoll agent install {named}"
    )
