"""Discarding and committing in real repositories in real boxes."""

import subprocess
from typing import Any

import pytest

from atoll.domain.errors import Conflict, Invalid, NotFound
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.services.library.changes import Comparison
from atoll.services.library.checkpoints import Checkpoints
from atoll.services.library.tree_edits import HunkRange, TreeEdits
from atoll.wire.git.checkpoints import TALLY
from atoll.wire.words.library import Against
from tests.services.library.test_changes import Review, review
from tests.services.library.test_checkpoints import AUTHOR, LIB
from tests.services.library.test_workspaces import world

__all__ = ["review", "world"]


class Edits:
    """Edits of one box."""

    def __init__(self, review: Review) -> None:
        self.review, self.run = review, review.box.run
        self.edits = TreeEdits(review.reading, review.trees)

    async def discard(self, path: str, against: str = "uncommitted", **more: Any) -> int:
        file = (await self.review.files(against))[path]
        compared = Comparison(against=Against(against), paths=(path,))
        digest = more.pop("digest", file.digest)
        return await self.edits.discard(LOCAL_PERSON, "x", compared, digest=digest, **more)

    async def commit(self, message: str, *paths: str) -> str:
        return await self.edits.commit(LOCAL_PERSON, "x", message, paths=paths)


@pytest.fixture
def edits(review: Review) -> Edits:
    return Edits(review)


async def test_discarded_files_are_as_before_and_saved(edits: Edits) -> None:
    edits.run("git mv two.txt three.txt; git add src/a.txt; echo worse >> src/a.txt")
    assert await edits.discard("src/a.txt") == 1
    assert edits.run("git status --porcelain") == 'R  two.txt -> three.txt\n?? "a new"'
    await edits.discard("three.txt")
    await edits.discard("a new")
    assert edits.run("git status --porcelain; cat two.txt") == "two"
    assert edits.run("git show refs/atoll/checkpoints/person/1:src/a.txt | tail -n1") == "worse"


async def test_discard_against_the_base_undoes_what_was_committed(edits: Edits) -> None:
    await edits.discard("two.txt", against="base")
    assert edits.run("git status --porcelain") == 'M src/a.txt\n D two.txt\n?? "a new"'


async def test_one_hunk_is_discarded_and_the_others_stay(edits: Edits) -> None:
    edits.run("git checkout -q src/a.txt; seq 100 > src/a.txt; git commit -qam seq")
    edits.run("sed -i '1s/1/first/;90s/90/last/' src/a.txt")
    first = HunkRange(old_start=1, old_lines=4, new_start=1, new_lines=4)
    last = HunkRange(87, 7, 87, 7)
    await edits.discard("src/a.txt", hunk=last)
    assert edits.run("git diff -U0 | grep '^[+-][1-9a-z]'") == "-1\n+first"
    with pytest.raises(Conflict, match="no such change"):
        await edits.discard("src/a.txt", hunk=last)
    edits.run("sed -i '90s/90/last/' src/a.txt")
    await edits.discard("src/a.txt", hunk=first)
    assert edits.run("git diff -U0 | grep '^[+-][1-9a-z]'") == "-90\n+last"
    await edits.discard("src/a.txt", hunk=HunkRange(90, 1, 90, 1, context=0))
    assert edits.run("git diff") == ""


async def test_discard_of_what_changed_meanwhile_is_refused(edits: Edits) -> None:
    with pytest.raises(Conflict, match="changed meanwhile"):
        await edits.discard("src/a.txt", digest="0")
    edits.run("git init -q sub")
    with pytest.raises(Invalid, match="repository inside"):
        await edits.discard("sub/")
    edits.run("touch .git/index.lock")
    with pytest.raises(Conflict, match="at work"):
        await edits.discard("src/a.txt")
    assert edits.run("ls .git/index.lock") == ".git/index.lock"


async def test_commit_of_a_file_that_is_nowhere_names_it_and_commits_nothing(edits: Edits) -> None:
    edits.run("echo new > src/a.txt")
    head = edits.run("git rev-parse HEAD")
    with pytest.raises(NotFound, match="has no file 'no such': nothing was committed"):
        await edits.commit("mend", "src/a.txt", "no such")
    assert edits.run("git rev-parse HEAD; ls .git/index.lock 2>/dev/null || true") == head
    edits.run("git rm -qf --cached src/a.txt; mv src/a.txt kept")
    await edits.commit("move", "src/a.txt")
    assert edits.run("git show --name-status --format=") == "D\tsrc/a.txt"


