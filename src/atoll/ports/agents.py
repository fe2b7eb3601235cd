"""Sources of an agent's program and its first configuration.

Layers are installed once per version and mounted read-only. `AgentLayers` is the control
plane's view and installs nothing; `AgentShelf` is that of who owns the home.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from atoll.domain.agents.acp.added import NewAgent
from atoll.domain.agents.agent import Agent, Seed
from atoll.ports.extension import Mount


@dataclass(frozen=True, slots=True)
class OfferedAgent:
    """An agent that a host offers: the read-only layers that show it inside, and its version,
    which is empty for a program of the sandbox's own root."""

    agent: Agent
    version: str = ""
    mounts: tuple[Mount, ...] = ()


class AgentLayers(Protocol):
    """Agents that a host offers."""

    async def list_offered(self) -> tuple[OfferedAgent, ...]:
        """Return every agent that may be used and is installed, each in its default version."""
        ...

    async def mounts_for(self, agent: str) -> tuple[Mount, ...]:
        """Return the read-only layers of `agent` (`name` or `name@version`). Raises `Invalid`
        with how to install it when this host does not have it, `Forbidden` when it may not be
        used."""
        ...

    def known(self, agent: str) -> Agent:
        """Return what is known of `agent`, by name or alias. Raises `Invalid`: no such agent."""
        ...

    def list_added(self) -> Sequence[Agent]:
        """Return the agents that an administrator added beside those Atoll knows, and that may be
        used."""
        ...


class AgentConfigs(Protocol):
    """Configuration that a person gives the agents of one sandbox, beside the seeds."""

    async def config_for(self, name: str) -> tuple[Seed, ...]:
        """Return the files for the home of the sandbox called `name`, mostly none. They are written
        at each start over what is there. Raises `Invalid`, `LimitReached`."""
        ...


@dataclass(frozen=True, slots=True)
class InstalledAgent:
    """An agent and its installed versions, the one used by default first. `on_host` when the
    host's own programs have it."""

    agent: Agent
    versions: tuple[str, ...]
    on_host: bool = False


@dataclass(frozen=True, slots=True)
class Layer:
    """An installed version. `new` when it was installed just now, in `seconds`; `bytes` is
    what was written then. `kept` when it was removed, and its files stay for sandboxes that have it
    mounted."""

    agent: str
    version: str
    path: str
    new: bool = False
    seconds: float = 0.0
    bytes: int = 0
    kept: bool = False


class AgentShelf(Protocol):
    """The layers of a home. Blocking: a server calls it in a thread of its own."""

    def list(self) -> Sequence[InstalledAgent]:
        """Return every agent Atoll knows."""
        ...

    def install(
        self,
        name: str,
        version: str | None,
        report: Callable[[str], None],
        *,
        headway: Callable[[int, int], None] | None = None,
    ) -> Layer:
        """Install `version` (None: the pinned one), whole or not at all; one that is there is
        left as it is. `report` receives what happens, a line at a time; `headway`
        instead of some of it, twice a second: bytes so far, bytes expected (0: nobody knows).
        Raises `NotFound`, `Invalid`, `Forbidden` (the home is somebody else's), `Conflict`
        (another install is going on), `Failed` with the registry's last words."""
        ...

    def add(
        self,
        wanted: NewAgent,
        report: Callable[[str], None],
        *,
        headway: Callable[[int, int], None] | None = None,
    ) -> Layer:
        """Add an agent that speaks ACP, whole or not at all; `path` of its layer is empty without a
        package. Raises `Invalid` for a bad name, package or command and for a program that does not
        speak ACP, `Forbidden`, `Conflict` for one that was added already, `Failed`."""
        ...

    def remove(self, name: str, version: str | None) -> Sequence[Layer]:
        """Remove one version, or all and with them what was added; returns what is gone. A sandbox
        that has one mounted keeps it until it stops. Raises `NotFound`, `Forbidden`, `Conflict`
        (an install is going on)."""
        ...
