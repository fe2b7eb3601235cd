"""Trees of sandboxes that begin as a snapshot of one whose set-up has succeeded.

Implements `services.provisioning.steps.prebuild.PrebuiltTrees`. A tree goes on from where it was
kept to the branch that was asked for, so that only what differs is written.
"""

from collections.abc import Callable, Sequence

from atoll.domain.agents.registry import HOME_STATE
from atoll.domain.errors import Failed
from atoll.domain.ids import SnapshotId
from atoll.domain.repository.repository import is_local_key
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.snapshots.prebuild import Beginning
from atoll.ports.repositories import RepositoryShelf, StoredRepository
from atoll.ports.runtime import RuntimeClient
from atoll.services.library.workspaces import (
    TreeStart,
    Workspaces,
    find_base_ref,
    find_start,
    inside_path,
)
from atoll.services.scripts import run_inside
from atoll.services.snapshots.tree_scripts import ADVANCE, CLEAR, CLEARED, MARK, NOT_FIT
from atoll.wire.words.walls import WORKSPACE

_STATES = tuple(inside for _, inside in HOME_STATE)


class KeptTrees:
    """The `PrebuiltTrees` of sandboxes with one repository."""

    def __init__(self, workspaces: Workspaces, shelf: RepositoryShelf) -> None:
        self._workspaces = workspaces
        self._shelf = shelf

    async def beginning(self, sandbox: Sandbox, paths: Sequence[str]) -> Beginning:
        """See the protocol."""
        stored, start = await self._start(sandbox)
        branch = find_base_ref(sandbox.repos[0], start)
        # The first branch of an uploaded checkout is whichever was checked out.
        own = is_local_key(stored.key) or branch == start.head
        trusted = () if own else (start.head,)
        if not start.commit:
            return Beginning({}, branch, trusted)
        files = await self._shelf.file_ids(stored, start.commit, paths)
        return Beginning(files, branch, trusted)

    async def mark(self, sandbox: Sandbox, client: RuntimeClient) -> str | None:
        """See the protocol."""
        repo = sandbox.repos[0]
        outcome = await run_inside(
            client, MARK, (repo.path, inside_path(0), repo.branch, sandbox.id)
        )
        if outcome.code == 0:
            return None
        return outcome.said if outcome.code == NOT_FIT else f"looking failed: {outcome.said}"

    async def advance(
        self,
        sandbox: Sandbox,
        client: RuntimeClient,
        snapshot: SnapshotId,
        report: Callable[[str], None],
    ) -> None:
        """See the protocol."""
        repo = sandbox.repos[0]
        _, start = await self._start(sandbox)
        outcome = await run_inside(
            client,
            ADVANCE,
            (repo.path, inside_path(0), repo.branch, start.commit,
             "yes" if start.tracked else "no", start.head, find_base_ref(repo, start),
             snapshot, *_STATES),
        )  # fmt: skip
        if outcome.code:
            raise Failed(f"the tree could not be brought to {repo.branch}: {outcome.said}")
        report(f"{repo.path}: branch {repo.branch} at {start.commit[:12]}")

    async def clear(self, sandbox: Sandbox, client: RuntimeClient) -> bool:
        """See the protocol."""
        place = sandbox.repos[0].path
        outcome = await run_inside(client, CLEAR, (place, WORKSPACE, sandbox.id, *_STATES))
        if outcome.code not in (0, CLEARED):
            raise Failed(f"The workspace of a set-up cannot be emptied: {outcome.said}")
        return outcome.code == CLEARED

    async def _start(self, sandbox: Sandbox) -> tuple[StoredRepository, TreeStart]:
        """Return the shared repository, and where the tree begins. Raises `NotFound`,
        `Invalid`."""
        repo = sandbox.repos[0]
        stored = await self._workspaces.stored(sandbox, repo)
        return stored, find_start(repo, 0, await self._shelf.refs(stored))