async def test_commit_takes_all_or_the_named_files_and_runs_no_hook(edits: Edits) -> None:
    edits.run("mkdir -p .git/hooks; printf '#!/bin/sh\\nexit 1\\n' > .git/hooks/pre-commit")
    edits.run("chmod +x .git/hooks/pre-commit; cp .git/hooks/pre-commit .git/hooks/commit-msg")
    edits.run("cp .git/hooks/pre-commit .git/hooks/reference-transaction")
    commit = await edits.commit("Mend it\n\n-- evil\x1b[2J", "src")
    assert edits.run("git rev-parse HEAD") == commit
    assert edits.run("git status --porcelain") == '?? "a new"'
    assert edits.run("git log -1 --format='%an %s'") == "Atoll agent Mend it"
    await edits.commit("all")
    assert edits.run("git status --porcelain; git ls-files").startswith("README.md\na new")
    with pytest.raises(Conflict, match="nothing to commit"):
        await edits.commit("again")
    edits.run("touch .git/MERGE_HEAD")
    with pytest.raises(Conflict, match="merge or rebase"):
        await edits.commit("again")


async def test_commit_takes_files_that_are_marked_as_unchanged(edits: Edits) -> None:
    edits.run("git update-index --assume-unchanged src/a.txt README.md; echo hidden > src/a.txt")
    edits.run("git update-index --skip-worktree README.md two.txt; rm README.md; echo 2 > two.txt")
    tally = edits.review.box.argv("/bin/sh", "-c", TALLY, "atoll", "t_1", clean=True)
    counted = subprocess.run(tally, capture_output=True, text=True, check=True).stdout
    assert counted == "1 3 1001\n"
    await edits.commit("hidden", "src/a.txt")
    assert edits.run("git show HEAD:src/a.txt") == "hidden"
    marks = edits.run("git ls-files -v README.md two.txt")
    assert marks == "s README.md\nS two.txt", "those of other files stay"
    edits.run("echo worse > src/a.txt")
    await edits.discard("src/a.txt")
    assert edits.run("git ls-files -v README.md two.txt") == marks
    await edits.commit("all")
    shown = edits.run("git show --name-status --format= HEAD; git status --porcelain")
    assert shown == "D\tREADME.md\nA\ta new\nM\ttwo.txt"


async def test_edits_in_submodules_are_in_the_counts(edits: Edits) -> None:
    tally = edits.review.box.argv("/bin/sh", "-c", TALLY, "atoll", "t_1", clean=True)

    def count() -> str:
        return subprocess.run(tally, capture_output=True, text=True, check=True).stdout

    edits.run(LIB)
    assert count() == "2 2 0\n", "a link that is new is a line"
    edits.run("echo 2 > lib/file; echo new > lib/new; echo 3 >> lib/in/file")
    assert count() == "2 5 1\n"
    for against, counts in (("base", (4, 1)), ("uncommitted", (3, 1))):
        lib = (await edits.review.files(against))["lib"]
        assert (lib.additions, lib.deletions) == counts, against
    edits.run(f"git -C lib add new; git -C lib {AUTHOR} commit -qm more; git add lib")
    edits.run(f"git {AUTHOR} commit -qm more; echo 5 >> lib/new")
    assert count() == "3 5 1\n"
    lib = (await edits.review.files("base"))["lib"]
    assert (lib.additions, lib.deletions) == (4, 1), "edits alone, where the base has no such link"


