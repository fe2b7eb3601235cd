"""The contracts of Importer, RepositoryShelf and LocalShelf. They need git.

Subclass one in a test module and give it the fixtures its docstring names.
"""

import subprocess
from pathlib import Path

import pytest

from atoll.domain.errors import Forbidden, Invalid, NotFound
from atoll.domain.ids import OrgId
from atoll.domain.repository.repository import LocalSource, Remote
from atoll.ports.repositories import Importer, ImportJob, LocalShelf, RepositoryShelf

ABSENT = "0" * 40
_GIT = (
    "git", "-c", "user.name=A Person", "-c", "user.email=person@example.org",
    "-c", "init.defaultBranch=main",
)  # fmt: skip


def git(folder: Path, *args: str) -> str:
    """Run git in a folder and return what it prints."""
    done = subprocess.run([*_GIT, *args], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def silent(_line: str) -> None:
    """Drop a line of progress."""


class ImporterContract:
    """Fixtures `importer` and `scratch`, a folder where it may read and write; override
    `hand_over` where it does so as another uid."""

    def hand_over(self, scratch: Path) -> None:
        """Let the importer write what lies below `scratch`."""

    async def test_objects_of_a_whole_bundle_are_there(
        self, importer: Importer, scratch: Path
    ) -> None:
        commit, bundle = _bundle(scratch)
        bare = _bare(scratch)
        self.hand_over(scratch)
        await importer.run(ImportJob(bare, bundle, ("refs/heads/*:refs/heads/*",)))
        assert git(bare, "-c", "safe.directory=*", "rev-parse", "refs/heads/main") == commit

    async def test_broken_bundle_is_refused(self, importer: Importer, scratch: Path) -> None:
        bundle = _bundle(scratch)[1]
        bundle.write_bytes(bundle.read_bytes()[:-40])
        bare = _bare(scratch)
        self.hand_over(scratch)
        with pytest.raises(Invalid):
            await importer.run(ImportJob(bare, bundle, ("refs/heads/*:refs/heads/*",)))


def _bundle(scratch: Path) -> tuple[str, Path]:
    """Make a checkout of one commit and its bundle."""
    work = scratch / "work"
    work.mkdir()
    git(work, "init", "-q")
    (work / "README.md").write_text("hello\n")
    git(work, "add", ".")
    git(work, "commit", "-qm", "begin")
    git(work, "bundle", "create", "-q", str(scratch / "in.bundle"), "main")
    return git(work, "rev-parse", "HEAD"), scratch / "in.bundle"


def _bare(scratch: Path) -> Path:
    git(scratch, "init", "-q", "--bare", "repo")
    return scratch / "repo"


class RepositoryShelfContract:
    """Fixtures `shelf`, an empty one, and `remote`, a repository with a file `README.md`."""

    async def test_fetched_repository_is_found_with_its_branches(
        self, shelf: RepositoryShelf, remote: Remote
    ) -> None:
        assert await shelf.list() == ()
        stored = await shelf.fetch(remote, silent)
        assert await shelf.find(stored.key) == stored
        assert await shelf.list() == (stored,)
        first = (await shelf.refs(stored))[0]
        assert first.name.startswith("refs/heads/")
        assert await shelf.have(stored, (first.commit, ABSENT)) == (first.commit,)
        assert await shelf.has_file(stored, first.commit, "README.md")
        assert not await shelf.has_file(stored, first.commit, "absent")

    async def test_fetch_again_gives_the_same_repository(
        self, shelf: RepositoryShelf, remote: Remote
    ) -> None:
        stored = await shelf.fetch(remote, silent)
        assert (await shelf.fetch(remote, silent)).key == stored.key
        assert len(await shelf.list()) == 1

    @pytest.mark.parametrize("key", ["github.com/nobody/absent", "../x", ""])
    async def test_unknown_key_is_not_found(self, shelf: RepositoryShelf, key: str) -> None:
        with pytest.raises(NotFound):
            await shelf.find(key)

    async def test_intake_holds_what_was_written_and_goes_with_its_context(
        self, shelf: RepositoryShelf
    ) -> None:
        async with shelf.intake() as intake:
            intake.write(b"no ")
            intake.write(b"bundle")
            assert intake.size == 9
            assert b"".join([piece async for piece in intake.read()]) == b"no bundle"
            with pytest.raises(Invalid):
                await intake.verify(None)
        assert not intake.bundle.exists()


class LocalShelfContract:
    """Fixture `shelf`, and `source`, a checkout that nobody uploaded yet."""

    async def test_place_of_a_checkout_is_one_for_its_organization(
        self, shelf: LocalShelf, source: LocalSource
    ) -> None:
        stored = await shelf.place(source, OrgId("ours"))
        assert stored.org_id == "ours"
        assert (await shelf.place(source, OrgId("ours"))).key == stored.key
        with pytest.raises(Forbidden):
            await shelf.place(source, OrgId("theirs"))
        assert (await shelf.settle(stored, None)).key == stored.key
