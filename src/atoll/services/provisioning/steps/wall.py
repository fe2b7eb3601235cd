"""The wall of a sandbox: the mounts it shows, the request to its backend, and the wall itself."""

from dataclasses import replace

from atoll.domain.sandboxes.sandbox import Attachment, Sandbox
from atoll.ports import (
    Handle,
    Provision,
    Reachability,
    SafetyLayers,
    WorkspacePreparer,
)
from atoll.services.lifecycle.runtimes import SandboxRuntimes
from atoll.services.provisioning.bring_up import BringUp
from atoll.services.provisioning.compose_file import read_fitting_file
from atoll.services.provisioning.inside_agents import Layers
from atoll.services.provisioning.provisioning import (
    BackendFailed,
    Provisioning,
    backend_request,
)
from atoll.services.provisioning.steps.prebuild import Prebuilding


class Mounts:
    """The read-only mounts: repositories, shims of the safety layers, and agents."""

    def __init__(self, workspaces: WorkspacePreparer, safety: SafetyLayers | None) -> None:
        self._workspaces = workspaces
        self._safety = safety

    async def run(self, up: BringUp) -> None:
        """Fetch the repositories, and collect the mounts. Raises what the ports raise."""
        sandbox = up.sandbox
        if sandbox.repos:
            up.report("Fetching repositories.")
        with up.phase("repositories"):
            repos = await self._workspaces.mounts_for(sandbox.org_id, sandbox.repos)
        shims = await self._safety.mounts_for(sandbox.profile.safety) if self._safety else ()
        up.mounts = (*repos, *shims, *up.inside.mounts)


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
            seed=sandbox.seed if up.prebuild is None else up.prebuild.id,
        )

    def _agent_names(self, sandbox: Sandbox) -> frozenset[str] | None:
        """Return every name the agents of the sandbox's catalogue answer to; None without one."""
        catalogue = sandbox.profile.agent_catalogue
        if catalogue is None:
            return None
        known = map(self._layers.agents.known, catalogue)
        return frozenset(name for agent in known for name in (agent.name, *agent.aliases))


class Wall:
    """The wall, and the client of the runtime that stands at it."""

    def __init__(
        self,
        provisioning: Provisioning,
        runtimes: SandboxRuntimes,
        prebuilding: Prebuilding | None,
    ) -> None:
        self._provisioning = provisioning
        self._runtimes = runtimes
        self._prebuilding = prebuilding

    async def run(self, up: BringUp) -> None:
        """Raise the wall. Raises `BackendFailed`, and `Invalid` for a fault of the request."""
        with up.phase("wall"):
            request = replace(up.request, report=up.report)
            handle, reach = await self._raise(up, request)
        up.report(f"The runtime answers ({reach.isolation.mechanism}).")
        up.reach = reach
        up.client = self._runtimes.client_at(reach)
        token = self._runtimes.tokens.seal(up.sandbox.id, reach.token)
        up.attachment = Attachment(handle.data, reach.address, token, reach.isolation)

    async def _raise(self, up: BringUp, request: Provision) -> tuple[Handle, Reachability]:
        """Raise the wall; where that fails with a prebuild, without it, and drop the prebuild
        then. Raises what the last attempt raises."""
        use, prebuild = self._prebuilding, up.prebuild
        try:
            return await self._provisioning.raise_wall(request, up.sandbox)
        except BackendFailed as failure:
            if use is None or prebuild is None:
                raise
            up.report(f"It does not begin as a snapshot of its set-up: {failure.message}")
            up.prebuild = None
            await self._provisioning.tear_down(up.sandbox, keep_state=False)
            raised = await self._provisioning.raise_wall(replace(request, seed=None), up.sandbox)
            await use.source.reject(prebuild)
            return raised
