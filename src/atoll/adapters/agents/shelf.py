"""`ports.agents.AgentShelf`: the layers of a home, for the person who owns it."""

import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from atoll.adapters.agents.acp_probe import AcpProbe
from atoll.adapters.agents.add import add_agent
from atoll.adapters.agents.added import find_added, read_added, remove_added
from atoll.adapters.agents.fetch import ProgressReporter
from atoll.adapters.agents.install import install, lock_layers
from atoll.adapters.agents.installed import SYSTEM_PATH, layer, versions
from atoll.adapters.agents.pins import with_pin
from atoll.adapters.agents.removed import set_aside
from atoll.domain.agents.acp.added import NewAgent, is_added
from atoll.domain.agents.agent import Agent, layer_name, split_reference
from atoll.domain.agents.registry import AGENTS, find
from atoll.domain.errors import NotFound
from atoll.ports.agents import InstalledAgent, Layer


class LayerShelf:
    """The layers below `folder`, which is made when something is installed. Those of `further`
    directories are listed, too."""

    def __init__(
        self, folder: Path, *, further: tuple[Path, ...] = (), bwrap: Path | None = None
    ) -> None:
        """`bwrap` is the program of the wall behind which an agent that is added is tried."""
        self._folder = folder
        self._further = further
        self._probe = AcpProbe(bwrap)

    def list(self) -> Sequence[InstalledAgent]:
        """See the port."""
        return [
            InstalledAgent(
                with_pin(self._folder, agent),
                self._versions(agent),
                shutil.which(agent.command, path=SYSTEM_PATH) is not None,
            )
            for agent in (*AGENTS, *read_added(self._folder, *self._further))
        ]

    def _versions(self, agent: Agent) -> tuple[str, ...]:
        folders = (self._folder, *self._further)
        return tuple(dict.fromkeys(one for each in folders for one in versions(each, agent)))

    def install(
        self,
        name: str,
        version: str | None,
        report: Callable[[str], None],
        *,
        headway: Callable[[int, int], None] | None = None,
    ) -> Layer:
        """See the port; `name` may be `name@version`."""
        plain, named = split_reference(name)
        agent = self._find(plain)
        return install(self._folder, agent, version or named, report=report, headway=headway)

    def add(
        self,
        request: NewAgent,
        report: Callable[[str], None],
        *,
        headway: Callable[[int, int], None] | None = None,
    ) -> Layer:
        """See the port."""
        progress = ProgressReporter(report, headway)
        return add_agent(self._folder, request, self._probe, progress=progress)

    def _find(self, name: str) -> Agent:
        if is_added(name):
            return find_added(name, self._folder, *self._further)
        return find(name)

    def remove(self, name: str, version: str | None) -> Sequence[Layer]:
        """See the port; `name` may be `name@version`."""
        plain, named = split_reference(name)
        agent, number = self._find(plain), version or named
        installed = versions(self._folder, agent)
        doomed = [version_there for version_there in installed if number in (None, version_there)]
        if is_added(agent.name) and number is None:
            return self._remove_added(agent, doomed)
        if not doomed:
            have = ", ".join(installed) or "none"
            raise NotFound(
                f"{agent.name}{' ' + number if number else ''} is not installed; installed: {have}"
            )
        with lock_layers(self._folder, agent):
            return [self._remove(agent, version_there) for version_there in doomed]

    def _remove_added(self, agent: Agent, versions: Sequence[str]) -> Sequence[Layer]:
        """Remove an added agent: its layers, then what is known of it."""
        with lock_layers(self._folder, agent):
            layers = [self._remove(agent, one) for one in versions]
            if not remove_added(self._folder, agent.name):
                raise NotFound(f"{agent.name} was not added in {self._folder}")
        with suppress(OSError):  # a version that another process makes
            (self._folder / layer_name(agent)).rmdir()
        return layers or [Layer(agent.name, "", "")]

    def _remove(self, agent: Agent, version: str) -> Layer:
        place = layer(self._folder, agent, version)
        if place is None:
            raise NotFound(f"{agent.name} {version} is not installed any more")
        is_mounted = not set_aside(place)
        return Layer(agent.name, version, str(place), kept=is_mounted)
