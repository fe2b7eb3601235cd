"""Checkpoints of real repositories in real boxes."""

import pytest

from atoll.domain.errors import Conflict, NotFound
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.services.library.checkpoints import Checkpoint, Checkpoints
from atoll.wire.git.checkpoints import CHECKPOINT, MAX_CHECKPOINTS
from tests.peers.boxed_runtime import BoxedRuntime
from tests.services.library.test_changes import Review, review
from tests.services.library.test_workspaces import world

__all__ = ["review", "world"]


class Points:
    """The checkpoints of one box."""

    def __init__(self, review: Review) -> None:
        self.box: BoxedRuntime = review.box
        self.points = Checkpoints(review.reading)

    def take(self) -> None:
        """As the runtime does."""
        (self.box.workspace / ".git" / "point").write_text(CHECKPOINT)
        self.box.run("/bin/sh .git/point t_1 'Before a turn of codex'")

    async def list(self) -> tuple[Checkpoint, ...]:
        return await self.points.list(LOCAL_PERSON, "x")

    async def restore(self, number: int) -> int:
        return await self.points.restore(LOCAL_PERSON, "x", number)


@pytest.fixture
def points(review: Review) -> Points:
    return Points(review)


async def test_turn_is_compared_with_the_files_before_it(review: Review, points: Points) -> None:
    points.take()
    assert await review.files("turn") == {}
    review.box.run("echo more > 'a new'; rm two.txt; git add -A; git commit -qm turn; echo z > z")
    assert {path: file.kind for path, file in (await review.files("turn")).items()} == {
        "a new": "modified", "two.txt": "deleted", "z": "added",
    }  # fmt: skip
    assert (await review.changes("turn")).commits == 1
    assert (await review.diff("a new", against="turn"))["a new"] == ["-new", "+more"]


async def test_checkpoint_leaves_index_and_files_and_is_taken_once(points: Points) -> None:
    before = points.box.run("git status --porcelain; git stash list; git log --oneline")
    points.take()
    points.take()
    (one,) = await points.list()
    assert (one.number, one.subject) == (1, "Before a turn of codex")
    assert points.box.run("git status --porcelain; git stash list; git log --oneline") == before


async def test_restore_brings_files_and_branch_back_and_can_be_undone(points: Points) -> None:
    points.take()
    points.box.run("rm two.txt 'a new'; mkdir d; echo d > d/d; git add -A; git commit -qm turn")
    there = points.box.run("git rev-parse HEAD")
    assert await points.restore(1) == 2
    assert points.box.run("cat 'a new' two.txt; head -n1 src/a.txt; ls") == (
        "new\ntwo\nchanged\nREADME.md\na new\nsrc\ntwo.txt"
    )
    assert points.box.run("git status --porcelain") == 'M src/a.txt\n?? "a new"'
    assert points.box.run("git log --format=%s -n1; git branch --show-current") == "two\nfix"
    assert (await points.list())[0].subject == "Before going back to checkpoint 1"
    await points.restore(2)
    assert points.box.run("git rev-parse HEAD; git status --porcelain; ls") == (
        f"{there}\nREADME.md\nd\nsrc"
    )


async def test_restore_of_what_is_not_there_or_locked_is_refused(points: Points) -> None:
    with pytest.raises(NotFound, match="no checkpoint 7"):
        await points.restore(7)
    points.take()
    points.box.run("touch .git/index.lock")
    with pytest.raises(Conflict, match="at work"):
        await points.restore(1)


