"""The AgentLayers port: where an agent's program and its first configuration come from.

Layers are installed once per version and mounted read-only; this port never installs
anything at create.
"""

from typing import Protocol

from atoll.domain.agent import Agent
from atoll.ports.extension import Mount


class AgentLayers(Protocol):
    """Knows the agents a host offers."""

    async def mounts_for(self, agent: str) -> tuple[Mount, ...]:
        """The read-only layers of `agent`. Raises `Invalid` with how to install it when this
        host does not have it."""
        ...

    def known(self, agent: str) -> Agent:
        """What is known of `agent`, by name or alias. Raises `Invalid`: no such agent."""
        ...
