"""Changes and diffs of real repositories in real boxes, also of hostile ones."""

import shutil
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast
from unittest.mock import patch

import pytest

from atoll.domain.errors import Invalid, LimitReached, NotFound
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.repository.changes import ChangedFile, Changes
from atoll.domain.repository.diff import MAX_FILE_LINES, FileDiff, read_diff
from atoll.domain.repository.raster import Raster
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.services.library import changes as changes_module
from atoll.services.library.changes import Comparison, DiffStyle, WorkingTrees
from atoll.services.library.tree_edits import TreeEdits
from atoll.wire.words.library import Against, ChangeKind
from tests.peers.boxed_runtime import BoxedRuntime
from tests.services.library.test_workspaces import World, world

__all__ = ["world"]

COPIED = ("repos", "sb_1")


class Reading:
    """What reviews use of `Sandboxes`."""

    def __init__(self, sandbox: Sandbox, box: BoxedRuntime) -> None:
        self._found = sandbox, box

    @asynccontextmanager
    async def reading(self, *_: object) -> AsyncIterator[tuple[Sandbox, BoxedRuntime]]:
        yield self._found

    async def runtime(self, *_: object, activity: bool) -> tuple[Sandbox, BoxedRuntime]:
        assert activity
        return self._found


class Review:
    """The changes of one laid out sandbox."""

    def __init__(self, sandbox: Sandbox, box: BoxedRuntime) -> None:
        self.reading = cast(Any, Reading(sandbox, box))
        self.trees = WorkingTrees(self.reading)
        self.box = box

    async def changes(self, against: str = "base", **more: Any) -> Changes:
        wanted = Comparison(against=Against(against), paths=tuple(more.pop("paths", ())))
        return await self.trees.changes(LOCAL_PERSON, "x", wanted, **more)

    async def files(self, against: str = "base") -> dict[str, ChangedFile]:
        return {file.path: file for file in (await self.changes(against)).files}

    async def diff(self, *paths: str, against: str = "base", **style: Any) -> dict[str, list[str]]:
        wanted = Comparison(against=Against(against), paths=paths)
        found = await self.trees.diff(LOCAL_PERSON, "x", wanted, DiffStyle(**style))
        return {
            file.path: [line for hunk in file.hunks for line in hunk.lines] for file in found.files
        }


@pytest.fixture
async def review(world: World, tmp_path_factory: pytest.TempPathFactory) -> Review:
    """A tree with a commit of the agent's, a change of a file, and a file git does not know. It is
    laid out once, and copied for each test."""
    kept = tmp_path_factory.getbasetemp() / "reviewed"
    if not kept.exists():
        _, box = await world.laid_out(world.repo())
        box.run("echo two > two.txt; git add two.txt; git commit -qm two")
        box.run("sed -i 1s/one/changed/ src/a.txt; printf 'new\\n' > 'a new'")
        for name in COPIED:
            shutil.copytree(world.tmp / name, kept / name, symlinks=True)
    for name in COPIED:
        shutil.rmtree(world.tmp / name, ignore_errors=True)
        shutil.copytree(kept / name, world.tmp / name, symlinks=True)
    sandbox = world.sandbox(world.repo())
    box = await world.box(sandbox, fetch=False)
    # The copies have other numbers than those that git noted.
    box.run("git update-index -q --refresh || true")
    return Review(sandbox, box)


async def test_changes_tell_what_is_committed_changed_and_untracked(review: Review) -> None:
    found = await review.changes()
    assert (found.branch, found.commits, found.total) == ("fix", 1, 3)
    assert (found.additions, found.deletions) == (3, 1)
    new, changed, two = found.files
    assert (new.path, new.kind, new.untracked) == ("a new", ChangeKind.ADDED, True)
    assert (changed.path, changed.kind, changed.uncommitted) == ("src/a.txt", "modified", True)
    assert (changed.additions, changed.deletions, changed.untracked) == (1, 1, False)
    assert (two.path, two.uncommitted) == ("two.txt", False)
    uncommitted = await review.changes("uncommitted")
    assert [file.path for file in uncommitted.files] == ["a new", "src/a.txt"]
    assert uncommitted.commits == 0
    assert review.box.run("git status --porcelain") == 'M src/a.txt\n?? "a new"'


