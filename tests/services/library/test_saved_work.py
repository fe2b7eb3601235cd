"""What is saved before a recreate, over a real git in a real box."""

import io
import subprocess
import tarfile
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest

from atoll.adapters.kept import KeptFolder
from atoll.domain.errors import Conflict
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports.kept import TREE, KeptWorktree, bundle_name
from atoll.services.identifiers import Identifiers
from atoll.services.library.checkout_scripts import BUNDLE_UNCOMMITTED
from atoll.services.library.saved_work import SavedWork
from atoll.services.library.settings import KeptSettings
from atoll.testing import WorkSaverContract
from tests.peers.boxed_runtime import BoxedRuntime
from tests.peers.git_tree import Tree
from tests.services.library.test_unpulled import Reading, work_of
from tests.services.library.test_workspaces import World, world

__all__ = ["world"]


@dataclass
class Saving:
    world: World
    shelf: KeptFolder
    work: SavedWork
    said: list[str]

    async def saved(self, sandbox: Sandbox, box: BoxedRuntime) -> KeptWorktree | None:
        await self.work.save_work(sandbox, box, self.said.append)
        return next(iter(await self.shelf.list()), None)

    async def read(self, kept: KeptWorktree, name: str) -> bytes:
        return b"".join([piece async for piece in self.shelf.read(kept.id, name)])

    async def taken(self, kept: KeptWorktree) -> Tree:
        """The person's checkout, with what was saved as branches below `got/`."""
        bundle = self.world.tmp / "got.bundle"
        bundle.write_bytes(await self.read(kept, bundle_name(0)))
        self.world.tree.git("fetch", "-q", str(bundle), "refs/heads/*:refs/heads/got/*")
        return self.world.tree

    async def files(self, kept: KeptWorktree) -> set[str]:
        with tarfile.open(fileobj=io.BytesIO(await self.read(kept, TREE))) as archive:
            return {name.removeprefix("./") for name in archive.getnames()}


@pytest.fixture
async def saving(world: World, tmp_path: Path) -> AsyncIterator[Saving]:
    folder = tmp_path / "kept"
    folder.mkdir()
    shelf = KeptFolder(folder)
    work = SavedWork(
        world.workspaces,
        shelf,
        clock=world.clock,
        identifiers=Identifiers(),
        settings=KeptSettings(30),
    )
    yield Saving(world, shelf, work, [])


def got(tree: Tree) -> set[str]:
    listed = tree.git("for-each-ref", "--format=%(refname:lstrip=3)", "refs/heads/got")
    return set(listed.splitlines())


async def test_commits_and_every_kind_of_uncommitted_work_are_saved(saving: Saving) -> None:
    sandbox, box = await saving.world.laid_out(saving.world.repo())
    box.run(
        "echo 1 > 1 && git add -A && git commit -qm 1; git checkout -qb two;"
        "echo 2 > 2 && git add -A && git commit -qm 2;"
        "echo stashed > 2 && git stash -q;"
        "echo staged > s && git add s && echo later > s;"
        "echo more >> src/a.txt; rm 1; echo untracked > 'a file'; echo x > ignored;"
        "echo ignored > .gitignore"
    )
    before = box.run("git status --porcelain; git for-each-ref; find .git -type f | sort")
    kept = await saving.saved(sandbox, box)
    assert kept is not None and (kept.bundles, kept.tree, kept.generation) == ((0,), False, 1)
    assert box.run("git status --porcelain; git for-each-ref; find .git -type f | sort") == before
    tree = await saving.taken(kept)
    names = {"branch/fix", "branch/two", "worktree", "index", "stash-0"}
    assert got(tree) == names
    assert tree.git("rev-parse", "got/branch/two") == box.run("git rev-parse two")
    assert tree.git("show", "got/index:s") == "staged"
    assert tree.git("show", "got/worktree:s") == "later"
    assert tree.git("show", "got/worktree:a file") == "untracked"
    assert tree.git("show", "got/worktree:src/a.txt").endswith("one\nmore")
    assert tree.git("show", "got/stash-0:2") == "stashed"
    files = tree.git("ls-tree", "-r", "--name-only", "got/worktree").splitlines()
    assert "1" not in files and "ignored" not in files
    assert saving.said == ["Saved work: `atoll pull r-fix --saved` brings it."]


