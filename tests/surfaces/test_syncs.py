"""Syncs over the API and the client: newer commits of a checkout, in a real box."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from atoll.client.made.library.syncs import Sync
from atoll.domain.errors import Conflict, Invalid, NotFound
from atoll.surfaces.cli.transfer.pulled_branch import BranchRequest
from atoll.surfaces.cli.transfer.upload import send_branch
from tests.peers.boxed_runtime import BoxedRuntime
from tests.peers.git_tree import Tree, new_tree
from tests.surfaces.repository_world import RepositoryWorld, repository_world
from tests.surfaces.test_repositories import asked, pulled, sent


@pytest.fixture
async def atoll() -> AsyncIterator[RepositoryWorld]:
    async with repository_world() as world:
        yield world


class Synced:
    """A sandbox of a checkout: a branch `fix` that began from `main`."""

    def __init__(self, atoll: RepositoryWorld, tree: Tree, key: str) -> None:
        self.atoll, self.tree, self.key = atoll, tree, key
        self.made: dict[str, object] = {}

    async def make(self) -> BoxedRuntime:
        repos = [{"key": self.key, "branch": "fix", "from_branch": "main"}]
        self.made = await asked(self.atoll, repos=repos)
        box = self.atoll.box(str(self.made["sandbox_id"]))
        box.run("echo mine > mine; git add mine; git commit -qm mine")
        return box

    async def sync(self, **body: object) -> Sync:
        name = str(self.made["name"])
        return await asyncio.to_thread(self.atoll.api.sandboxes.sync, name, body)  # type: ignore[arg-type]

    async def send(self, branch: str = "main") -> None:
        await asyncio.to_thread(send_branch, self.atoll.api, self.tree.path, branch, key=self.key)


@pytest.fixture
async def synced(atoll: RepositoryWorld, tmp_path: Path) -> Synced:
    tree = new_tree(tmp_path / "work")
    tree.commit("shared", "a\n")
    return Synced(atoll, tree, await sent(atoll, tree))


async def test_newer_commits_flow_in_and_the_branch_is_rebased(synced: Synced) -> None:
    box = await synced.make()
    assert (await synced.sync()).outcome == "current"
    newer = synced.tree.commit("theirs", "theirs\n")
    await synced.send()
    box.run("echo changed > shared; echo new > untracked")
    done = await synced.sync(repo=0, onto="main", act="rebase")
    assert (done.outcome, done.commits, done.onto) == ("updated", 1, "main")
    assert done.commit == box.run("git rev-parse HEAD")
    assert box.run("git rev-parse HEAD~1") == newer
    assert box.run("git log -1 --format=%s; cat theirs mine shared untracked").split() == [
        "mine", "theirs", "mine", "changed", "new",
    ]  # fmt: skip
    assert box.run("git status -s --porcelain").split() == ["M", "shared", "??", "untracked"]
    assert box.run("git stash list") == "" and not done.stashed
    # What comes home stands on the newer commits.
    got = await pulled(synced.atoll, synced.made, synced.tree)
    assert synced.tree.git("rev-parse", f"{got.branch}~1") == newer


async def test_conflict_stops_is_told_and_undone(synced: Synced) -> None:
    box = await synced.make()
    box.run("echo inside > shared; git commit -qam inside; echo later > 'a b'; git add -A")
    before = box.run("git rev-parse HEAD")
    synced.tree.commit("shared", "outside\n")
    await synced.send()
    done = await synced.sync()
    assert (done.outcome, done.files) == ("conflict", ["shared"])
    # Nothing more happens to it until somebody decides.
    assert (await synced.sync()).outcome == "conflict"
    assert (await synced.sync(act="look")).files == ["shared"]
    assert (await synced.sync(act="abort")).commit == before
    assert box.run("git rev-parse HEAD; git status -s").split("\n") == [before, 'A  "a b"']
    assert (await synced.sync(act="abort")).outcome == "clean"
    assert (await synced.sync(act="look")).outcome == "clean"


async def test_conflict_that_somebody_resolved_inside_is_over(synced: Synced) -> None:
    box = await synced.make()
    box.run("echo inside > shared; git commit -qam inside")
    newer = synced.tree.commit("shared", "outside\n")
    await synced.send()
    assert (await synced.sync()).outcome == "conflict"
    box.run("echo both > shared; git add shared; GIT_EDITOR=true git rebase --continue")
    assert (await synced.sync(act="look")).outcome == "clean"
    assert (await synced.sync()).outcome == "current"
    assert box.run("git rev-parse HEAD~2; cat shared").split() == [newer, "both"]


async def test_merge_under_way_inside_is_given_up_like_a_rebase(synced: Synced) -> None:
    box = await synced.make()
    box.run(
        "git switch -qc other HEAD~1; echo other > mine; git add mine; git commit -qm other;"
        "git switch -q fix; git merge other || true"
    )
    synced.tree.commit("theirs", "theirs\n")
    await synced.send()
    with pytest.raises(Conflict, match="merge or cherry-pick is under way") as refused:
        await synced.sync()
    assert refused.value.code == "merging"
    assert (await synced.sync(act="look")).outcome == "conflict"
    assert "AA mine" in box.run("git status --porcelain")
    assert (await synced.sync(act="abort")).outcome == "aborted"
    assert box.run("git status --porcelain") == ""


async def test_hook_of_ref_updates_takes_no_part_in_a_sync(synced: Synced) -> None:
    box = await synced.make()
    synced.tree.commit("theirs", "theirs\n")
    await synced.send()
    hook = ".git/hooks/reference-transaction"
    box.run(f"mkdir -p .git/hooks; printf '#!/bin/sh\ntouch ran; exit 1' > {hook}; chmod +x {hook}")
    assert (await synced.sync()).outcome == "updated"
    assert "ran" not in box.run("ls").split()


async def test_conflict_without_an_agent_cannot_be_handed_over(synced: Synced) -> None:
    box = await synced.make()
    box.run("echo inside > shared; git commit -qam inside")
    synced.tree.commit("shared", "outside\n")
    await synced.send()
    with pytest.raises(NotFound):
        await synced.sync(agent=True)
    assert (await synced.sync(act="look")).outcome == "conflict"


async def test_sync_that_cannot_begin_changes_nothing(synced: Synced) -> None:
    box = await synced.make()
    with pytest.raises(Invalid, match="no branch 'gone'"):
        await synced.sync(onto="gone")
    with pytest.raises(Invalid, match="no repository number 3"):
        await synced.sync(repo=3)
    with pytest.raises(Invalid, match="not the checkout"):
        await asyncio.to_thread(
            send_branch, synced.atoll.api, synced.tree.path, "main", key="f" * 24
        )
    box.run("git checkout -q --detach")
    with pytest.raises(Conflict, match="on no branch"):
        await synced.sync()
    box.run("git checkout -q fix; echo here > theirs")
    synced.tree.commit("theirs", "theirs")
    await synced.send()
    with pytest.raises(Conflict, match="left as it is"):
        await synced.sync()
    assert box.run("cat theirs; git branch --show-current") == "here\nfix"
    box.run("rm -rf .git")
    with pytest.raises(NotFound, match="no git repository"):
        await synced.sync()


async def test_hostile_settings_and_names_of_a_sync_stay_inside(synced: Synced) -> None:
    box = await synced.make()
    name = "$(printf 'x\\033[2Jy')"
    box.run(
        f"mkdir hooks; printf '#!/bin/sh\\ntouch /workspace/ran\\n' > hooks/pre-rebase;"
        f"chmod +x hooks/*; git config core.hooksPath /workspace/hooks;"
        f"git config core.editor 'touch /workspace/ran';"
        f"git config remote.atoll.url 'ext::touch /workspace/ran';"
        f'echo inside > "{name}"; git add -A; git commit -qm named'
    )
    synced.tree.commit("x\x1b[2Jy", "outside\n")
    await synced.send()
    done = await synced.sync()
    assert done.outcome == "conflict" and len(done.files) == 1
    assert not (box.workspace / "ran").exists()


async def test_uncommitted_work_comes_home_as_a_commit_of_its_own(synced: Synced) -> None:
    box = await synced.make()
    box.run("echo changed > shared; echo staged > s; git add s; echo new > untracked")
    before = box.run("git status --porcelain; git rev-parse HEAD; git write-tree; ls .git")
    wanted = BranchRequest(uncommitted=True)
    got = await pulled(synced.atoll, synced.made, synced.tree, wanted=wanted)
    assert got.commits == 2
    assert box.run("git status --porcelain; git rev-parse HEAD; git write-tree; ls .git") == before
    show = synced.tree.git
    assert show("log", "-1", "--format=%s", "fix") == "Work that was not committed"
    assert show("rev-parse", "fix~1") == box.run("git rev-parse HEAD")
    files = ("shared", "s", "untracked")
    assert [show("show", f"fix:{file}") for file in files] == ["changed", "staged", "new"]
    # A later pull takes its place without force: what it held is in the new one, or inside still.
    box.run("git add -A; git commit -qm whole")
    again = await pulled(synced.atoll, synced.made, synced.tree)
    assert show("log", "-1", "--format=%s", "fix") == "whole" and again.branch == "fix"


async def test_uncommitted_work_beside_another_repository_says_which(synced: Synced) -> None:
    box = await synced.make()
    box.run("git init -q lib; echo x > lib/x")
    with pytest.raises(Conflict, match="/lib is a repository of its own") as refused:
        wanted = BranchRequest(uncommitted=True)
        await pulled(synced.atoll, synced.made, synced.tree, wanted=wanted)
    assert refused.value.code == "not_whole"


async def test_uncommitted_work_of_another_branch_is_not_taken(synced: Synced) -> None:
    box = await synced.make()
    box.run("git checkout -qb else")
    with pytest.raises(Conflict, match="not on branch 'fix' now"):
        wanted = BranchRequest(uncommitted=True)
        await pulled(synced.atoll, synced.made, synced.tree, wanted=wanted)


async def test_pulled_uncommitted_work_counts_its_commits_as_pulled(synced: Synced) -> None:
    box = await synced.make()
    box.run("echo new > untracked")
    await pulled(synced.atoll, synced.made, synced.tree, wanted=BranchRequest(uncommitted=True))
    name = str(synced.made["name"])
    found = await asyncio.to_thread(synced.atoll.api.sandboxes.unpulled, name)
    assert [(one.commits, one.untracked) for one in found.places] == [(0, ["untracked"])]


async def test_unpulled_work_is_found_whatever_the_monitor_inside_says(synced: Synced) -> None:
    box = await synced.make()
    box.run("printf '#!/bin/sh\nprintf \"token\\\\0\"' > .git/quiet; chmod +x .git/quiet")
    box.run("git config core.fsmonitor .git/quiet; git status; echo changed >> shared")
    assert box.run("git status --porcelain") == ""  # the monitor names no file
    name = str(synced.made["name"])
    found = await asyncio.to_thread(synced.atoll.api.sandboxes.unpulled, name)
    assert [one.changed for one in found.places] == [["shared"]]
