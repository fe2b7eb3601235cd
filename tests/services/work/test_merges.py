"""Merges of a sandbox's branch, over a real git in a real box."""

from contextlib import asynccontextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from atoll.domain.errors import Conflict, Forbidden, Invalid
from atoll.domain.ids import PrincipalId
from atoll.domain.people.principal import Principal
from atoll.services.library.changes import WorkingTrees
from atoll.services.library.syncs import Syncs
from atoll.services.library.tree_edits import TreeEdits
from atoll.services.work.merges import MergeOrder, MergeResult, Merges
from atoll.services.work.states import WorkLog
from atoll.wire.words.events import ActorKind
from atoll.wire.words.library import MergeOutcome, MergeWay
from tests.peers.boxed_runtime import BoxedRuntime
from tests.services.library.test_syncs import Log, OneAgent, Statuses
from tests.services.library.test_workspaces import NOW, World, world

__all__ = ["world"]

HOSTILE = "a $(touch /tmp/pwned) `id`; \x1b[2J"


class Events:
    """The log, as far as a merge appends to it."""

    def __init__(self) -> None:
        self.drafts: list[Any] = []
        self.events = self

    async def append(self, drafts: Any) -> Any:
        self.drafts += drafts
        return drafts

    @asynccontextmanager
    async def begin(self) -> Any:
        yield self

    async def follow(self, *_args: object) -> None:
        """Derive nothing."""


class Merging:
    """A sandbox on a branch of its own, and the merges of it."""

    def __init__(self, world: World, sandbox: Any, box: BoxedRuntime) -> None:
        self.world, self.sandbox, self.box, self.log = world, sandbox, box, Events()
        self.owner = Principal(sandbox.org_id, sandbox.owner, ActorKind.PERSON)

    async def merge(self, caller: Principal | None = None, **order: Any) -> MergeResult:
        access = cast(Any, SimpleNamespace(runtime=self._runtime))
        syncs = Syncs(
            access,
            self.world.workspaces,
            agents=cast(Any, OneAgent()),
            statuses=cast(Any, Statuses()),
            events=cast(Any, Log()),
        )
        ground = SimpleNamespace(
            store=self.log,
            ids=SimpleNamespace(event=lambda: "evt_1"),
            clock=SimpleNamespace(now=lambda: NOW),
            bus=SimpleNamespace(announce=lambda _: None),
        )
        merges = Merges(
            access,
            self.world.workspaces,
            syncs=syncs,
            edits=TreeEdits(access, WorkingTrees(access)),
            log=WorkLog(cast(Any, ground), cast(Any, self.log)),
        )
        return await merges.merge(caller or self.owner, "fix", MergeOrder(**order))

    async def _runtime(self, *_args: object, **_more: object) -> Any:
        return self.sandbox, self.box

    def git(self, *words: str) -> str:
        return self.box.run("git " + " ".join(words))


@pytest.fixture
async def merging(world: World) -> Merging:
    """A branch with two commits, the one it began from with a newer one."""
    made = Merging(world, *await world.laid_out(world.repo(began_from="main")))
    made.box.run("echo 1 > one; git add -A; git commit -qm one; echo 2 > two; git add -A")
    made.box.run("git commit -qm two")
    return made


async def newer(merging: Merging) -> str:
    """Commit to the branch outside, and return that commit."""
    tree = merging.world.tree
    tree.commit("newer.txt", "newer\n")
    tree.git("push", "-q", str(merging.world.tmp / "srv" / "o" / "r.git"), "main")
    return tree.git("rev-parse", "main")


@pytest.mark.parametrize("way", MergeWay)
async def test_branch_goes_onto_the_newest_commits_of_the_other(
    merging: Merging, way: MergeWay
) -> None:
    tip = await newer(merging)
    merged = await merging.merge(way=way)
    assert (merged.outcome, merged.into, merged.commits) == (MergeOutcome.MERGED, "main", 2)
    assert merging.git("rev-parse main") == merged.commit
    parents = merging.git("log -1 --format=%P main").split()
    subjects = merging.git("log --format=%s", f"{tip}..main").splitlines()
    head = merging.git("rev-parse HEAD")
    assert {
        MergeWay.SQUASH: (parents == [tip] and subjects == ["fix"]),
        MergeWay.MERGE: (parents == [tip, head] and subjects[0] == "Merge branch fix into main"),
        MergeWay.REBASE: (merged.commit == head and subjects == ["two", "one"]),
    }[way]
    assert merging.git("diff main HEAD") == merging.git("status --porcelain") == ""
    (draft,) = merging.log.drafts
    assert (draft.event_type, draft.payload["into"], draft.payload["commit"]) == (
        "work.merged", "main", merged.commit
    )  # fmt: skip
    assert len(str(draft.payload["mark"])) == 40


async def test_squash_names_what_it_holds(merging: Merging) -> None:
    await merging.merge(title=HOSTILE)
    message = merging.git("log -1 --format=%B main")
    assert message.splitlines() == [HOSTILE, "", "* one", "* two"]


