"""Branches of a person's checkout that a sandbox goes on from, and that a pull moves."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from atoll.domain.errors import Conflict, Invalid
from atoll.surfaces.cli.console.plan import SandboxPlan
from atoll.surfaces.cli.transfer.local_repo import lacking_submodules
from atoll.surfaces.cli.transfer.origin import origins
from atoll.surfaces.cli.transfer.pulled_branch import BEFORE, BranchRequest
from atoll.surfaces.cli.transfer.upload import send_branch
from tests.peers.boxed_runtime import BoxedRuntime
from tests.peers.git_tree import Tree, bare_copy, new_tree
from tests.surfaces.repository_world import RepositoryWorld, repository_world
from tests.surfaces.test_repositories import asked, pulled


@pytest.fixture
async def atoll() -> AsyncIterator[RepositoryWorld]:
    async with repository_world() as world:
        yield world


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A checkout on `main`, with a branch `fix` of the person's own."""
    made = new_tree(tmp_path / "demo")
    made.git("checkout", "-qb", "fix")
    made.commit("mine", "mine\n")
    made.git("checkout", "-q", "main")
    return made


async def new(
    atoll: RepositoryWorld, plan: SandboxPlan, base: str | None = None
) -> tuple[dict[str, object], BoxedRuntime]:
    """What `atoll new` makes of a plan."""
    found = await asyncio.to_thread(origins, atoll.api, plan, base=base)
    made = await asked(atoll, repos=[one.request for one in found])
    return made, atoll.box(str(made["sandbox_id"]))


async def test_branch_that_is_not_checked_out_goes_on(
    atoll: RepositoryWorld, tree: Tree, capsys: pytest.CaptureFixture[str]
) -> None:
    made, box = await new(atoll, SandboxPlan(str(tree.path), "fix"))
    mine = tree.git("rev-parse", "fix")
    assert box.run("git rev-parse fix") == mine
    assert f"fix goes on from fix at {mine[:12]}" in capsys.readouterr().err
    box.run("echo theirs > theirs; git add theirs; git commit -qm theirs")
    got = await pulled(atoll, made, tree)
    assert (got.commits, got.kept) == (1, None)
    assert tree.git("rev-parse", "fix~1") == mine


async def test_branch_goes_on_wherever_it_is_known_from(
    atoll: RepositoryWorld, tree: Tree, tmp_path: Path
) -> None:
    mine = tree.git("rev-parse", "fix")
    tree.git("worktree", "add", "-q", str(tmp_path / "linked"), "fix")
    _, box = await new(atoll, SandboxPlan(str(tree.path), "fix"))
    assert box.run("git rev-parse HEAD") == mine
    tree.git("worktree", "remove", "--force", str(tmp_path / "linked"))
    tree.git("branch", "-qD", "fix")  # sent before, and known to the server alone
    _, box = await new(atoll, SandboxPlan(str(tree.path), "fix"))
    assert box.run("git rev-parse HEAD") == mine
    other = new_tree(tmp_path / "other")
    other.git("checkout", "-qb", "far")
    far = other.commit("far", "far\n")
    other.git("checkout", "-q", "main")
    bare_copy(other, tmp_path / "srv.git")
    other.git("branch", "-qD", "far")
    other.git("remote", "add", "upstream", str(tmp_path / "srv.git"))
    other.git("fetch", "-q", "upstream")
    _, box = await new(atoll, SandboxPlan(str(other.path), "far"))
    assert box.run("git rev-parse HEAD; git branch --show-current").split() == [far, "far"]
    _, box = await new(atoll, SandboxPlan(str(other.path), "new", "far"))
    assert box.run("git rev-parse HEAD; git branch --show-current").split() == [far, "new"]


async def test_several_agents_and_several_repositories_go_on_from_the_branch(
    atoll: RepositoryWorld, tree: Tree, tmp_path: Path
) -> None:
    mine, other = tree.git("rev-parse", "fix"), new_tree(tmp_path / "other")
    also = (f"{other.path}#work",)
    plan = SandboxPlan(str(tree.path), "fix-codex", also=also)
    _, box = await new(atoll, plan, base="fix")
    there = "git -C demo rev-parse HEAD; git -C demo branch --show-current"
    assert box.run(there).split() == [mine, "fix-codex"]
    assert box.run("git -C other branch --show-current") == "work"


