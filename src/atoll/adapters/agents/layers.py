"""Installed agents as read-only mounts: `ports.agents.AgentLayers` over a folder of layers."""

import shutil
from pathlib import Path

from atoll.adapters.agents.catalogue import find, layer
from atoll.domain.agent import Agent, layer_path
from atoll.domain.errors import Invalid, NotFound
from atoll.ports.extension import Mount

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
"""Programs a sandbox of image `host` shares with the host."""


class InstalledLayers:
    """The layers below `folder` (`agents/<name>/<version>/`)."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def mounts_for(self, agent: str) -> tuple[Mount, ...]:
        """The agent's layer, or nothing when the host's own programs have it. Raises
        `Invalid`: no such agent, or how to install it."""
        known = self.known(agent)
        here = layer(self._folder, known)
        if here is not None:
            return (Mount(str(here.resolve()), layer_path(known)),)
        if shutil.which(known.command, path=SYSTEM_PATH) is not None:
            return ()
        raise Invalid(
            f"the agent {known.name} is not installed on this host; install it once with: "
            f"python -m atoll.adapters.agents.install {self._folder} {known.name}",
            field="agent",
        )

    def known(self, agent: str) -> Agent:
        """What the catalogue says of it."""
        try:
            return find(agent)
        except NotFound as error:
            raise Invalid(error.message, field="agent") from error