async def test_digest_changes_with_each_edit_and_only_then(review: Review) -> None:
    before = await review.changes()
    again = await review.changes(since="another", wait_seconds=50)
    assert (again.digest, again.files) == (before.digest, before.files)
    review.box.run("sed -i 1s/changed/altered/ src/a.txt")
    after = await review.changes(since=before.digest, wait_seconds=50)
    assert after.digest != before.digest
    assert [a.path for a, b in zip(after.files, before.files, strict=True) if a != b] == [
        "src/a.txt"
    ]


async def test_diff_shows_lines_of_the_files_that_are_named(review: Review) -> None:
    assert await review.diff("src", "two.txt", context=1) == {
        "src/a.txt": ["-one", "+changed", " one"],
        "two.txt": ["+two"],
    }
    assert (await review.diff())["a new"] == ["+new"]
    assert list(await review.diff(against="uncommitted")) == ["a new", "src/a.txt"]


async def test_change_of_blanks_alone_is_left_out_when_asked(review: Review) -> None:
    review.box.run("git checkout -q src/a.txt; sed -i '1s/one/  one/' src/a.txt")
    assert (await review.diff("src"))["src/a.txt"][1] == "+  one"
    assert not (await review.diff("src", whitespace=False)).get("src/a.txt")


async def test_kinds_of_change_are_told(review: Review) -> None:
    review.box.run(
        "git mv two.txt three.txt; printf 'a\\0b' > binary; ln -s /etc/passwd link;"
        "chmod +x src/a.txt; mkdir sub; git init -q sub; echo x > sub/x; touch empty"
    )
    found = await review.files("uncommitted")
    assert (found["three.txt"].kind, found["three.txt"].old_path) == ("renamed", "two.txt")
    assert found["binary"].binary and not found["binary"].additions
    assert found["link"].new_mode == "120000"
    assert (found["src/a.txt"].old_mode, found["src/a.txt"].new_mode) == ("100644", "100755")
    assert found["sub/"].untracked and "sub/x" not in found
    assert found["empty"].kind == "added"
    assert (await review.diff("link"))["link"][0] == "+/etc/passwd"
    review.box.run("rm src/a.txt; ln -s x src/a.txt")
    assert (await review.files())["src/a.txt"].kind == "retyped"


async def test_tree_without_a_commit_or_a_repository_is_told(world: World) -> None:
    sandbox = world.sandbox()
    box = await world.box(sandbox)
    review = Review(sandbox, box)
    with pytest.raises(NotFound, match="no git repository"):
        await review.changes()
    box.run("git init -q; echo x > x")
    found = await review.changes()
    assert (found.head, found.commits, [file.path for file in found.files]) == (None, 0, ["x"])
    with pytest.raises(Invalid, match="no repository number 1"):
        await review.trees.changes(LOCAL_PERSON, "x", Comparison(repo=1))


HOSTILE = {
    "fsmonitor": "git config core.fsmonitor {payload}",
    "filter": "git config filter.x.clean {payload}; git config filter.x.process {payload};"
    "git config filter.x.required true; echo '* filter=x' > .gitattributes",
    "attributes": "git config filter.x.clean {payload}; mkdir -p .git/info;"
    "echo '* filter=x diff=x' > .git/info/attributes",
    "textconv": "git config diff.x.textconv {payload}; git config diff.external {payload};"
    "git config diff.x.command {payload}; echo '* diff=x' > .gitattributes",
    "hooks": "mkdir -p .git/hooks; for h in post-index-change pre-commit fsmonitor-watchman;"
    "do cp {payload} .git/hooks/$h; done",
    "include": "echo '[core] fsmonitor = {payload}' > evil; git config include.path ../evil",
    "alias": "git config alias.status '!{payload}'; git config alias.diff '!{payload}'",
    "submodule": "git init -q sub; git -C sub config core.fsmonitor {payload};"
    "git -C sub -c user.name=a -c user.email=a@b commit -q --allow-empty -m x; git add sub;"
    "echo x > sub/x; git -C sub config filter.x.clean {payload}; git -C sub add x;"
    "echo '* filter=x' > sub/.gitattributes; echo y > sub/x; : > .gitmodules",
}