async def test_branch_that_nobody_knows_begins_where_one_stands(
    atoll: RepositoryWorld, tree: Tree, capsys: pytest.CaptureFixture[str]
) -> None:
    _, box = await new(atoll, SandboxPlan(str(tree.path), "new"))
    assert box.run("git rev-parse HEAD") == tree.git("rev-parse", "main")
    await new(atoll, SandboxPlan(str(tree.path), "fix"))
    capsys.readouterr()
    _, box = await new(atoll, SandboxPlan(str(tree.path), "fix", "main"))
    assert box.run("git rev-parse HEAD") == tree.git("rev-parse", "main")
    assert "fix is there already" in capsys.readouterr().err
    with pytest.raises(Invalid, match="has no branch 'absent'"):
        await new(atoll, SandboxPlan(str(tree.path), "fix", "absent"))


async def test_names_of_other_things_than_branches_begin_nothing_elsewhere(
    atoll: RepositoryWorld, tree: Tree
) -> None:
    mine = tree.git("rev-parse", "fix")
    tree.git("tag", "v1", "fix")
    tree.git("update-ref", "refs/remotes/origin/far", mine)
    for name, words in (
        ("v1", "v1 is a tag, not a branch"),
        ("origin/far", "name it 'far'"),
        (mine, "is a commit, not a branch"),
    ):
        with pytest.raises(Invalid, match=words):
            await new(atoll, SandboxPlan(str(tree.path), name))
        with pytest.raises(Invalid, match=words):
            await new(atoll, SandboxPlan(str(tree.path), "several-codex"), base=name)
        _, box = await new(atoll, SandboxPlan(str(tree.path), f"from-{name[:8]}", name))
        assert box.run("git rev-parse HEAD") == mine, name
    await new(atoll, SandboxPlan(str(tree.path), "decade"))  # hexadecimal, but a word


async def test_name_that_git_has_no_room_for_is_refused_before_anything_is_made(
    atoll: RepositoryWorld, tree: Tree
) -> None:
    tree.git("branch", "old/part", "fix")
    for name in ("fix/part", "old", "fix/a/b"):
        for start in (None, "main"):
            with pytest.raises(Conflict, match=f"{name!r} has no room beside your branch"):
                await new(atoll, SandboxPlan(str(tree.path), name, start))
    for name, words in (
        ("refs/heads/fix", "name it 'fix'"),
        ("refs/heads/absent", "name it 'absent'"),
        ("refs/tags/v1", "begins with refs/"),
    ):
        with pytest.raises(Invalid, match=words):
            await new(atoll, SandboxPlan(str(tree.path), name))
    _, box = await new(atoll, SandboxPlan(str(tree.path), "old/other", "fix"))
    assert box.run("git branch --show-current") == "old/other"


async def test_branch_that_was_renamed_below_its_old_name_goes_on(
    atoll: RepositoryWorld, tree: Tree
) -> None:
    made, box = await new(atoll, SandboxPlan(str(tree.path), "fix"))
    key = str(made["repos"][0]["key"])  # type: ignore[index]
    mine = tree.git("rev-parse", "fix")
    tree.git("checkout", "-q", "fix")
    tree.git("branch", "-qm", "fix", "fix/part")
    for plan in (SandboxPlan(str(tree.path), "fix/part"), SandboxPlan(str(tree.path), "of-it")):
        _, later = await new(atoll, plan)
        assert later.run("git rev-parse HEAD") == mine
    for onto in ("fix/part", "fix"):
        tree.git("branch", "-qm", onto)
        newer = tree.commit(onto.replace("/", "-"), "newer\n")
        await asyncio.to_thread(send_branch, atoll.api, tree.path, onto, key=key)
        done = await asyncio.to_thread(atoll.api.sandboxes.sync, str(made["name"]), {"onto": onto})
        assert (done.outcome, box.run("git rev-parse HEAD")) == ("updated", newer), onto


async def test_pull_names_the_branch_that_leaves_no_room(
    atoll: RepositoryWorld, tree: Tree
) -> None:
    made, box = await new(atoll, SandboxPlan(str(tree.path), "later/part"))
    box.run("git commit -q --allow-empty -m theirs")
    tree.git("branch", "later")
    with pytest.raises(Conflict, match=r"branch 'later', .*pull NAME other") as caught:
        await pulled(atoll, made, tree)
    assert caught.value.code == "branch_in_the_way"
    with pytest.raises(Conflict, match="beside your branch 'later'"):
        await pulled(atoll, made, tree, into="later/part/more")
    assert (await pulled(atoll, made, tree, into="other")).branch == "other"


