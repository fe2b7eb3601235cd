"""Workspaces that start empty, and agents that are on the host's own path."""

from collections.abc import Callable

from atoll.adapters.agents.catalogue import find
from atoll.domain.agent.agent import Agent, split_reference
from atoll.domain.errors import Invalid, NotFound
from atoll.domain.sandbox.sandbox import Sandbox, SandboxRepo
from atoll.ports import Mount, RuntimeClient


class EmptyWorkspaces:
    """`ports.workspaces.WorkspacePreparer` and `WorkSaver` where no repository can be had."""

    async def mounts_for(
        self, repos: tuple[SandboxRepo, ...], *, fetch: bool = True
    ) -> tuple[Mount, ...]:
        """Nothing to mount. Raises `Invalid` when a repository was asked for."""
        if repos:
            raise Invalid("This Atoll keeps no repositories: make a sandbox without.")
        return ()

    async def lacks_file(self, sandbox: Sandbox, path: str, *, fetched: bool) -> str | None:
        """There is no repository that could have files."""
        return None

    async def prepare(
        self, sandbox: Sandbox, client: RuntimeClient, report: Callable[[str], None]
    ) -> tuple[SandboxRepo, ...]:
        """Nothing to lay out."""
        return sandbox.repos

    async def settle(self, sandbox: Sandbox, client: RuntimeClient) -> None:
        """Nothing to settle."""

    async def save_work(
        self, sandbox: Sandbox, client: RuntimeClient, report: Callable[[str], None]
    ) -> None:
        """Nothing to save."""


class HostAgents:
    """`ports.agents.AgentLayers` for agents that are installed in the sandbox's own root."""

    async def mounts_for(self, agent: str) -> tuple[Mount, ...]:
        """No layer: the program is found on the path inside."""
        return ()

    def known(self, agent: str) -> Agent:
        """What the catalogue says of it. Raises `Invalid`."""
        try:
            return find(split_reference(agent)[0])
        except NotFound as error:
            raise Invalid(error.message, field="agent") from error