async def test_hooks_and_filters_do_not_run_for_a_checkpoint(points: Points) -> None:
    points.box.run(
        "printf '#!/bin/sh\\ntouch /workspace/.git/ran\\n' > .git/p; chmod +x .git/p;"
        "mkdir -p .git/hooks; cp .git/p .git/hooks/reference-transaction;"
        "cp .git/p .git/hooks/post-index-change; echo '* filter=x' > .gitattributes;"
        "git config filter.x.clean .git/p; git config filter.x.smudge .git/p;"
        "git config core.fsmonitor .git/p; rm -f .git/ran"
    )
    points.take()
    (points.box.workspace / "two.txt").write_text("three\n")
    with pytest.raises(Conflict, match=r"'two\.txt' has a filter"):
        await points.restore(1)
    points.box.run("rm .gitattributes")
    await points.restore(1)
    assert "ran" not in points.box.run("ls .git; cat two.txt").split()


async def test_checkpoints_are_bounded_and_forged_ones_are_data(points: Points) -> None:
    points.take()
    points.box.run(
        "one=$(git rev-parse refs/atoll/checkpoints/t_1/1);"
        "for n in $(seq 2 60); do git update-ref refs/atoll/checkpoints/t_1/$n $one; done;"
        "git update-ref refs/atoll/checkpoints/x/y/99 $one; echo x > x"
    )
    points.take()
    found = await points.list()
    assert (len(found), found[0].number, found[-1].number) == (MAX_CHECKPOINTS, 61, 12)


CONFIGURED = {
    "worktree": "git config core.worktree /tmp",
    "bare": "git config core.bare true",
    "signing": "git config commit.gpgSign true; git config gpg.program /workspace/.git/p;"
    "git config log.showSignature true",
    "include": "printf '[core]\\n\\tfsmonitor = .git/p\\n' > .git/more;"
    "git config include.path more",
    "attributes": "mkdir -p .git/info; echo '* filter=x merge=x diff=x' > .git/info/attributes;"
    "git config filter.x.process .git/p; git config filter.x.required true;"
    "git config diff.x.textconv .git/p; git config merge.x.driver .git/p",
    "hooks": "git config core.hooksPath .git/theirs; mkdir .git/theirs;"
    "for h in reference-transaction post-index-change post-checkout; do"
    " cp .git/p .git/theirs/$h; done",
    "alias": "git config alias.update-ref '!.git/p'; git config alias.commit-tree '!.git/p'",
    "promisor": "git config remote.o.promisor true; git config remote.o.url 'ext::.git/p';"
    "git config protocol.ext.allow always; git config extensions.partialClone o",
    "excludes": "echo '*' > .git/all; git config core.excludesFile .git/all",
}


@pytest.mark.parametrize("line", CONFIGURED.values(), ids=CONFIGURED.keys())
async def test_configuration_of_the_repository_counts_for_nothing(
    points: Points, line: str
) -> None:
    points.box.run("printf '#!/bin/sh\\ntouch /workspace/.git/ran\\n' > .git/p; chmod +x .git/p")
    points.box.run(f"{line}; rm -f .git/ran")
    points.take()
    (points.box.workspace / "two.txt").write_text("three\n")
    (points.box.workspace / "late.txt").write_text("late\n")
    (one,) = await points.list()
    assert await points.restore(one.number) == 2
    assert points.box.run("cat two.txt 'a new'; ls .git/ran late.txt 2> /dev/null || true") == (
        "two\nnew"
    )


async def test_ignored_files_and_repositories_inside_stay_as_they_are(points: Points) -> None:
    points.box.run(
        "echo '*.log' > .gitignore; echo 1 > a.log; git init -q sub; cd sub;"
        "git config user.name a; git config user.email a@b; echo 1 > s; git add s;"
        "git commit -qm one; cd ..; git -c advice.addEmbeddedRepo=false add sub .gitignore;"
        "git commit -qm sub"
    )
    points.take()
    points.box.run(
        "echo 2 > a.log; echo 2 > b.log; cd sub; echo 2 > s; git commit -qam two; echo 3 > s;"
        "cd ..; echo other > two.txt"
    )
    await points.restore(1)
    assert points.box.run("cat two.txt a.log b.log sub/s; git -C sub log -1 --format=%s") == (
        "two\n2\n2\n3\ntwo"
    )