async def test_files_with_a_filter_are_left_to_git_inside(edits: Edits) -> None:
    filters = "git config filter.crypt.clean 'rev'; git config filter.crypt.smudge 'rev'"
    edits.run(f"{filters}; echo 'key* filter=crypt' > .gitattributes; echo secret > 'key 1'")
    edits.run("touch -d 2020-01-01 'key 1'; git add .; git commit -qm keys")
    edits.run("printf '#!/bin/sh\ntouch .git/ran\n' > .git/p; chmod +x .git/p")
    edits.run("git config core.fsmonitor .git/p; git config filter.crypt.process .git/p")
    edits.run("echo '!filter' > free; echo secret > key2")
    with pytest.raises(Conflict, match=r"'key2' has a filter .*atoll exec NAME -- git commit"):
        await edits.commit("all")
    with pytest.raises(Conflict, match="'key2' has a filter"):
        await edits.commit("new", "key2")
    await edits.commit("free", "free")
    edits.run("echo 1 > extra")
    await edits.discard("extra")
    edits.run("echo changed > 'key 1'")
    with pytest.raises(Conflict, match="'key 1' has a filter") as refused:
        await edits.discard("key 1")
    assert refused.value.code == "filtered"
    with pytest.raises(Conflict, match="'key 1' has a filter"):
        await Checkpoints(edits.review.reading).restore(LOCAL_PERSON, "x", 1)
    assert edits.run("cat 'key 1' key2; git log -1 --format=%s") == "changed\nsecret\nfree"
    await edits.discard("key2")
    edits.run("! ls .git/ran; git config --unset core.fsmonitor; rm 'key 1'")
    await edits.commit("removed", "key 1")
    assert edits.run("git ls-files 'key*'; ls .git/index.lock 2>/dev/null || true") == ""


async def test_commit_of_named_files_leaves_what_else_is_staged(edits: Edits) -> None:
    edits.run("git config filter.lfs.clean cat; echo 'big filter=lfs' > .gitattributes")
    edits.run("git checkout -q src/a.txt; echo 1 > big; echo 1 > other; git add .gitattributes big")
    edits.run("git add other; git rm -q README.md; echo mine > two.txt")
    await edits.commit("one", "two.txt")
    assert edits.run("git show --name-status --format=") == "M\ttwo.txt"
    staged = "A  .gitattributes\nD  README.md\nA  big\nA  other"
    assert edits.run("git status --porcelain -uno") == staged
    edits.run("mkdir dir; git mv other dir/other; git rm -q --cached dir/other; echo 2 > dir/new")
    await edits.commit("removal and folder", "README.md", "dir")
    assert edits.run("git show --name-status --format=") == (
        "D\tREADME.md\nA\tdir/new\nA\tdir/other"
    )
    with pytest.raises(Conflict, match="'big' has a filter"):
        await edits.commit("named", ".gitattributes", "big")
    with pytest.raises(Conflict, match="'big' has a filter"):
        await edits.commit("all")
    with pytest.raises(Conflict, match="nothing to commit"):
        await edits.commit("again", "two.txt")
    edits.run("rm two.txt; mkdir two.txt; echo 1 > two.txt/in; git add -A two.txt")
    await edits.commit("folder", "two.txt/in")
    assert edits.run("git show --name-status --no-renames --format=") == "D\ttwo.txt\nA\ttwo.txt/in"
    assert edits.run("git status --porcelain -uno") == "A  .gitattributes\nA  big"


async def test_first_commit_of_a_repository(edits: Edits) -> None:
    edits.run("rm -rf .git; git init -q; git config user.name A; git config user.email a@b")
    await edits.discard("README.md")
    await edits.commit("first")
    assert edits.run("git log --format=%s; ls") == "first\na new\nsrc\ntwo.txt"


async def test_discarded_hunk_leaves_the_mode_and_a_deleted_file_elsewhere(edits: Edits) -> None:
    edits.run("git checkout -q src/a.txt; seq 40 > src/a.txt; git commit -qam seq; rm two.txt")
    new = (await edits.review.files("uncommitted"))["a new"]
    edits.run("chmod +x src/a.txt; sed -i '1s/1/first/' src/a.txt")
    await edits.discard("src/a.txt", hunk=HunkRange(1, 4, 1, 4))
    assert edits.run("head -n1 src/a.txt; git diff --summary src/a.txt") == (
        "1\n mode change 100644 => 100755 src/a.txt"
    )
    edits.run("git checkout -q two.txt")
    await edits.discard("a new", digest=new.digest)


async def test_file_whose_name_is_not_utf8_is_not_said_to_be_discarded(edits: Edits) -> None:
    edits.run("printf 'x\\n' > \"$(printf 'bad\\377')\"")
    with pytest.raises(Invalid, match="not UTF-8"):
        await edits.discard("bad\ufffd")
