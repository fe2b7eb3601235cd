"""The contracts of WorkspacePreparer and WorkSaver.

Subclass one in a test module. Fixtures: `preparer` or `saver`; `laid_out`, a sandbox whose
repositories can be had (one without any, where there are none); `client`, a client of its runtime.
The preparer's suite also wants `absent`, a repository that cannot be had.
"""

import asyncio
from dataclasses import replace
from pathlib import PurePosixPath

import pytest

from atoll.domain.errors import AtollError
from atoll.domain.ids import PERSONAL_ORG
from atoll.domain.sandboxes.sandbox import Sandbox, SandboxRepo
from atoll.ports.runtime import RuntimeClient
from atoll.ports.workspaces import WorkSaver, WorkspacePreparer
from atoll.testing.samples import sandbox

EMPTY = replace(sandbox("empty"), repos=())
HOSTILE_PATHS = ("", ".", "../../etc/passwd", "/etc/passwd", "a\0b", "x" * 5000)


def discard_line(_line: str) -> None:
    """Discard a line of progress."""


def is_line(text: str) -> bool:
    """Return whether a report is one line that a terminal may show."""
    return bool(text) and text.isprintable()


class WorkspacePreparerContract:
    """Contract of a preparer: the same repositories give the same mounts, laying out may be
    repeated, and a repository that cannot be had is refused with a sentence."""

    async def test_no_repository_needs_no_mount(self, preparer: WorkspacePreparer) -> None:
        none: tuple[SandboxRepo, ...] = ()
        assert await preparer.mounts_for(PERSONAL_ORG, none) == ()
        assert await preparer.mounts_for(PERSONAL_ORG, none, fetch=False) == ()

    async def test_mounts_are_absolute_and_the_same_each_time(
        self, preparer: WorkspacePreparer, laid_out: Sandbox
    ) -> None:
        mounts = await preparer.mounts_for(laid_out.org_id, laid_out.repos)
        for mount in mounts:
            assert PurePosixPath(mount.source).is_absolute()
            assert PurePosixPath(mount.target).is_absolute()
        assert len({mount.target for mount in mounts}) == len(mounts)
        several = await asyncio.gather(
            *(preparer.mounts_for(laid_out.org_id, laid_out.repos) for _ in range(3))
        )
        assert all(answer == mounts for answer in several)
        assert await preparer.mounts_for(laid_out.org_id, laid_out.repos, fetch=False) == mounts

    @pytest.mark.parametrize("fetch", [True, False])
    async def test_repository_that_cannot_be_had_is_refused_with_a_sentence(
        self, preparer: WorkspacePreparer, absent: SandboxRepo, fetch: bool
    ) -> None:
        with pytest.raises(AtollError) as refused:
            await preparer.mounts_for(PERSONAL_ORG, (absent,), fetch=fetch)
        assert is_line(refused.value.message)

    @pytest.mark.parametrize("path", ["README.md", *HOSTILE_PATHS])
    async def test_no_repository_lacks_no_file(
        self, preparer: WorkspacePreparer, path: str
    ) -> None:
        for fetched in (False, True):
            assert await preparer.lacks_file(EMPTY, path, fetched=fetched) is None

    @pytest.mark.parametrize("path", ["no/such/file", "", ".", "-rf", "a b", "x" * 5000])
    async def test_file_that_is_lacked_is_a_line_and_no_error(
        self, preparer: WorkspacePreparer, laid_out: Sandbox, path: str
    ) -> None:
        await preparer.mounts_for(laid_out.org_id, laid_out.repos)
        for fetched in (False, True):
            lacked = await preparer.lacks_file(laid_out, path, fetched=fetched)
            assert lacked is None or is_line(lacked)

    async def test_file_that_is_not_there_is_read_as_none(
        self, preparer: WorkspacePreparer, laid_out: Sandbox
    ) -> None:
        await preparer.mounts_for(laid_out.org_id, laid_out.repos)
        for each in (EMPTY, laid_out):
            assert await preparer.read_file(each, "no/such/file", max_bytes=9) is None

    async def test_preparing_may_be_repeated_and_settled(
        self, preparer: WorkspacePreparer, laid_out: Sandbox, client: RuntimeClient
    ) -> None:
        lines: list[str] = []
        first = await preparer.prepare(laid_out, client, lines.append)
        assert [repo.path for repo in first] == [repo.path for repo in laid_out.repos]
        assert all(map(is_line, lines))
        again = await preparer.prepare(replace(laid_out, repos=first), client, discard_line)
        assert again == first
        for _ in range(2):
            await preparer.settle(laid_out, client)


class WorkSaverContract:
    """Contract of a saver: nothing to save is fine, and saving may be repeated."""

    async def test_nothing_to_save_is_fine(
        self, saver: WorkSaver, laid_out: Sandbox, client: RuntimeClient
    ) -> None:
        lines: list[str] = []
        for _ in range(2):
            await saver.save_work(laid_out, client, lines.append)
            await saver.save_commits(laid_out, client)
        assert all(map(is_line, lines))
        ref = await saver.saved(laid_out)
        assert ref is None or ref.startswith("kept:")

    async def test_cancelled_save_harms_no_later_one(
        self, saver: WorkSaver, laid_out: Sandbox, client: RuntimeClient
    ) -> None:
        async with asyncio.TaskGroup() as group:
            saving = group.create_task(saver.save_work(laid_out, client, discard_line))
            await asyncio.sleep(0)
            saving.cancel()
        await saver.save_work(laid_out, client, discard_line)