async def test_objects_of_checkpoints_lie_in_the_repository_of_the_sandbox(points: Points) -> None:
    before = points.box.run("find .git/objects -type f | wc -l")
    points.take()
    after = points.box.run("find .git/objects -type f | wc -l; find .git -name 'tmp_obj*'")
    assert int(after) > int(before)
    points.box.run("chmod -R a-w .git/objects; echo more > more")
    left = points.box.run(
        "/bin/sh .git/point t_1 x || true; chmod -R u+w .git/objects; git status -s"
    )
    assert left.endswith("?? more") and len(await points.list()) == 1


AUTHOR = "-c user.name=a -c user.email=b"
LIB = (
    f"for one in lib lib/in; do git init -q $one; cd $one; echo 1 > file; git add .;"
    f"git {AUTHOR} commit -qm x; cd /workspace; done; git -C lib add in;"
    f"git -C lib {AUTHOR} commit -qm in; git add lib; : > .gitmodules; git add .gitmodules;"
    "git commit -qm lib; git checkout -q src/a.txt; rm 'a new'"
)
SHOW = (
    "cat lib/file lib/in/file; ls lib lib/in; git -C lib log -1 --format=%s; git -C lib status -s"
)


async def test_edits_in_submodules_are_in_a_checkpoint_and_come_back(
    review: Review, points: Points
) -> None:
    points.box.run(f"{LIB}; echo 2 > lib/file; echo new > lib/new; echo 3 >> lib/in/file")
    before = points.box.run(SHOW)
    points.take()
    assert await review.files("turn") == {}
    points.take()
    assert len(await points.list()) == 1
    points.box.run(
        f"cd lib; rm new; echo other > in/file; echo 4 > more; git {AUTHOR} commit -qam turn;"
        "printf '4\\n5\\n' > more"
    )
    after, head = points.box.run(SHOW), points.box.run("git -C lib rev-parse HEAD")
    lib = (await review.files("turn"))["lib"]
    assert (lib.additions, lib.deletions) == (3, 3)
    assert await points.restore(1) == 2
    assert points.box.run(SHOW) == before
    assert await review.files("turn") != {}, "against what was saved before"
    await points.restore(2)
    assert (points.box.run(SHOW), points.box.run("git -C lib rev-parse HEAD")) == (after, head)
    assert points.box.run("find .git lib -name '*.lock'") == ""


async def test_submodule_with_what_cannot_go_back_is_refused_before_anything_changes(
    points: Points,
) -> None:
    points.box.run(LIB)
    points.take()
    points.box.run("echo 2 > lib/file; echo 2 > two.txt; touch lib/.git/index.lock")
    with pytest.raises(Conflict, match="at work"):
        await points.restore(1)
    points.box.run("rm lib/.git/index.lock; echo 'file filter=x' > lib/.git/info/attributes")
    points.box.run("echo 'file filter=x' > lib/.gitattributes")
    with pytest.raises(Conflict, match=r"'lib/file' has a filter"):
        await points.restore(1)
    assert points.box.run("cat lib/file two.txt; ls .git/*.lock 2> /dev/null || true") == "2\n2"


async def test_paths_with_a_newline_go_back_or_are_refused_by_a_filter(points: Points) -> None:
    points.box.run("printf 1 > 'a\nb'; printf 1 > 'c\nd'; git add .; git commit -qm names")
    points.take()
    points.box.run("printf 2 > 'a\nb'; printf 2 > 'e\nf'")
    await points.restore(1)
    assert points.box.run("cat 'a\nb'; ls | wc -l") == "18"
    points.box.run("echo 'c* filter=x' > .gitattributes; printf 2 > 'c\nd'")
    with pytest.raises(Conflict, match=r"'c\\nd' has a filter"):
        await points.restore(1)
    assert points.box.run("cat 'c\nd'") == "2"