@pytest.mark.parametrize("line", HOSTILE.values(), ids=HOSTILE.keys())
async def test_nothing_the_repository_configures_runs(review: Review, line: str) -> None:
    payload = "/workspace/.git/payload"
    review.box.run(f"printf '#!/bin/sh\\ntouch /workspace/.git/ran\\n' > {payload}")
    review.box.run(f"chmod +x {payload}; {line.format(payload=payload)}; rm -f .git/ran")
    found = await review.files()
    assert found["src/a.txt"].additions == 1
    assert "+changed" in (await review.diff())["src/a.txt"]
    assert review.box.run("ls .git").count("ran") == 0


async def test_hidden_files_are_shown(review: Review) -> None:
    review.box.run(
        "git update-index --assume-unchanged src/a.txt; git update-index --skip-worktree two.txt;"
        "echo more >> two.txt; mkdir -p .git/info; echo '*' > .git/info/exclude;"
        "git update-index --skip-worktree README.md; rm README.md"
    )
    found = await review.files("uncommitted")
    assert list(found) == ["README.md", "a new", "src/a.txt", "two.txt"]
    assert found["README.md"].kind == "deleted"
    review.box.run("git config core.sparseCheckout true")
    assert "README.md" not in await review.files("uncommitted")


async def test_files_hidden_between_two_looks_are_shown(review: Review) -> None:
    assert "src/a.txt" in await review.files("uncommitted")
    assert "src/a.txt" in await review.files("uncommitted")
    review.box.run("git update-index --assume-unchanged src/a.txt")
    assert "src/a.txt" in await review.files("uncommitted")
    review.box.run("git update-index --no-assume-unchanged src/a.txt; git checkout -q src/a.txt")
    assert list(await review.files("uncommitted")) == ["a new"]


async def test_untracked_cache_of_the_agent_is_not_believed(review: Review) -> None:
    review.box.run("git config core.untrackedCache true; git status; git status; mkdir n; : > n/n")
    assert list(await review.files("uncommitted")) == ["a new", "n/n", "src/a.txt"]