async def test_commits_alone_are_saved_and_named_by_their_workspace(saving: Saving) -> None:
    sandbox, box = await saving.world.laid_out(saving.world.repo())
    await saving.work.save_commits(sandbox, box)
    assert await saving.work.saved(sandbox) is None
    box.run("echo 1 > 1 && git add -A && git commit -qm 1; echo 2 > 2")
    (box.workspace / "outside").write_bytes(b"x" * 1_000_000)
    await saving.work.save_commits(sandbox, box)
    (kept,) = await saving.shelf.list()
    assert (kept.bundles, kept.tree) == ((0,), False)
    assert await saving.work.saved(sandbox) == f"kept:{kept.id}"
    assert await saving.work.saved(replace(sandbox, generation=sandbox.generation + 1)) is None
    assert got(await saving.taken(kept)) == {"branch/fix", "worktree"}


async def test_detached_head_and_hidden_changes_are_saved(saving: Saving) -> None:
    sandbox, box = await saving.world.laid_out(saving.world.repo())
    box.run(
        "git checkout -q --detach; git commit -q --allow-empty -m loose;"
        "git update-index --assume-unchanged src/a.txt; echo hidden > src/a.txt;"
        "printf '#!/bin/sh\nprintf \"0\\\\0\"\n' > .git/lies; chmod +x .git/lies;"
        "git config core.fsmonitor .git/lies; git config commit.gpgSign true;"
        "printf '#!/bin/sh\ntouch /workspace/.git/ran\n' > .git/gpg; chmod +x .git/gpg;"
        "git config gpg.program /workspace/.git/gpg; git config log.showSignature true;"
        "sign='/^committer/a gpgsig -----BEGIN PGP SIGNATURE-----\\n -----END PGP SIGNATURE-----';"
        'one=$(git cat-file commit HEAD | sed "$sign" | git hash-object -wt commit --stdin);'
        "git update-ref --create-reflog -m x refs/stash $one"
    )
    kept = await saving.saved(sandbox, box)
    assert kept is not None and not (box.workspace / ".git/ran").exists()
    tree = await saving.taken(kept)
    assert got(tree) == {"detached", "worktree", "stash-0"}
    assert tree.git("show", "got/worktree:src/a.txt") == "hidden"
    assert tree.git("log", "-1", "--format=%s", "got/detached") == "loose"


HIDDEN = {
    "marks": "git update-index --skip-worktree src/a.txt; git update-index --assume-unchanged R*",
    "excludes": "git config core.excludesFile /workspace/.git/hidden; echo '*' > .git/hidden",
    "info": "mkdir -p .git/info; echo '*' > .git/info/exclude",
    "filter": "git config filter.x.clean /none; git config filter.x.required true;"
    "mkdir -p .git/info; echo '* filter=x' > .git/info/attributes",
    "encoding": "echo '*.txt working-tree-encoding=UTF-16' > .gitattributes",
}


@pytest.mark.parametrize("line", HIDDEN.values(), ids=HIDDEN.keys())
async def test_work_that_the_repository_hides_is_saved(saving: Saving, line: str) -> None:
    sandbox, box = await saving.world.laid_out(saving.world.repo())
    box.run(f"{line}; echo changed > src/a.txt; rm README.md; echo new > new")
    script, ref = BUNDLE_UNCOMMITTED, "refs/heads/fix"
    take = saving.world.workspaces.taken_out(sandbox, box, 0, ref=ref, script=script)
    async with take as (intake, _):
        (saving.world.tmp / "one.bundle").write_bytes(
            b"".join([one async for one in intake.read()])
        )
    kept = await saving.saved(sandbox, box)
    assert kept is not None and (kept.bundles, kept.tree) == ((0,), False)
    tree = await saving.taken(kept)
    tree.git("fetch", "-q", str(saving.world.tmp / "one.bundle"), f"{ref}:refs/heads/got/one")
    for branch in ("got/worktree", "got/one"):
        assert tree.git("show", f"{branch}:src/a.txt") == "changed"
        files = tree.git("ls-tree", "-r", "--name-only", branch).splitlines()
        assert "new" in files and "README.md" not in files


async def test_file_with_a_filter_is_saved_and_in_no_branch_that_is_pulled(saving: Saving) -> None:
    sandbox, box = await saving.world.laid_out(saving.world.repo())
    box.run("git config filter.crypt.clean rev; echo 'key filter=crypt' > .gitattributes")
    box.run("echo secret > key")
    script, ref = BUNDLE_UNCOMMITTED, "refs/heads/fix"
    take = saving.world.workspaces.taken_out(sandbox, box, 0, ref=ref, script=script)
    with pytest.raises(Conflict, match=r"key has a filter \(LFS, git-crypt\): commit it inside"):
        await take.__aenter__()
    kept = await saving.saved(sandbox, box)
    assert kept is not None
    assert (await saving.taken(kept)).git("show", "got/worktree:key") == "secret"


