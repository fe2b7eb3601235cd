"""Saved work: files and commits that a recreate keeps before it drops the old workspace, and
commits that the stop of a worker keeps.

It lies on the shelf of kept worktrees and not in the shared repository: that one is mounted in
every sandbox that works on it, and what is added to it is never deleted.
"""

from collections.abc import Callable

from atoll.domain.errors import Conflict, NotFound
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import Clock, RuntimeClient
from atoll.ports.kept import TREE, KeptDraft, KeptShelf, KeptWorktree, bundle_name
from atoll.services.identifiers import Identifiers
from atoll.services.library.settings import KeptSettings
from atoll.services.library.unpulled import files_beside
from atoll.services.library.workspaces import EVERYTHING, Workspaces
from atoll.wire.contract.files import pack_files, total_files
from atoll.wire.words.walls import WORKSPACE

EVERY_FILE = (("path", ""),)


class SavedWork:
    """The `ports.workspaces.WorkSaver` that keeps work as kept worktrees."""

    def __init__(
        self,
        workspaces: Workspaces,
        shelf: KeptShelf,
        *,
        clock: Clock,
        identifiers: Identifiers,
        settings: KeptSettings,
    ) -> None:
        self._workspaces = workspaces
        self._shelf = shelf
        self._clock = clock
        self._identifiers = identifiers
        self._retention = settings.retention

    async def save_work(
        self, sandbox: Sandbox, client: RuntimeClient, report: Callable[[str], None]
    ) -> None:
        """Keep a bundle of each repository's work and, where git does not contain all of it, the
        whole tree. See the port."""
        kept_id = self._identifiers.new("kept")
        async with self._shelf.draft(kept_id) as draft:
            bundles, covered = await self._bundles(sandbox, client, draft)
            tree = await _has_files(client, covered)
            if tree:
                await draft.admit((await client.call(total_files(EVERY_FILE))).bytes)
                async with client.stream(pack_files(EVERY_FILE)) as answer:
                    await draft.write(TREE, answer.body)
            if not (bundles or tree):
                return
            await draft.commit(self._record(kept_id, sandbox, bundles=bundles, tree=tree))
        if bundles:
            report(f"Saved work: `atoll pull {sandbox.name} --saved` brings it.")
        if tree:
            report(f"Kept the files git does not have: `atoll kept {kept_id}` fetches the tree.")

    async def save_commits(self, sandbox: Sandbox, client: RuntimeClient) -> None:
        """See the port."""
        kept_id = self._identifiers.new("kept")
        async with self._shelf.draft(kept_id) as draft:
            bundles, _ = await self._bundles(sandbox, client, draft)
            if bundles:
                await draft.commit(self._record(kept_id, sandbox, bundles=bundles, tree=False))

    async def saved(self, sandbox: Sandbox) -> str | None:
        """See the port."""
        wanted = (sandbox.id, _generation(sandbox))
        for worktree in await self._shelf.list():
            if (
                (worktree.sandbox_id, worktree.generation) == wanted
                and worktree.bundles
                and worktree.pushed is None
            ):
                return f"kept:{worktree.id}"
        return None

    async def _bundles(
        self, sandbox: Sandbox, client: RuntimeClient, draft: KeptDraft
    ) -> tuple[tuple[int, ...], tuple[str, ...]]:
        """Write the work of each repository. Returns the numbers of those with work, and the paths
        of those whose files git contains completely."""
        written, covered = [], []
        for number, repo in enumerate(sandbox.repos):
            taking = self._workspaces.taken_out(sandbox, client, number, ref=EVERYTHING)
            try:
                async with taking as (intake, _):
                    await draft.write(bundle_name(number), intake.read())
                written.append(number)
            except NotFound:
                continue  # no repository any more: its files are files like others
            except Conflict as error:
                if error.code == "not_whole":
                    continue
                if error.code != "nothing_new":
                    raise
            covered.append(repo.path)
        return tuple(written), tuple(covered)

    def _record(
        self, kept_id: str, sandbox: Sandbox, *, bundles: tuple[int, ...], tree: bool
    ) -> KeptWorktree:
        now = self._clock.now()
        return KeptWorktree(
            kept_id,
            sandbox.org_id,
            sandbox.owner,
            sandbox.id,
            sandbox.name,
            now,
            now + self._retention,
            bundles,
            generation=_generation(sandbox),
            tree=tree,
        )


def _generation(sandbox: Sandbox) -> int:
    """Return the number of the workspace: a recreate counts up before the old one goes."""
    return sandbox.generation - 1 if sandbox.renewing else sandbox.generation


async def _has_files(client: RuntimeClient, covered: tuple[str, ...]) -> bool:
    """Return whether a file lies in the workspace outside the repositories at `covered`."""
    if WORKSPACE in covered:
        return False
    return bool(await files_beside(client, covered))
