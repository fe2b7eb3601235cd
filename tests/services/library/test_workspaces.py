import asyncio
import functools
import os
import shutil
import stat
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from atoll.adapters.repos.direct_importer import DirectImporter
from atoll.adapters.repos.shelf import Settings, Shelf
from atoll.domain.errors import Conflict, Invalid, NotFound, Unavailable
from atoll.domain.ids import PERSONAL_ORG, OrgId, PrincipalId, SandboxId
from atoll.domain.profile.profile import Profile
from atoll.domain.repository.repository import read_remote
from atoll.domain.sandboxes.sandbox import RepoRequest, Sandbox, SandboxRepo
from atoll.ports.repositories import StoredRepository
from atoll.services.library.checkout_scripts import BUNDLE_UNCOMMITTED
from atoll.services.library.workspaces import Workspaces
from atoll.testing import WorkspacePreparerContract
from atoll.wire.words.sandboxes import Scope
from tests.claims import free_port
from tests.peers.boxed_runtime import BoxedRuntime
from tests.peers.git_server import GitServer, git_server
from tests.peers.git_tree import Tree, bare_copy, new_tree

NOW = datetime(2026, 1, 2, tzinfo=UTC)


class Turning:
    """A clock that never waits."""

    def __init__(self) -> None:
        self.at = datetime.now(UTC)

    def now(self) -> datetime:
        return self.at

    async def sleep_until(self, deadline: datetime) -> None:
        self.at = deadline


@dataclass
class World:
    tmp: Path
    server: GitServer
    tree: Tree
    shelf: Shelf
    workspaces: Workspaces
    clock: Turning

    def repo(self, **more: Any) -> SandboxRepo:
        url = f"{self.server.url}/o/r"
        return replace(SandboxRepo(url, "fix", None, "/workspace"), **more)

    def sandbox(self, *repos: SandboxRepo, number: int = 1) -> Sandbox:
        return Sandbox(
            id=SandboxId(f"sb_{number}"), org_id=PERSONAL_ORG, owner=PrincipalId("person"),
            name="r-fix", profile=Profile("profile.shell", "1.0.0"), scope=Scope.SESSION,
            ttl_seconds=60, created_at=NOW, updated_at=NOW, expires_at=NOW, max_expires_at=NOW,
            repos=repos,
        )  # fmt: skip

    async def box(self, sandbox: Sandbox, *, fetch: bool = True) -> BoxedRuntime:
        workspace = self.tmp / sandbox.id / "workspace"
        workspace.mkdir(parents=True, exist_ok=True)
        mounts = await self.workspaces.mounts_for(sandbox.org_id, sandbox.repos, fetch=fetch)
        return BoxedRuntime(workspace, mounts)

    async def laid_out(self, *repos: SandboxRepo, number: int = 1) -> tuple[Sandbox, BoxedRuntime]:
        sandbox = self.sandbox(*repos, number=number)
        box = await self.box(sandbox)
        await self.workspaces.prepare(sandbox, box, lambda _: None)
        return sandbox, box

    async def stored(self) -> StoredRepository:
        return (await self.shelf.list())[0]


@functools.cache
def world_port() -> int:
    """Return the port of every world's server, so that what is made in one is right in another."""
    return free_port()


def begun_tree(tmp_path: Path, kept: Path) -> Tree:
    """Make the tree of a world and its remote, as a copy of those that were `kept` once."""
    if not kept.exists():
        tree = new_tree(kept / "work")
        tree.commit("src/a.txt", "one\n" * 1000)
        tree.git("tag", "v1")
        tree.git("checkout", "-qb", "other")
        tree.commit("b.txt", "other\n")
        tree.git("checkout", "-q", "main")
        bare_copy(tree, kept / "srv" / "o" / "r.git")
    shutil.copytree(kept, tmp_path, symlinks=True, dirs_exist_ok=True)
    for config in ("work/.git/config", "srv/o/r.git/config"):
        text = (kept / config).read_text()
        (tmp_path / config).write_text(text.replace(str(kept), str(tmp_path)))
    return Tree(tmp_path / "work")