async def test_work_of_tags_and_linked_worktrees_is_named_and_saved(saving: Saving) -> None:
    sandbox, box = await saving.world.laid_out(saving.world.repo())
    box.run(
        "echo .wt/ > .gitignore; git add .; git commit -qm ignore; git tag named;"
        "for one in only noted; do git commit -q --allow-empty -m $one; git tag -am x $one;"
        "  git reset -q --hard HEAD~; done; git update-ref refs/keep/noted noted^{};"
        "git tag -d noted; git commit -q --allow-empty -m up; git tag up;"
        "git update-ref refs/remotes/origin/up up; git reset -q --hard HEAD~;"
        "git worktree add -q -b side .wt/a; git worktree add -q .wt/clean;"
        "git worktree add -q -b out .git/out; echo 1 > .git/out/1;"
        "git worktree add -q --detach .wt/b; git -C .wt/b commit -q --allow-empty -m loose;"
        "echo new > .wt/a/new; git worktree add -q -b in .wt/a/.wt/in;"
        "git worktree add -q --detach /tmp/c; git -C /tmp/c commit -q --allow-empty -m gone;"
        "cd .git/worktrees; for one in $(seq 70); do mkdir z$one; cp in/commondir z$one;"
        "echo ref: refs/heads/fix > z$one/HEAD; echo /gone/.git > z$one/gitdir; done"
    )
    reading = cast(Any, Reading(sandbox, box))
    (place,) = await work_of(reading).of(LOCAL_PERSON, sandbox.id)
    assert (place.commits, place.changed, place.untracked) == (5, (".wt/a", ".git/out"), ())
    kept = await saving.saved(sandbox, box)
    assert kept is not None and (kept.bundles, kept.tree) == ((0,), False)
    tree = await saving.taken(kept)
    branches = {f"branch/{one}" for one in ("fix", "side", "clean", "out", "in")}
    assert got(tree) == {
        *branches, "tag/only", "other-0", "worktree-1", "worktree-6", "detached-2", "detached-3",
    }  # fmt: skip
    assert tree.git("ls-tree", "--name-only", "got/worktree-1").endswith("new\nsrc")
    assert tree.git("show", "got/worktree-6:1") == "1"
    subjects = [tree.git("log", "-1", "--format=%s", f"got/{one}") for one in
                ("tag/only", "other-0", "detached-2", "detached-3")]  # fmt: skip
    assert subjects == ["only", "noted", "loose", "gone"]


@pytest.mark.parametrize(
    ("folder", "inside", "tree"),
    [
        (".", "git -c user.name=a -c user.email=b commit -q --allow-empty -m own", True),
        (".wt", "git -c user.name=a -c user.email=b commit -q --allow-empty -m own", True),
        (".", "git sparse-checkout set --no-cone /README.md", False),
    ],
    ids=["main", "linked", "sparse"],
)
async def test_commits_of_submodules_are_kept_with_the_tree(
    saving: Saving, folder: str, inside: str, tree: bool
) -> None:
    sandbox, box = await saving.world.laid_out(saving.world.repo())
    box.run(
        "echo .wt > .gitignore; git add .; git commit -qm ignore; git worktree add -q -b side .wt;"
        f"cd {folder}; git clone -q /.atoll/repos/0.git lib; cd lib; git remote remove origin;"
        f"{inside}; cd ..; git add lib; git commit -qm lib"
    )
    (place,) = await work_of(Reading(sandbox, box)).of(LOCAL_PERSON, sandbox.id)
    assert place.changed == (("lib" if folder == "." else folder,) if tree else ())
    kept = await saving.saved(sandbox, box)
    assert kept is not None and kept.tree is tree


async def test_conflict_of_a_merge_is_saved_as_the_files_show_it(saving: Saving) -> None:
    sandbox, box = await saving.world.laid_out(saving.world.repo())
    box.run(
        "echo mine > c; git add c; git commit -qm mine; git checkout -qb t HEAD~1;"
        "echo theirs > c; git add c; git commit -qm theirs; git merge fix >/dev/null || true"
    )
    kept = await saving.saved(sandbox, box)
    assert kept is not None
    tree = await saving.taken(kept)
    assert "<<<<<<<" in tree.git("show", "got/worktree:c")