async def test_branch_that_is_named_goes_on_while_none_is_checked_out(
    atoll: RepositoryWorld, tree: Tree
) -> None:
    mine = tree.git("rev-parse", "fix")
    tree.git("checkout", "-q", "--detach", "main")
    _, box = await new(atoll, SandboxPlan(str(tree.path), "fix"))
    assert box.run("git rev-parse HEAD; git branch --show-current").split() == [mine, "fix"]
    made, box = await new(atoll, SandboxPlan(str(tree.path), "new", "fix"))
    assert box.run("git rev-parse HEAD; git branch --show-current").split() == [mine, "new"]
    key = str(made["repos"][0]["key"])  # type: ignore[index]
    await asyncio.to_thread(send_branch, atoll.api, tree.path, "main", key=key)
    for branch in (None, "absent"):
        with pytest.raises(Invalid, match="is on no branch: run `git switch -c NAME`"):
            await new(atoll, SandboxPlan(str(tree.path), branch))


async def test_partial_clone_is_sent_once_it_is_whole(
    atoll: RepositoryWorld, tree: Tree, tmp_path: Path
) -> None:
    tree.commit("mine", "other\n")
    tree.commit("mine", "newer\n")
    tree.git("config", "uploadpack.allowFilter", "true")
    tree.git("clone", "-q", "--filter=blob:none", f"file://{tree.path}", str(tmp_path / "part"))
    part = Tree(tmp_path / "part")
    with pytest.raises(Invalid, match="`git fetch --refetch --no-filter origin`"):
        await new(atoll, SandboxPlan(str(part.path), "agents"))
    part.git("fetch", "-q", "--refetch", "--no-filter", "origin")
    _, box = await new(atoll, SandboxPlan(str(part.path), "agents"))
    assert box.run("git show HEAD~:mine") == "other"


async def test_branch_of_several_remotes_goes_on_where_they_agree(
    atoll: RepositoryWorld, tree: Tree, capsys: pytest.CaptureFixture[str]
) -> None:
    mine, main = tree.git("rev-parse", "fix"), tree.git("rev-parse", "main")
    for name in ("up", "my/fork"):
        tree.git("remote", "add", name, "/none")
        tree.git("update-ref", f"refs/remotes/{name}/far", mine)
        tree.git("update-ref", f"refs/remotes/{name}/apart", mine if name == "up" else main)
    tree.git("update-ref", "refs/remotes/my/fork/own", mine)
    for branch in ("far", "own"):
        _, box = await new(atoll, SandboxPlan(str(tree.path), branch))
        assert box.run("git rev-parse HEAD") == mine, branch
    with pytest.raises(Invalid, match="differ: begin at one of my/fork/apart and up/apart"):
        await new(atoll, SandboxPlan(str(tree.path), "apart"))
    with pytest.raises(Invalid, match="name it 'own'"):
        await new(atoll, SandboxPlan(str(tree.path), "my/fork/own"))
    made, box = await new(atoll, SandboxPlan(str(tree.path), "apart", "up/apart"))
    assert box.run("git rev-parse HEAD") == mine
    capsys.readouterr()
    _, box = await new(atoll, SandboxPlan(str(tree.path), "unfetched"))
    assert f"unfetched is new, from main at {main[:12]}" in capsys.readouterr().err
    # A sync with what a start named, and the branch that others begin from stays.
    key = str(made["repos"][0]["key"])  # type: ignore[index]
    tree.git("checkout", "-q", "fix")
    newer = tree.commit("newer", "newer\n")
    tree.git("update-ref", "refs/remotes/up/apart", newer)
    await asyncio.to_thread(send_branch, atoll.api, tree.path, "up/apart", key=key)
    done = await asyncio.to_thread(atoll.api.sandboxes.sync, str(made["name"]), {})
    assert (done.outcome, done.commit) == ("updated", newer)
    made = await asked(atoll, repos=[{"key": key, "branch": "plain"}])
    assert atoll.box(str(made["sandbox_id"])).run("git rev-parse HEAD") == main


