"""The workspace of a sandbox that may write to it, laid out inside."""

from dataclasses import replace

from atoll.ports import WorkspacePreparer
from atoll.services.provisioning.bring_up import BringUp
from atoll.wire.words.sandboxes import Access


class WorkspaceTrees:
    """The trees of the repositories, as laid out."""

    def __init__(self, workspaces: WorkspacePreparer) -> None:
        self._workspaces = workspaces

    async def run(self, up: BringUp) -> None:
        """Lay the trees out. Does nothing where `read_only_trees` did. Raises what the port
        raises."""
        if up.sandbox.profile.workspace.access is not Access.READ_WRITE:
            return
        with up.phase("workspace"):
            repos = await self._workspaces.prepare(up.sandbox, up.client, up.report)
        up.sandbox = replace(up.sandbox, repos=repos)
