"""The trees of a workspace that is read-only afterwards, laid out behind a wall that may write."""

from dataclasses import replace

from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import WorkspacePreparer
from atoll.services.provisioning.bring_up import BringUp
from atoll.services.provisioning.provisioning import Provisioning
from atoll.wire.words.sandboxes import Access


class ReadOnlyTrees:
    """The trees of a read-only workspace. Nothing of the agent's runs while they are written."""

    def __init__(self, provisioning: Provisioning, workspaces: WorkspacePreparer) -> None:
        self._provisioning = provisioning
        self._workspaces = workspaces

    async def run(self, up: BringUp) -> None:
        """Lay the trees out where they are still to be, and end that wall. Raises what raising a
        wall and laying trees out raise."""
        if not _to_be_filled(up.sandbox, fresh=up.fresh):
            return
        up.report("Laying out a workspace that is read-only afterwards.")
        request = up.request
        workspace = replace(request.profile.workspace, access=Access.READ_WRITE)
        writable = replace(request, profile=replace(request.profile, workspace=workspace))
        handle, reach = await self._provisioning.raise_wall(writable, up.sandbox)
        try:
            client = self._provisioning.client_at(reach)
            repos = await self._workspaces.prepare(up.sandbox, client, up.report)
        finally:
            await up.extension.teardown(handle, keep_state=True)
        up.request = replace(request, fresh=False)
        up.sandbox = replace(up.sandbox, repos=repos)


def _to_be_filled(sandbox: Sandbox, *, fresh: bool) -> bool:
    """Return whether the trees of a read-only workspace are still to be laid out."""
    read_only = sandbox.profile.workspace.access is Access.READ_ONLY
    return read_only and bool(sandbox.repos) and (fresh or sandbox.ready_at is None)
