"""Read-only mounts of a sandbox: its repositories, shims of its safety layers, its agents."""

from atoll.ports import SafetyLayers, WorkspacePreparer
from atoll.services.provisioning.bring_up import BringUp


class Mounts:
    """The mounts that a backend is to show."""

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
