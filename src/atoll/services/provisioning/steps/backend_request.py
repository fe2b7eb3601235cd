"""The request to a backend, composed of what the steps before found."""

from dataclasses import replace

from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import WorkspacePreparer
from atoll.services.provisioning.bring_up import BringUp
from atoll.services.provisioning.compose_file import read_fitting_file
from atoll.services.provisioning.requests import Layers, backend_request


class BackendRequest:
    """The request for a sandbox with its environment, all its agents and its compose file."""

    def __init__(self, layers: Layers, workspaces: WorkspacePreparer) -> None:
        self._layers = layers
        self._workspaces = workspaces

    async def run(self, up: BringUp) -> None:
        """Compose the request. Raises `Invalid` for a compose file that does not fit."""
        sandbox = up.sandbox
        up.report(f"Provisioning in {up.extension.name}.")
        file = await read_fitting_file(sandbox, up.extension, self._workspaces)
        env = self._layers.env_of(sandbox, up.inside)
        up.request = replace(
            backend_request(sandbox, up.mounts, env=env, fresh=up.fresh),
            added=tuple(self._layers.agents.list_added()),
            agents=self._agent_names(sandbox),
            compose_file=file,
        )

    def _agent_names(self, sandbox: Sandbox) -> frozenset[str] | None:
        """Return every name the agents of the sandbox's catalogue answer to; None without one."""
        catalogue = sandbox.profile.agent_catalogue
        if catalogue is None:
            return None
        known = map(self._layers.agents.known, catalogue)
        return frozenset(name for agent in known for name in (agent.name, *agent.aliases))
