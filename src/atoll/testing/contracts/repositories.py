"""The contracts of Importer, RepositoryShelf and LocalShelf. They need git.

Subclass one in a test module and give it the fixtures its docstring names.
"""

import asyncio
import subprocess
from pathlib import Path
from typing import Protocol

import pytest

from atoll.domain.errors import AtollError, Invalid, NotFound
from atoll.domain.ids import PERSONAL_ORG, OrgId
from atoll.domain.repository.repository import LocalSource, Remote
from atoll.ports.repositories import (
    Importer,
    ImportJob,
    LocalShelf,
    Ref,
    RepositoryShelf,
)

ABSENT = "0" * 40
ALL_BRANCHES = ("refs/heads/*:refs/heads/*",)
HOSTILE_KEYS = ("github.com/nobody/absent", "../x", "", "/etc", "a\0b", "x" * 5000)
_GIT = (
    "git", "-c", "user.name=A Person", "-c", "user.email=person@example.org",
    "-c", "init.defaultBranch=main",
)  # fmt: skip


def git(folder: Path, *args: str) -> str:
    """Run git in a folder and return what it prints."""
    done = subprocess.run([*_GIT, *args], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def discard_line(_line: str) -> None:
    """Discard a line of progress."""


class ImporterContract:
    """A contract of importers. Fixtures: `importer`, and `scratch`, a folder where it may read and
    write; override `hand_over` where it does so as another uid."""

    def hand_over(self, scratch: Path) -> None:
        """Let the importer write what lies below `scratch`."""

    async def test_objects_of_a_whole_bundle_are_there(
        self, importer: Importer, scratch: Path
    ) -> None:
        commit, bundle = _bundle(scratch)
        bare = _bare(scratch)
        self.hand_over(scratch)
        await importer.run(ImportJob(bare, bundle, ALL_BRANCHES))
        assert git(bare, "-c", "safe.directory=*", "rev-parse", "refs/heads/main") == commit

    async def test_imports_at_once_wait_their_turn(self, importer: Importer, scratch: Path) -> None:
        _, bundle = _bundle(scratch)
        jobs = []
        for number in range(8):
            copy = scratch / f"{number}.bundle"
            copy.write_bytes(bundle.read_bytes())
            jobs.append(ImportJob(_bare(scratch, f"{number}.git"), copy, ALL_BRANCHES))
        self.hand_over(scratch)
        await asyncio.gather(*map(importer.run, jobs))

    async def test_broken_bundle_is_refused(self, importer: Importer, scratch: Path) -> None:
        bundle = _bundle(scratch)[1]
        bundle.write_bytes(bundle.read_bytes()[:-40])
        bare = _bare(scratch)
        self.hand_over(scratch)
        with pytest.raises(Invalid):
            await importer.run(ImportJob(bare, bundle, ALL_BRANCHES))

    @pytest.mark.parametrize("content", [b"", b"no bundle", b"\0" * 4096])
    async def test_what_is_no_bundle_is_refused(
        self, importer: Importer, scratch: Path, content: bytes
    ) -> None:
        bundle, bare = scratch / "in.bundle", _bare(scratch)
        bundle.write_bytes(content)
        self.hand_over(scratch)
        with pytest.raises(Invalid) as refused:
            await importer.run(ImportJob(bare, bundle, ALL_BRANCHES))
        assert refused.value.message

    async def test_bundle_without_its_base_is_refused(
        self, importer: Importer, scratch: Path
    ) -> None:
        _bundle(scratch)
        bundle, bare = _thin_bundle(scratch), _bare(scratch)
        self.hand_over(scratch)
        with pytest.raises(Invalid):
            await importer.run(ImportJob(bare, bundle, ALL_BRANCHES))
        assert _refs(bare) == []

    async def test_pack_of_a_bundle_is_indexed_and_sets_no_ref(
        self, importer: Importer, scratch: Path
    ) -> None:
        bundle = _bundle(scratch)[1]
        bare = _bare(scratch)
        self.hand_over(scratch)
        at = bundle.read_bytes().index(b"\n\nPACK") + 2
        await importer.run(ImportJob(bare, bundle, pack_at=at))
        assert len([*(bare / "objects" / "pack").glob("*.idx")]) == 1
        assert _refs(bare) == []

    async def test_cancelled_import_harms_no_later_one(
        self, importer: Importer, scratch: Path
    ) -> None:
        commit, bundle = _bundle(scratch)
        left, bare = _bare(scratch, "left"), _bare(scratch)
        # A cancelled import may still read its own bundle.
        other = scratch / "other.bundle"
        other.write_bytes(bundle.read_bytes())
        self.hand_over(scratch)
        async with asyncio.TaskGroup() as group:
            running = group.create_task(importer.run(ImportJob(left, other, ALL_BRANCHES)))
            await asyncio.sleep(0)
            running.cancel()
        await importer.run(ImportJob(bare, bundle, ALL_BRANCHES))
        assert _refs(bare) == [f"{commit} refs/heads/main"]


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


def _thin_bundle(scratch: Path) -> Path:
    """Make a bundle of a second commit alone."""
    work = scratch / "work"
    (work / "more").write_text("more\n")
    git(work, "add", ".")
    git(work, "commit", "-qm", "go on")
    git(work, "bundle", "create", "-q", str(scratch / "thin.bundle"), "main~1..main")
    return scratch / "thin.bundle"


def _bare(scratch: Path, name: str = "repo") -> Path:
    git(scratch, "init", "-q", "--bare", name)
    return scratch / name


def _refs(bare: Path) -> list[str]:
    """Return `commit name` of each ref."""
    listed = git(bare, "-c", "safe.directory=*", "show-ref", "--heads") if _has_refs(bare) else ""
    return listed.splitlines()


def _has_refs(bare: Path) -> bool:
    return any(path.is_file() for path in (bare / "refs" / "heads").rglob("*"))


class RepositoryShelfContract:
    """A contract of repository shelves. Fixtures: `shelf`, an empty one, and `remote`, a repository
    with a file `README.md`."""

    async def test_fetched_repository_is_found_with_its_branches(
        self, shelf: RepositoryShelf, remote: Remote
    ) -> None:
        assert await shelf.list() == ()
        stored = await shelf.fetch(remote, discard_line)
        assert await shelf.find(stored.key, PERSONAL_ORG) == stored
        assert await shelf.list() == (stored,)
        first = (await shelf.refs(stored))[0]
        assert first.name.startswith("refs/heads/")
        assert await shelf.have(stored, (first.commit, ABSENT)) == (first.commit,)
        assert await shelf.has_file(stored, first.commit, "README.md")
        assert not await shelf.has_file(stored, first.commit, "absent")

    async def test_file_of_a_commit_is_read_within_bounds(
        self, shelf: RepositoryShelf, remote: Remote
    ) -> None:
        stored = await shelf.fetch(remote, discard_line)
        commit = (await shelf.refs(stored))[0].commit
        content = await shelf.read_file(stored, commit, "README.md", max_bytes=1000)
        assert content
        assert await shelf.read_file(stored, commit, "absent", max_bytes=1000) is None
        with pytest.raises(Invalid):
            await shelf.read_file(stored, commit, "README.md", max_bytes=len(content) - 1)

    async def test_files_of_a_commit_have_the_ids_of_their_content(
        self, shelf: RepositoryShelf, remote: Remote
    ) -> None:
        stored = await shelf.fetch(remote, discard_line)
        commit = (await shelf.refs(stored))[0].commit
        paths = ("absent", "README.md", "a b", "../README.md", "README.md/x", ".")
        ids = await shelf.file_ids(stored, commit, paths)
        assert list(ids) == ["README.md"] and len(ids["README.md"]) >= 40
        assert await shelf.file_ids(stored, commit, ()) == {}

    async def test_fetch_again_gives_the_same_repository(
        self, shelf: RepositoryShelf, remote: Remote
    ) -> None:
        stored = await shelf.fetch(remote, discard_line)
        assert (await shelf.fetch(remote, discard_line)).key == stored.key
        assert len(await shelf.list()) == 1

    async def test_fetches_at_once_are_one_repository(
        self, shelf: RepositoryShelf, remote: Remote
    ) -> None:
        several = await asyncio.gather(*(shelf.fetch(remote, discard_line) for _ in range(3)))
        assert {stored.key for stored in several} == {several[0].key}
        assert len(await shelf.list()) == 1

    async def test_cancelled_fetch_harms_no_later_one(
        self, shelf: RepositoryShelf, remote: Remote
    ) -> None:
        async with asyncio.TaskGroup() as group:
            running = group.create_task(shelf.fetch(remote, discard_line))
            await asyncio.sleep(0)
            running.cancel()
        stored = await shelf.fetch(remote, discard_line)
        assert await shelf.list() == (stored,)

    @pytest.mark.parametrize("key", HOSTILE_KEYS)
    async def test_unknown_key_is_not_found(self, shelf: RepositoryShelf, key: str) -> None:
        with pytest.raises(NotFound):
            await shelf.find(key, PERSONAL_ORG)

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


class WholeShelf(RepositoryShelf, LocalShelf, Protocol):
    """A shelf of both kinds of repositories, as the services are given one."""


class LocalShelfContract:
    """A contract of shelves for uploaded checkouts. Fixtures: `shelf`, and `source`, a checkout
    that was not uploaded yet."""

    async def test_place_of_a_checkout_is_one_for_its_organization(
        self, shelf: LocalShelf, source: LocalSource
    ) -> None:
        stored = await shelf.place(source, OrgId("ours"))
        assert stored.org_id == "ours"
        assert (await shelf.place(source, OrgId("ours"))).key == stored.key
        theirs = await shelf.place(source, OrgId("theirs"))
        assert (theirs.key, theirs.org_id) == (stored.key, "theirs")
        assert theirs.path != stored.path
        assert (await shelf.settle(stored, None)).key == stored.key

    async def test_upload_is_taken_once_it_was_verified_and_may_be_repeated(
        self, shelf: WholeShelf, source: LocalSource, tmp_path: Path
    ) -> None:
        commit, bundle = _bundle(_scratch(tmp_path))
        stored = await shelf.place(source, OrgId("ours"))
        async with shelf.intake() as intake:
            intake.write(bundle.read_bytes())
            refs = await intake.verify(stored)
            assert refs == (Ref("refs/heads/main", commit),)
            assert await shelf.have(stored, (commit,)) == ()
            await shelf.take(intake, stored, refs)
        await shelf.take(None, stored, refs)
        settled = await shelf.settle(stored, "main")
        assert settled.bytes > 0
        assert (await shelf.refs(settled))[0] == refs[0]
        assert await shelf.have(settled, (commit, ABSENT)) == (commit,)

    async def test_refs_are_set_all_or_none(
        self, shelf: WholeShelf, source: LocalSource, tmp_path: Path
    ) -> None:
        bundle = _bundle(_scratch(tmp_path))[1]
        stored = await shelf.place(source, OrgId("ours"))
        async with shelf.intake() as intake:
            intake.write(bundle.read_bytes())
            refs = await intake.verify(stored)
            wrong = Ref("refs/heads/wrong", "1" * 40)
            with pytest.raises(AtollError):
                await shelf.take(intake, stored, (*refs, wrong))
        assert await shelf.refs(stored) == ()

    @pytest.mark.parametrize("content", [b"", b"no bundle", b"# v2 git bundle\n\nPACK"])
    async def test_upload_that_is_no_bundle_changes_nothing(
        self, shelf: WholeShelf, source: LocalSource, content: bytes
    ) -> None:
        stored = await shelf.place(source, OrgId("ours"))
        async with shelf.intake() as intake:
            intake.write(content)
            with pytest.raises(Invalid):
                await intake.verify(stored)
        assert await shelf.refs(stored) == ()


def _scratch(folder: Path) -> Path:
    made = folder / "scratch"
    made.mkdir()
    return made