async def test_squash_of_one_commit_keeps_its_message(merging: Merging) -> None:
    merging.git("reset -q --soft HEAD^; git commit -q --amend -m 'Only this'")
    await merging.merge()
    assert merging.git("log -1 --format=%s main") == "Only this"


async def test_conflict_stops_the_merge_and_nothing_is_merged(merging: Merging) -> None:
    tree = merging.world.tree
    tree.commit("one", "theirs\n")
    tree.git("push", "-q", str(merging.world.tmp / "srv" / "o" / "r.git"), "main")
    stopped = await merging.merge(hand_over=True)
    assert (stopped.outcome, stopped.files, stopped.agent) == (
        MergeOutcome.CONFLICT, ("one",), "t_1"
    )  # fmt: skip
    assert merging.log.drafts == []
    with pytest.raises(Conflict) as waits:
        await merging.merge()
    assert waits.value.code == "merging"
    merging.box.run("echo both > one; git add one; GIT_EDITOR=true git rebase --continue")
    assert (await merging.merge()).outcome is MergeOutcome.MERGED


async def test_uncommitted_changes_are_refused_or_committed_first(merging: Merging) -> None:
    merging.box.run("echo 3 > three")
    with pytest.raises(Conflict, match="1 file of r-fix is not committed") as refused:
        await merging.merge()
    assert refused.value.code == "uncommitted"
    assert (await merging.merge(commit=True)).commits == 3
    assert merging.git("show main:three") == "3"


async def test_branch_without_commits_has_nothing_to_merge(merging: Merging) -> None:
    merging.git("reset -q --hard origin/main")
    with pytest.raises(Conflict) as nothing:
        await merging.merge()
    assert nothing.value.code == "nothing_new"


async def test_what_the_other_branch_was_inside_is_kept(merging: Merging) -> None:
    first = await merging.merge()
    merging.box.run("echo 4 > four; git add -A; git commit -qm four")
    second = await merging.merge()
    assert second.previous == f"refs/atoll/before-merge/{first.commit}"
    assert merging.git("rev-parse", str(second.previous)) == first.commit
    assert merging.git("log -1 --format=%B main").splitlines()[-1] == "* four"


@pytest.mark.parametrize(
    ("order", "error", "code"),
    [
        ({"into": "fix"}, Conflict, "same_branch"),
        ({"into": "absent"}, Invalid, None),
        ({"into": "-x"}, Invalid, None),
        ({"repo": 1}, Invalid, None),
    ],
)
async def test_merge_that_cannot_be_made_is_refused(
    merging: Merging, order: dict[str, Any], error: type[Exception], code: str | None
) -> None:
    with pytest.raises(error) as refused:
        await merging.merge(**order)
    assert code is None or getattr(refused.value, "code", None) == code


async def test_merge_of_a_detached_head_is_refused(merging: Merging) -> None:
    merging.git("checkout -q --detach")
    with pytest.raises(Conflict) as refused:
        await merging.merge()
    assert refused.value.code == "no_branch"


async def test_only_its_manager_merges(merging: Merging) -> None:
    other = Principal(merging.sandbox.org_id, PrincipalId("other"), ActorKind.PERSON)
    with pytest.raises(Forbidden):
        await merging.merge(other)


async def test_push_that_may_not_leave_is_held(merging: Merging) -> None:
    merged = await merging.merge(push=True)
    assert (merged.outcome, merged.pushed) == (MergeOutcome.MERGED, False)
    assert merged.detail == "It is held for you: `atoll pull r-fix --pushed main`."
    held = merging.git("--git-dir=.git/atoll/pushed.git rev-parse main")
    assert held == merged.commit


async def test_checkout_has_no_remote_to_push_to(merging: Merging) -> None:
    repo = replace(merging.sandbox.repos[0], repo_url="", key="k")
    merging.sandbox = replace(merging.sandbox, repos=(repo,))
    with pytest.raises(Invalid, match="has no remote"):
        await merging.merge(push=True)


async def test_push_to_a_branch_that_moved_meanwhile_overwrites_nothing(merging: Merging) -> None:
    elsewhere = "/workspace/.git/elsewhere.git"
    merging.box.run(
        f"git init -q --bare {elsewhere}; "
        "for name in $(git config --name-only --get-regexp 'pushinsteadof'); do"
        " git config --unset-all $name; done; "
        f"git config url.{elsewhere}.pushInsteadOf {merging.sandbox.repos[0].repo_url}; "
        f"git push -q {elsewhere} HEAD~2:refs/heads/main; "
        "git checkout -q --detach HEAD~2; echo theirs > theirs; git add -A; git commit -qm theirs; "
        f"git push -q {elsewhere} HEAD:main; git checkout -q fix"
    )
    theirs = merging.git("--git-dir", elsewhere, "rev-parse main")
    merged = await merging.merge(push=True)
    assert (merged.outcome, merged.pushed) == (MergeOutcome.MERGED, False)
    assert "atoll sync r-fix --onto main" in merged.detail
    assert merging.git("--git-dir", elsewhere, "rev-parse main") == theirs