async def test_submodules_whose_commits_are_in_the_checkout_come_along(
    atoll: RepositoryWorld, tree: Tree, tmp_path: Path
) -> None:
    add = ("-c", "protocol.file.allow=always", "submodule", "--quiet", "add")
    for path in ("vendor/lib", "gone"):
        library = new_tree(tmp_path / path, text=path)
        tree.git(*add, str(library.path), path)
    tree.git("config", "-f", ".gitmodules", "submodule.vendor/lib.url", "https://127.0.0.1:1/a/b")
    own = Tree(tree.path / "vendor" / "lib")
    own.git(*add, str(new_tree(tmp_path / "inner").path), "in")
    inner = Tree(own.path / "in")
    inner.commit("deep", "deep\n")
    own.git("add", "in")
    mine = own.commit("unpublished", "mine\n")
    tree.git("add", "-A")
    tree.git("commit", "-qm", "submodules")
    tree.git("submodule", "--quiet", "deinit", "gone")
    shutil.rmtree(tree.path / ".git" / "modules" / "gone")
    made, box = await new(atoll, SandboxPlan(str(tree.path), "agents"))
    assert box.run("cat vendor/lib/unpublished; git -C vendor/lib rev-parse HEAD").split() == [
        "mine",
        mine,
    ]
    assert box.run("git status --porcelain; git branch --show-current") == "agents"
    assert box.run("cat vendor/lib/in/deep") == "deep", "one in another, too"
    assert made["repos"][0]["submodules"] == ["gone"]  # type: ignore[index]
    made, box = await new(atoll, SandboxPlan(str(tree.path), "again"))
    assert box.run("cat vendor/lib/unpublished") == "mine"
    assert lacking_submodules(tree.path, tree.git("rev-parse", "HEAD")) == ()
    author = "-c user.name=A -c user.email=a@example.org"
    box.run(f"git -C vendor/lib {author} commit -q --allow-empty -m own; git commit -qam newer")
    got = await pulled(atoll, made, tree)
    assert lacking_submodules(tree.path, got.commit) == ("vendor/lib",)
    newest = own.commit("newest", "newest\n")
    tree.git("commit", "-qam", "newest")
    key = str(made["repos"][0]["key"])  # type: ignore[index]
    await asyncio.to_thread(send_branch, atoll.api, tree.path, "main", key=key)
    assert box.run(f"git --git-dir=/.atoll/repos/0.git cat-file -t {newest}") == "commit"


async def test_what_force_takes_off_a_branch_is_kept_and_said(
    atoll: RepositoryWorld, tree: Tree
) -> None:
    mine = tree.git("rev-parse", "fix")
    made, box = await new(atoll, SandboxPlan(str(tree.path), "fix", "main"))
    box.run("echo theirs > theirs; git add theirs; git commit -qm theirs")
    with pytest.raises(Conflict, match=f"keeps them below {BEFORE}") as caught:
        await pulled(atoll, made, tree)
    assert caught.value.code == "not_fast_forward"
    assert tree.git("for-each-ref", BEFORE) == ""
    got = await pulled(atoll, made, tree, wanted=BranchRequest(force=True))
    assert got.kept == f"{BEFORE}{mine[:12]}" and got.kept in str(got)
    assert tree.git("rev-parse", got.kept) == mine


async def test_branch_that_a_sync_rewrote_is_moved(atoll: RepositoryWorld, tree: Tree) -> None:
    made, box = await new(atoll, SandboxPlan(str(tree.path), "agents"))
    box.run("echo theirs > theirs; git add theirs; git commit -qm theirs")
    first = (await pulled(atoll, made, tree)).commit
    tree.commit("newer", "newer\n")
    key = str(made["repos"][0]["key"])  # type: ignore[index]
    await asyncio.to_thread(send_branch, atoll.api, tree.path, "main", key=key)
    name = str(made["name"])
    done = await asyncio.to_thread(atoll.api.sandboxes.sync, name, {"onto": "main"})
    assert done.outcome == "updated"
    got = await pulled(atoll, made, tree)
    assert tree.git("rev-parse", "agents") == got.commit == done.commit
    assert tree.git("rev-parse", str(got.kept)) == first
    # What the person added since stays, whatever was pulled before.
    tree.git("checkout", "-q", "agents")
    tree.commit("added", "added\n")
    tree.git("checkout", "-q", "main")
    box.run("git commit -q --amend -m other")
    with pytest.raises(Conflict):
        await pulled(atoll, made, tree)
