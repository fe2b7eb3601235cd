"""The contracts of WorkspacePreparer and WorkSaver, for sandboxes without a repository.

Subclass one in a test module and give it the fixtures `preparer` or `saver`, and `client`, whose
runtime answers; a sandbox that has no repository asks nothing of it.
"""

from dataclasses import replace

from atoll.domain.sandbox.sandbox import SandboxRepo
from atoll.ports.runtime import RuntimeClient
from atoll.ports.workspaces import WorkSaver, WorkspacePreparer
from atoll.testing.contracts.rows.sandboxes import sandbox

EMPTY = replace(sandbox("empty"), repos=())


def silent(_line: str) -> None:
    """Drop a line of progress."""


class WorkspacePreparerContract:
    """Contract of a preparer: it mounts, lacks and lays out nothing where there is no
    repository."""

    async def test_no_repository_needs_no_mount(self, preparer: WorkspacePreparer) -> None:
        none: tuple[SandboxRepo, ...] = ()
        assert await preparer.mounts_for(none) == ()
        assert await preparer.mounts_for(none, fetch=False) == ()

    async def test_no_repository_lacks_no_file(self, preparer: WorkspacePreparer) -> None:
        for fetched in (False, True):
            assert await preparer.lacks_file(EMPTY, "README.md", fetched=fetched) is None

    async def test_preparing_may_be_repeated_and_settled(
        self, preparer: WorkspacePreparer, client: RuntimeClient
    ) -> None:
        assert await preparer.prepare(EMPTY, client, silent) == ()
        assert await preparer.prepare(EMPTY, client, silent) == ()
        await preparer.settle(EMPTY, client)


class WorkSaverContract:
    """Contract of a saver: nothing to save is fine."""

    async def test_nothing_to_save_is_fine(self, saver: WorkSaver, client: RuntimeClient) -> None:
        await saver.save_work(EMPTY, client, silent)
        await saver.save_work(EMPTY, client, silent)