@pytest.fixture
async def world(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    tree = begun_tree(tmp_path, tmp_path_factory.getbasetemp() / "begun-tree")
    async with git_server(tmp_path / "srv", world_port()) as server:
        settings = Settings(tmp_path / "repos", tmp_path / "imports", allow_loopback=True)
        shelf = Shelf(settings, DirectImporter())
        shelf.sweep()
        clock = Turning()
        yield World(tmp_path, server, tree, shelf, Workspaces(shelf, clock), clock)


def objects(workspace: Path) -> list[str]:
    return [
        name
        for top, _, names in os.walk(workspace / ".git" / "objects")
        for name in names
        if Path(top).name != "info"
    ]


async def test_tree_of_a_new_branch_starts_at_head_and_borrows_every_object(world: World) -> None:
    said: list[str] = []
    sandbox = world.sandbox(world.repo())
    box = await world.box(sandbox)
    await world.workspaces.prepare(sandbox, box, said.append)
    assert box.run("git rev-parse --abbrev-ref HEAD") == "fix"
    assert box.run("git rev-parse HEAD") == world.tree.git("rev-parse", "main")
    assert box.run("git status --porcelain") == ""
    assert (box.workspace / "src/a.txt").read_text() == "one\n" * 1000
    assert objects(box.workspace) == []
    assert box.run("git rev-parse origin/HEAD origin/other v1").split() == [
        world.tree.git("rev-parse", name) for name in ("main", "other", "v1")
    ]
    assert box.run("git remote get-url origin") == f"{world.server.url}/o/r"
    assert not any((box.workspace / ".git" / "hooks").glob("*"))
    assert said[-1].startswith("/workspace: branch fix is new, from main, at ")
    assert said[0].endswith("/o/r: fetched 0s ago")


async def test_tree_that_is_there_is_not_said_to_begin_elsewhere(world: World) -> None:
    sandbox, box = await world.laid_out(world.repo())
    box.run("git commit -q --allow-empty -m theirs")
    world.tree.commit("newer", "newer\n")
    world.tree.git("push", "-q", str(world.tmp / "srv" / "o" / "r.git"), "main")
    said: list[str] = []
    await world.workspaces.mounts_for(sandbox.org_id, sandbox.repos)
    await world.workspaces.prepare(sandbox, box, said.append)
    assert said[-1] == "/workspace: its files and branches stand as they were left"
    assert box.run("git log -1 --format=%s") == "theirs"
    box.run("rm -rf .git")
    await world.workspaces.prepare(sandbox, box, said.append)
    assert said[-1].startswith("/workspace: branch fix is new, from main, at ")


async def test_age_of_a_repository_is_said_without_a_time_of_any_zone(world: World) -> None:
    sandbox, box = await world.laid_out(world.repo())
    world.clock.at = (await world.stored()).fetched_at + timedelta(hours=1, minutes=2)
    said: list[str] = []
    await world.workspaces.prepare(sandbox, box, said.append)
    assert said[0].endswith("/o/r: fetched 1h2m ago")
    assert "UTC" not in said[0]


async def test_tree_of_a_branch_that_exists_continues_it(world: World) -> None:
    _, box = await world.laid_out(world.repo(branch="other"))
    assert (
        box.run("git rev-parse HEAD @{upstream}").split()
        == [world.tree.git("rev-parse", "other")] * 2
    )


@pytest.mark.parametrize(
    ("branch", "start", "path", "missing"),
    [
        ("fix", None, "src/a.txt", None),
        ("fix", None, "b.txt", "main"),
        ("fix", None, "src", "main"),
        ("other", None, "b.txt", None),
        ("other", None, "none.md", "other"),
        ("fix", "v1", "b.txt", "v1"),
        ("fix", "gone", "b.txt", None),
    ],
)
async def test_file_is_missed_where_its_tree_begins(
    world: World, branch: str, start: str | None, path: str, missing: str | None
) -> None:
    sandbox = world.sandbox(world.repo(branch=branch, from_branch=start))
    await world.workspaces.mounts_for(sandbox.org_id, sandbox.repos)
    where = await world.workspaces.lacks_file(sandbox, path, fetched=True)
    assert where == (missing and f"{world.server.url}/o/r at {missing}")


async def test_file_is_read_where_its_tree_begins(world: World) -> None:
    sandbox = world.sandbox(world.repo(branch="other"))
    await world.workspaces.mounts_for(sandbox.org_id, sandbox.repos)
    read = world.workspaces.read_file
    assert await read(sandbox, "b.txt", max_bytes=1000)
    assert await read(sandbox, "none.md", max_bytes=1000) is None
    assert await read(world.sandbox(), "b.txt", max_bytes=1000) is None
    with pytest.raises(Invalid):
        await read(sandbox, "b.txt", max_bytes=1)


async def test_file_is_not_missed_while_a_start_would_fetch_first(world: World) -> None:
    sandbox = world.sandbox(world.repo())
    assert await world.workspaces.lacks_file(sandbox, "none.md", fetched=False) is None
    await world.workspaces.mounts_for(sandbox.org_id, sandbox.repos)
    assert await world.workspaces.lacks_file(sandbox, "none.md", fetched=False) is not None
    world.clock.at += timedelta(minutes=1)
    assert await world.workspaces.lacks_file(sandbox, "none.md", fetched=False) is None


async def test_file_is_missed_in_the_repository_below_whose_folder_it_is(world: World) -> None:
    sandbox = world.sandbox(
        world.repo(path="/workspace/r", branch="other"), world.repo(path="/workspace/r/in")
    )
    await world.workspaces.mounts_for(sandbox.org_id, sandbox.repos)
    paths = ("r/b.txt", "r/in/b.txt", "elsewhere/b.txt")
    found = [await world.workspaces.lacks_file(sandbox, path, fetched=True) for path in paths]
    assert found == [None, f"{world.server.url}/o/r at main", None]


@pytest.mark.parametrize("start", ["other", "v1"])
async def test_tree_from_a_named_start_begins_there(world: World, start: str) -> None:
    _, box = await world.laid_out(world.repo(from_branch=start))
    assert box.run("git rev-parse HEAD") == world.tree.git("rev-parse", f"{start}^{{commit}}")


async def test_branch_that_is_there_and_not_gone_on_from_is_said(world: World) -> None:
    for branch, start, said in (("other", "main", True), ("main", "v1", False), ("n", "v1", False)):
        lines: list[str] = []
        repo = world.repo(branch=branch, from_branch=start, path=f"/workspace/{branch}")
        sandbox = world.sandbox(repo)
        await world.workspaces.prepare(sandbox, await world.box(sandbox), lines.append)
        at = world.tree.git("rev-parse", "other")[:12]
        line = f"/workspace/other: other is there already, at {at}: this one begins at main all"
        assert any(one.startswith(line) for one in lines) is said, lines


async def test_tree_from_an_unknown_start_is_invalid_and_says_what_there_is(world: World) -> None:
    with pytest.raises(Invalid, match="main, other") as caught:
        await world.laid_out(world.repo(from_branch="absent"))
    assert caught.value.field == "repos[0].from_branch"


async def test_tag_that_is_named_as_the_branch_is_refused_once_it_is_known(world: World) -> None:
    request = RepoRequest(f"{world.server.url}/o/r", "v1")
    await world.workspaces.check_starts(PERSONAL_ORG, (request,))  # not here yet
    with pytest.raises(Invalid, match=r"v1 is a tag of .*: give it as `from_branch`") as caught:
        await world.laid_out(world.repo(branch="v1"))
    assert caught.value.field == "repos[0].branch"
    with pytest.raises(Invalid, match="v1 is a tag"):
        await world.workspaces.check_starts(PERSONAL_ORG, (request,))
    for good in (replace(request, branch=None), replace(request, from_branch="v1")):
        await world.workspaces.check_starts(PERSONAL_ORG, (good,))
    _, box = await world.laid_out(world.repo(branch="v1", began_from="main"))
    assert box.run("git rev-parse --symbolic-full-name HEAD") == "refs/heads/v1", "began before it"
    sandbox = world.sandbox(world.repo(branch="v1"))
    there = replace(sandbox, ready_at=sandbox.created_at)
    await world.workspaces.prepare(there, box, lambda _: None)
    assert await world.workspaces.read_file(there, "README.md", max_bytes=100)
    assert await world.workspaces.lacks_file(there, "README.md", fetched=True) is None


async def test_trees_of_two_repositories_lie_side_by_side(world: World) -> None:
    second = new_tree(world.tmp / "second")
    bare_copy(second, world.tmp / "srv" / "o" / "s.git")
    _, box = await world.laid_out(
        world.repo(path="/workspace/r"),
        world.repo(repo_url=f"{world.server.url}/o/s", path="/workspace/s"),
    )
    assert box.run("cat r/src/a.txt s/README.md").endswith("hello")


async def test_tree_of_named_folders_has_only_these(world: World) -> None:
    tree = new_tree(world.tmp / "wide")
    for name in ("docs/deep/d.txt", "src/s.txt", "top.txt"):
        tree.commit(name, "d\n")
    bare_copy(tree, world.tmp / "srv" / "o" / "sparse.git")
    url = f"{world.server.url}/o/sparse"
    _, box = await world.laid_out(world.repo(repo_url=url, sparse=("docs/deep",)))
    assert {p.name for p in box.workspace.iterdir()} == {".git", "docs", "top.txt", "README.md"}
    assert (box.workspace / "docs/deep/d.txt").read_text() == "d\n"
    assert box.run("git status --porcelain") == ""
    assert box.run("git rev-parse HEAD") == tree.git("rev-parse", "main")


async def test_tree_of_an_empty_repository_waits_for_its_first_commit(world: World) -> None:
    (world.tmp / "srv/o/e.git").mkdir()
    Tree(world.tmp / "srv/o/e.git").git("init", "-q", "--bare")
    sandbox, box = await world.laid_out(world.repo(repo_url=f"{world.server.url}/o/e"))
    box.run("echo x > x && git add x && git commit -qm first")
    full = "refs/heads/fix"
    async with world.workspaces.taken_out(sandbox, box, 0, ref=full) as (_, refs):
        assert [ref.name for ref in refs] == [full]


async def test_tree_already_there_is_left_alone(world: World) -> None:
    sandbox, box = await world.laid_out(world.repo())
    box.run("echo mine > src/a.txt; rm README.md; git checkout -qb elsewhere")
    await world.workspaces.prepare(sandbox, box, lambda _: None)
    assert box.run("git status --porcelain") == "D README.md\n M src/a.txt"
    assert box.run("git rev-parse --abbrev-ref HEAD") == "elsewhere"


async def test_tree_begun_and_not_finished_is_made_good(world: World) -> None:
    sandbox, box = await world.laid_out(world.repo())
    box.run(": > .git/atoll-unfinished; : > .git/index.lock; rm -r src .git/packed-refs .git/HEAD")
    await world.workspaces.prepare(sandbox, box, lambda _: None)
    assert box.run("git status --porcelain") == ""
    assert (box.workspace / "src/a.txt").exists()


async def test_settled_tree_adds_everything_again_without_copying_an_object(world: World) -> None:
    sandbox, box = await world.laid_out(world.repo())
    await asyncio.sleep(1.2)  # git compares real file times; there is no event to wait for
    await world.workspaces.settle(sandbox, box)
    box.run("git add -A")
    assert objects(box.workspace) == []


async def test_settling_takes_no_lock_and_writes_no_index(world: World) -> None:
    sandbox, box = await world.laid_out(world.repo())
    await asyncio.sleep(1.2)  # git compares real file times
    before = box.run("touch .git/index.lock; stat -c %i .git/index; git hash-object .git/index")
    await world.workspaces.settle(sandbox, box)
    assert box.run("stat -c %i .git/index; git hash-object .git/index") == before
    assert box.run("rm .git/index.lock; ls .git | grep '^index'") == "index"
    box.run("git add -A")
    assert objects(box.workspace) == []


async def test_edit_in_the_second_of_the_index_is_still_seen_by_git(world: World) -> None:
    sandbox, box = await world.laid_out(world.repo())
    box.run(
        "while rm src/a.txt; git checkout -q src/a.txt; sed s/^./X/ src/a.txt > .git/x;"
        "cat .git/x > src/a.txt;"
        '[ "$(stat -c %Y src/a.txt)" != "$(stat -c %Y .git/index)" ]; do git checkout -q .; done'
    )
    await asyncio.sleep(1.2)  # git compares real file times; a status would mark the file
    await world.workspaces.settle(sandbox, box)
    assert box.run("git status --porcelain") == "M src/a.txt"


async def test_shared_repository_cannot_be_written_from_inside(world: World) -> None:
    _, box = await world.laid_out(world.repo())
    with pytest.raises(AssertionError, match="Read-only"):
        box.run("touch /.atoll/repos/0.git/x")
    stored = await world.stored()
    assert stat.S_IMODE(stored.path.stat().st_mode) == 0o755


async def test_second_sandbox_sees_a_fetch_while_it_runs(world: World) -> None:
    _, box = await world.laid_out(world.repo())
    new = world.tree.commit("late.txt", "late")
    world.tree.git("push", "-q", "origin", "main")
    world.clock.at += timedelta(minutes=1)
    await world.laid_out(world.repo(), number=2)
    box.run("git fetch -q atoll")
    assert box.run("git rev-parse atoll/main") == new
    assert objects(box.workspace) == []


async def test_remote_that_is_gone_leaves_what_is_kept(world: World) -> None:
    await world.laid_out(world.repo())
    world.clock.at += timedelta(minutes=1)
    closed = world.repo(repo_url=world.server.url.replace("127.0.0.1", "localhost") + "1/o/r")
    with pytest.raises((Unavailable, Invalid)):
        await world.workspaces.mounts_for(PERSONAL_ORG, (closed,))
    key = (await world.stored()).key
    gone = (await world.shelf.find(key, PERSONAL_ORG)).path.parent.parent
    kept = world.tmp / "repos" / "127.0.0.1+1"
    gone.rename(kept)
    record = kept / "o/r.git/atoll.json"
    record.write_text(record.read_text().replace(key, "127.0.0.1+1/o/r"))
    (mount,) = await world.workspaces.mounts_for(
        PERSONAL_ORG, (world.repo(repo_url="http://127.0.0.1:1/o/r"),)
    )
    assert mount.source == str(kept / "o/r.git")


async def test_repository_of_another_organization_is_not_found(world: World) -> None:
    from atoll.domain.repository.repository import read_local

    await world.shelf.place(read_local("ab" * 10, "theirs"), OrgId("other"))
    theirs = world.repo(key="ab" * 10, repo_url="")
    with pytest.raises(NotFound):
        await world.laid_out(theirs)
    for fetch in (True, False):
        with pytest.raises(NotFound):
            await world.workspaces.mounts_for(PERSONAL_ORG, (theirs,), fetch=fetch)
        (mount,) = await world.workspaces.mounts_for(OrgId("other"), (theirs,), fetch=fetch)
        assert mount.source.endswith(".git")


async def test_commits_leave_as_a_small_checked_bundle(world: World) -> None:
    sandbox, box = await world.laid_out(world.repo())
    box.run("echo new > new.txt && git add -A && git commit -qm new")
    full = "refs/heads/fix"
    async with world.workspaces.taken_out(sandbox, box, 0, ref=full) as (intake, refs):
        assert [(ref.name, ref.commit) for ref in refs] == [(full, box.run("git rev-parse HEAD"))]
        assert intake.size < 1000
    assert list((world.tmp / "imports").iterdir()) == []
    assert list((box.workspace / ".git").glob("*.bundle")) == []


async def test_commits_nothing_new_is_a_conflict(world: World) -> None:
    sandbox, box = await world.laid_out(world.repo())
    with pytest.raises(Conflict) as caught:
        async with world.workspaces.taken_out(sandbox, box, 0, ref="refs/heads/fix"):
            pass
    assert caught.value.code == "nothing_new"
    with pytest.raises(NotFound, match="no branch"):
        async with world.workspaces.taken_out(sandbox, box, 0, ref="refs/heads/absent"):
            pass


class TestWorkspaces(WorkspacePreparerContract):
    @pytest.fixture
    def preparer(self, world: World) -> Workspaces:
        return world.workspaces

    @pytest.fixture
    def laid_out(self, world: World) -> Sandbox:
        return world.sandbox(world.repo())

    @pytest.fixture
    def absent(self, world: World) -> SandboxRepo:
        return world.repo(repo_url=f"{world.server.url}/o/absent")

    @pytest.fixture
    async def client(self, world: World, laid_out: Sandbox) -> BoxedRuntime:
        return await world.box(laid_out)


def add_link(tree: Tree, name: str, source: Tree) -> None:
    """Commit a submodule of a repository beside it, as `name`."""
    tree.git("config", "-f", ".gitmodules", f"submodule.{name}.path", name)
    tree.git("config", "-f", ".gitmodules", f"submodule.{name}.url", f"../{source.path.name}.git")
    link = f"160000,{source.git('rev-parse', 'HEAD')},{name}"
    tree.git("update-index", "--add", "--cacheinfo", link)
    tree.git("add", ".gitmodules")
    tree.git("commit", "-qm", f"submodule {name}")


async def test_submodules_in_submodules_come_along_or_are_named(world: World) -> None:
    inner, far, outer = (new_tree(world.tmp / name) for name in ("inner", "far", "outer"))
    inner.commit("in.txt", "inner\n")
    far.commit("far.txt", "far\n")  # else its commit is in every other one
    add_link(outer, "sub/in", inner)
    add_link(outer, "far", far)
    add_link(world.tree, "out er", outer)
    for one in (inner, outer):
        bare_copy(one, world.tmp / "srv" / "o" / f"{one.path.name}.git")
        remote = read_remote(f"{world.server.url}/o/{one.path.name}", allow_loopback=True)
        await world.shelf.fetch(remote, lambda _: None)
    world.tree.git("push", "-q", str(world.tmp / "srv" / "o" / "r.git"), "main")
    sandbox = world.sandbox(world.repo())
    box = await world.box(sandbox)
    (repo,) = await world.workspaces.prepare(sandbox, box, lambda _: None)
    assert repo.submodules == ("out er/far",)
    assert (box.workspace / "out er/sub/in/in.txt").read_text() == "inner\n"
    own = "cd 'out er/sub/in'; git remote get-url origin; git rev-parse --absolute-git-dir"
    assert box.run(f"git status --porcelain; {own}").split("\n") == [
        f"{world.server.url}/o/inner.git",
        "/workspace/.git/modules/out er/modules/sub/in",
    ]
    # They are in the commits already: nothing stands in the way of what is saved.
    box.run("echo new > new")
    taking = world.workspaces.taken_out(
        sandbox, box, 0, ref="refs/heads/fix", script=BUNDLE_UNCOMMITTED
    )
    async with taking as (_, refs):
        assert [one.name for one in refs] == ["refs/heads/fix"]


async def test_submodules_that_are_here_come_along_and_the_others_are_named(world: World) -> None:
    library = new_tree(world.tmp / "library", text="library\n")
    library.commit("lib.txt", "library\n")
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 1\n"
    lfs = "*.bin filter=lfs diff=lfs merge=lfs -text\n"
    for name, text in (("b.bin", pointer), (".gitattributes", lfs)):
        library.commit(name, text)
    bare_copy(library, world.tmp / "srv" / "o" / "library.git")
    far = new_tree(world.tmp / "far", text="far\n")
    bare_copy(far, world.tmp / "srv" / "o" / "far.git")
    tree = world.tree
    for name, source in (("lib", library), ("deep/far", far)):
        add_link(tree, name, source)
    (tree.path / ".gitattributes").write_text(lfs)
    (tree.path / "a.bin").write_text(pointer)
    tree.git("add", ".gitattributes", "a.bin")
    tree.git("commit", "-qm", "a pointer")
    tree.git("push", "-q", str(world.tmp / "srv" / "o" / "r.git"), "main")
    remote = read_remote(f"{world.server.url}/o/library", allow_loopback=True)
    await world.shelf.fetch(remote, lambda _: None)
    sandbox = world.sandbox(world.repo())
    box = await world.box(sandbox)
    (repo,) = await world.workspaces.prepare(sandbox, box, lambda _: None)
    assert (repo.submodules, repo.lfs_files) == (("deep/far",), 2), "one in the submodule"
    assert (box.workspace / "lib" / "lib.txt").read_text() == "library\n"
    assert box.run("git status --porcelain; git -C lib remote get-url origin") == (
        f"{world.server.url}/o/library.git"
    )
    assert box.run("git -C lib fsck --connectivity-only; cat .git/modules/lib/HEAD") == (
        library.git("rev-parse", "HEAD")
    )
    box.run("printf '#!/bin/sh\ntouch /workspace/.git/ran\n' > .git/run; chmod +x .git/run")
    box.run("git config core.fsmonitor /workspace/.git/run; rm -f .git/ran")
    await world.workspaces.prepare(sandbox, box, lambda _: None)
    assert not (box.workspace / ".git/ran").exists()
    box.run("git config --unset core.fsmonitor")
    # The mounted repository may be another one at the next start.
    alone = replace(box, mounts=box.mounts[:1])
    assert alone.run("git -C lib log --format=%s | head -n 1") == library.git(
        "log", "-1", "--format=%s"
    )
    sandbox = replace(sandbox, repos=(repo,))
    (again,) = await world.workspaces.prepare(sandbox, alone, lambda _: None)
    assert again == repo
    alone.run("echo new > new")
    taking = world.workspaces.taken_out(
        sandbox, alone, 0, ref="refs/heads/fix", script=BUNDLE_UNCOMMITTED
    )
    async with taking as (_, refs):
        assert [one.name for one in refs] == ["refs/heads/fix"]
    alone.run("echo new > lib/new")
    with pytest.raises(Conflict, match="lib is a repository of its own"):
        async with world.workspaces.taken_out(
            sandbox, alone, 0, ref="refs/heads/fix", script=BUNDLE_UNCOMMITTED
        ):
            pass