async def test_hostile_names_are_data(review: Review) -> None:
    names = ["-rf", "a\nb", "tab\there", "\x1b[2Jred", 'quo"te', "b/x b/x", ":(top)y", "é"]
    for name in names:
        (review.box.workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (review.box.workspace / name).write_text("line\n")
    (review.box.workspace / "forged").write_text("x\ndiff --git a/ok b/ok\n--- a/ok\n+++ b/ok\n")
    found = await review.files("uncommitted")
    assert {*names, "forged"} <= set(found)
    assert all(found[name].additions == 1 for name in names)
    diff = await review.diff(against="uncommitted")
    assert {name: diff[name] for name in names} == {name: ["+line"] for name in names}
    assert "ok" not in diff and diff["forged"][1] == "+diff --git a/ok b/ok"
    assert await review.diff(":(top)y") == {":(top)y": ["+line"]}


async def test_edits_in_submodules_are_listed(review: Review) -> None:
    author = "-c user.name=a -c user.email=b"
    review.box.run(
        f"for one in lib lib/in; do git init -q $one; cd $one; echo 1 > file; git add .;"
        f"git {author} commit -qm x; cd /workspace; done; git -C lib add in;"
        f"git -C lib {author} commit -qm in; git add lib; : > .gitmodules; git add .gitmodules;"
        "git commit -qm lib; git checkout -q src/a.txt; rm 'a new'"
    )
    assert await review.files("uncommitted") == {}
    digests, whole = set(), set()
    for edit in (
        "echo 2 > lib/file",
        "echo 3 > lib/file",
        "cd lib; git checkout -q file; cd in; git update-index --assume-unchanged file; rm file",
        "cd lib/in; git rm -q --cached file; echo > new",
    ):
        review.box.run(edit)
        found = await review.changes("uncommitted")
        (file,) = found.files
        assert (file.path, file.kind, file.uncommitted, found.total) == ("lib", "modified", True, 1)
        digests.add(file.digest)
        whole.add(found.digest)
        assert (await review.files())["lib"].kind == "added", "since the base"
    assert len(digests) == len(whole) == 4
    old, new = (await review.diff("lib", against="uncommitted"))["lib"]
    assert (old[1:], new[1:]) == (old[1:], f"{old[1:]}-dirty")
    review.box.run(f"git -C lib {author} commit -qm newer --allow-empty")
    assert [one.path for one in (await review.changes("uncommitted")).files] == ["lib"]
    edits = TreeEdits(review.reading, review.trees)
    with pytest.raises(Invalid, match="inside the repository"):
        wanted = Comparison(against=Against.UNCOMMITTED, paths=("lib",))
        digest = (await review.files("uncommitted"))["lib"].digest
        await edits.discard(LOCAL_PERSON, "x", wanted, digest=digest)


async def test_very_many_files_are_counted_and_bounded(review: Review) -> None:
    review.box.run("mkdir many; cd many; seq 1 20000 | xargs touch")
    found = await review.changes("uncommitted")
    assert (found.total, len(found.files)) == (20_002, 5000)


PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x05\0\0\0\x04\x08\x02\0\0\0"


async def test_millions_of_lines_hold_up_nobody_else(review: Review) -> None:
    review.box.run("yes '' | head -n 400000 > long.txt")
    read_by = []

    def reading(out: bytes) -> tuple[FileDiff, ...]:
        read_by.append(threading.current_thread())
        return read_diff(out)

    wanted = Comparison(paths=("long.txt",))
    with patch.object(changes_module, "read_diff", reading):
        found = await review.trees.diff(LOCAL_PERSON, "x", wanted, DiffStyle())
    assert found.truncated and found.files[0].truncated
    assert sum(len(hunk.lines) for hunk in found.files[0].hunks) == MAX_FILE_LINES
    assert read_by != [threading.main_thread()]


async def test_images_are_shown_as_they_were_and_are(review: Review) -> None:
    async def image(path: str, commit: str = "") -> tuple[Raster, bytes]:
        wanted = Comparison(paths=(path,))
        return await review.trees.image(LOCAL_PERSON, "x", wanted, commit)

    workspace = review.box.workspace
    (workspace / "src" / "a b.png").write_bytes(PNG + b"old")
    review.box.run("git add .; git commit -qm image")
    (workspace / "src" / "a b.png").write_bytes(PNG + b"newer")
    head = review.box.run("git rev-parse HEAD")
    file = (await review.files("uncommitted"))["src/a b.png"]
    assert (file.binary, file.old_size, file.new_size) == (True, 32, 34)
    assert await image("src/a b.png") == (Raster("image/png", 5, 4), PNG + b"newer")
    assert (await image("src/a b.png", head))[1] == PNG + b"old"
    (workspace / "x.svg").write_text("<svg onload='alert(1)'/>")
    (workspace / "link.png").symlink_to("src/a b.png")
    (workspace / "out").symlink_to("/")
    review.box.run("mkfifo pipe.png; head -c 5000000 /dev/zero > large.png")
    for path, kind in {
        "x.svg": Invalid, "README.md": Invalid, "link.png": NotFound, "pipe.png": NotFound,
        "out/etc/hostname": NotFound, "gone.png": NotFound, "large.png": LimitReached,
        "src": NotFound,
    }.items():  # fmt: skip
        with pytest.raises(kind):
            await image(path)
    with pytest.raises(NotFound):
        await image("gone.png", head)
    with pytest.raises(NotFound):
        await image("README.md", "0" * 40)


async def test_tree_whose_git_folder_was_replaced_is_not_followed(review: Review) -> None:
    review.box.run("mv .git elsewhere; ln -s elsewhere .git")
    with pytest.raises(NotFound):
        await review.changes()
