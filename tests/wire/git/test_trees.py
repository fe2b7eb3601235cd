"""The description of working trees: what its script prints of real repositories, and how that is
read."""

import subprocess
from pathlib import Path

import pytest

from atoll.wire.contract.trees import MAX_CONFLICTS, TreeReport
from atoll.wire.git.trees import TREES, read_trees
from atoll.wire.words.library import ConflictKind

IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@b")


def git(work: Path, *words: str, code: int = 0) -> str:
    ended = subprocess.run(
        ["git", *IDENTITY, *words], cwd=work, capture_output=True, text=True, check=False
    )
    assert ended.returncode == code, ended.stderr
    return ended.stdout.strip()


def commit(work: Path, path: str, text: str, subject: str = "change") -> None:
    (work / path).write_text(text)
    git(work, "add", "--", path)
    git(work, "commit", "-qm", subject)


def described(work: Path) -> tuple[TreeReport, ...]:
    ended = subprocess.run(["sh", "-c", TREES], cwd=work, capture_output=True, check=True)
    return read_trees(ended.stdout)


def only(work: Path) -> TreeReport:
    (tree,) = described(work)
    return tree


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A branch `fix` of a clone that borrows the objects of a shared repository."""
    shared, work = tmp_path / "shared", tmp_path / "w"
    git(tmp_path, "init", "-qb", "main", str(shared))
    commit(shared, "a", "one\ntwo\nthree\n")
    git(tmp_path, "clone", "-qs", str(shared), str(work))
    git(work, "checkout", "-qb", "fix")
    git(work, "config", "atoll.from", "main")
    return work


def test_script_is_a_shells() -> None:
    read = subprocess.run(["sh", "-n"], input=TREES, text=True, capture_output=True, check=False)
    assert (read.returncode, read.stderr) == (0, "")


def test_tree_without_changes_has_no_mark(work: Path) -> None:
    tree = only(work)
    assert (tree.path, tree.branch, tree.head) == (str(work), "fix", git(work, "rev-parse", "HEAD"))
    assert (tree.commits, tree.plus, tree.minus, tree.uncommitted) == (0, 0, 0, 0)
    assert (tree.mark, tree.conflict) == ("", None)


def test_changes_are_counted_with_files_that_git_does_not_know(work: Path) -> None:
    commit(work, "a", "one\n2\nthree\n")
    (work / "b").write_text("x\ny\n")
    tree = only(work)
    assert (tree.commits, tree.plus, tree.minus, tree.uncommitted) == (1, 3, 1, 1)


def test_mark_names_the_change_however_it_is_committed(work: Path) -> None:
    (work / "a").write_text("one\n2\nthree\n")
    (work / "b").write_text("x\n")
    mark = only(work).mark
    assert len(mark) == 40
    git(work, "add", "a", "b")
    assert only(work).mark == mark
    git(work, "commit", "-qm", "both")
    assert only(work).mark == mark
    (work / "b").write_text("y\n")
    assert only(work).mark not in ("", mark)


def test_mark_outlives_a_rebase_onto_newer_commits(work: Path) -> None:
    commit(work, "a", "one\n2\nthree\n")
    mark = only(work).mark
    head = only(work).head
    commit(work.parent / "shared", "a", "-\none\ntwo\nthree\n")
    git(work, "fetch", "-q", "origin")
    git(work, "rebase", "-q", "origin/main")
    tree = only(work)
    assert tree.head != head
    assert tree.mark == mark


def conflict(work: Path) -> None:
    """Stop a rebase of `fix` at a conflict."""
    commit(work, "a", "mine\n")
    commit(work.parent / "shared", "a", "theirs\n")
    git(work, "fetch", "-q", "origin")
    git(work, "update-ref", "refs/remotes/atoll/main", "origin/main")
    git(work, "rebase", "-q", "origin/main", code=1)


def test_rebase_that_stopped_is_a_conflict_with_its_files(work: Path) -> None:
    conflict(work)
    tree = only(work)
    assert (tree.conflict, tree.onto, tree.branch) == (ConflictKind.REBASE, "main", "fix")
    assert (tree.files, tree.more) == (("a",), 0)
    (work / "a").write_text("both\n")
    git(work, "add", "a")
    tree = only(work)
    assert (tree.conflict, tree.files) == (ConflictKind.REBASE, ())
    git(work, "-c", "core.editor=true", "rebase", "--continue")
    assert only(work).conflict is None


def test_rebase_that_was_given_up_is_none(work: Path) -> None:
    conflict(work)
    git(work, "rebase", "--abort")
    assert only(work).conflict is None


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (("merge", "other"), ConflictKind.MERGE),
        (("cherry-pick", "other"), ConflictKind.CHERRY_PICK),
    ],
)
def test_other_commands_that_stopped_are_conflicts(
    work: Path, words: tuple[str, ...], kind: ConflictKind
) -> None:
    git(work, "checkout", "-qb", "other")
    commit(work, "a", "other\n")
    git(work, "checkout", "-q", "fix")
    commit(work, "a", "mine\n")
    git(work, *words, code=1)
    tree = only(work)
    assert (tree.conflict, tree.onto, tree.branch, tree.files) == (kind, "other", "fix", ("a",))


def test_hostile_names_are_data(work: Path) -> None:
    name = "a\nb\x1b[2J$(touch pwned)"
    git(work, "checkout", "-qb", "it's;$(id)")
    conflict_of(work, name)
    tree = only(work)
    assert (tree.branch, tree.files) == ("it's;$(id)", (name,))
    assert not (work / "pwned").exists()


def conflict_of(work: Path, path: str) -> None:
    git(work, "checkout", "-qb", "other")
    commit(work, path, "other\n")
    git(work, "checkout", "-q", "-")
    commit(work, path, "mine\n")
    git(work, "merge", "other", code=1)


def test_files_in_conflict_are_bounded(work: Path) -> None:
    names = [f"f{number:03}" for number in range(MAX_CONFLICTS + 7)]
    for branch, text in (("other", "o"), ("fix", "m")):
        git(work, "checkout", "-q", *(("-b",) if branch == "other" else ()), branch)
        for name in names:
            (work / name).write_text(f"{text}\n")
        git(work, "add", ".")
        git(work, "commit", "-qm", branch)
    git(work, "merge", "other", code=1)
    tree = only(work)
    assert (len(tree.files), tree.more) == (MAX_CONFLICTS, 7)


def test_hooks_and_filters_of_the_repository_do_not_run(work: Path) -> None:
    ran = work.parent / "ran"
    git(work, "config", "core.fsmonitor", f"touch {ran}")
    git(work, "config", "filter.x.clean", f"touch {ran}; cat")
    git(work, "config", "diff.x.textconv", f"touch {ran}; cat")
    (work / ".gitattributes").write_text("* filter=x diff=x\n")
    (work / "a").write_text("changed\n")
    assert only(work).uncommitted == 2
    assert not ran.exists()


def test_repositories_of_a_workspace_are_described_in_their_order(tmp_path: Path) -> None:
    for name in ("one", "two", "deep/three"):
        git(tmp_path, "init", "-qb", "main", name)
    paths = [Path(tree.path).name for tree in described(tmp_path)]
    assert paths == ["one", "two", "three"]
    assert described(tmp_path / "one")[0].head == ""


@pytest.mark.parametrize(
    "printed",
    [
        b"",
        b"\0" * 11,
        b"/w\0fix\0h\0x\x000\x000\x000\0m\0\0\x000\0\0",
        b"/w\0fix\0h\x000\x000\x000\x000\0m\0sings\0\x000\0\0",
        b"/w\0fix",
        b"/w\0fix\0h\0x\x000\x000\x000\0m\0\0\x001\0a.txt",
    ],
)
def test_output_that_cannot_be_read_describes_nothing(printed: bytes) -> None:
    assert read_trees(printed) == ()