async def test_hostile_names_of_files_and_branches_are_saved(saving: Saving) -> None:
    sandbox, box = await saving.world.laid_out(saving.world.repo())
    long = "l" * 180
    box.run(
        "git commit -q --allow-empty -m new;"
        "printf x > \"$(printf 'a\\nb')\"; printf x > '-- $(touch ran)'; printf x > -rf;"
        "for name in \"$(printf 'r\\342\\200\\256l')\" '$(touch${IFS}ran)' 'a;b' worktree "
        f'branch/worktree {long}; do git update-ref "refs/heads/$name" HEAD; done'
    )
    kept = await saving.saved(sandbox, box)
    assert kept is not None and not (box.workspace / "ran").exists()
    tree = await saving.taken(kept)
    assert got(tree) == {
        "worktree", "branch/fix", "branch/worktree", "branch/branch/worktree",
        "other-0", "other-1", "other-2", "other-3",
    }  # fmt: skip
    files = tree.git("ls-tree", "-r", "-z", "--name-only", "got/worktree").split("\0")
    assert {"a\nb", "-- $(touch ran)", "-rf"} <= set(files)


NOT_WHOLE = {
    "inner": "mkdir inner; cd inner; git init -q; echo > new",
    "shallow": "git init -q /tmp/o; cd /tmp/o; for one in 1 2; do git -c user.name=a"
    " -c user.email=b commit -q --allow-empty -m $one; done; git tag v2; cd /workspace;"
    "git fetch -q --depth=1 file:///tmp/o tag v2; mkdir inner; echo > inner/new",
    "many": "mkdir inner; echo > inner/new; git commit -q --allow-empty -m x;"
    "seq 300 | sed 's,.*,create refs/pull/& HEAD,' | git update-ref --stdin; git reset -q HEAD~",
}


@pytest.mark.parametrize("line", NOT_WHOLE.values(), ids=NOT_WHOLE.keys())
async def test_tree_is_kept_where_git_does_not_have_all_of_it(saving: Saving, line: str) -> None:
    sandbox, box = await saving.world.laid_out(saving.world.repo())
    box.run(line)
    kept = await saving.saved(sandbox, box)
    assert kept is not None and (kept.bundles, kept.tree) == ((), True)
    assert {"inner/new", ".git/HEAD"} <= await saving.files(kept)
    assert saving.said == [
        f"Kept the files git does not have: `atoll kept {kept.id}` fetches the tree."
    ]


@pytest.mark.parametrize("line", ["rm -rf .git; echo x > left", "rm -rf .git; ln -s /tmp .git"])
async def test_workspace_whose_git_was_removed_is_kept_as_a_tree(saving: Saving, line: str) -> None:
    sandbox, box = await saving.world.laid_out(saving.world.repo())
    box.run(line)
    kept = await saving.saved(sandbox, box)
    assert kept is not None and kept.tree and not kept.bundles
    assert "src/a.txt" in await saving.files(kept)


async def test_files_of_a_sandbox_without_a_repository_are_kept(saving: Saving) -> None:
    sandbox = saving.world.sandbox()
    box = await saving.world.box(sandbox)
    assert await saving.saved(sandbox, box) is None
    box.run("mkdir a; echo x > a/b")
    kept = await saving.saved(sandbox, box)
    assert kept is not None and "a/b" in await saving.files(kept)


async def test_files_beside_several_repositories_are_kept(saving: Saving) -> None:
    repo = saving.world.repo(path="/workspace/r")
    sandbox, box = await saving.world.laid_out(repo)
    box.run("echo x > r/new")
    kept = await saving.saved(sandbox, box)
    assert kept is not None and (kept.bundles, kept.tree) == ((0,), False)
    await saving.shelf.remove(kept.id)
    box.run("echo y > beside")
    kept = await saving.saved(sandbox, box)
    assert kept is not None and (kept.bundles, kept.tree) == ((0,), True)


async def test_untouched_workspace_leaves_nothing(saving: Saving) -> None:
    sandbox, box = await saving.world.laid_out(saving.world.repo())
    assert await saving.saved(sandbox, box) is None
    assert saving.said == []
    subprocess.run(["test", "-d", str(box.workspace / ".git")], check=True)


class TestSavedWork(WorkSaverContract):
    @pytest.fixture
    def saver(self, saving: Saving) -> SavedWork:
        return saving.work

    @pytest.fixture
    def laid_out(self, saving: Saving) -> Sandbox:
        return saving.world.sandbox()

    @pytest.fixture
    async def client(self, saving: Saving) -> BoxedRuntime:
        return (await saving.world.laid_out())[1]


class TestSavedWorkOfARepository(WorkSaverContract):
    @pytest.fixture
    def saver(self, saving: Saving) -> SavedWork:
        return saving.work

    @pytest.fixture
    def laid_out(self, saving: Saving) -> Sandbox:
        return saving.world.sandbox(saving.world.repo())

    @pytest.fixture
    async def client(self, saving: Saving, laid_out: Sandbox) -> BoxedRuntime:
        box = (await saving.world.laid_out(*laid_out.repos))[1]
        box.run("echo new > new")
        return box
