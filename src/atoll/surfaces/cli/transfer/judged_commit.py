"""Commits of a sandbox, checked in the person's object store before a branch names them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from atoll.domain.errors import Conflict
from atoll.domain.files.outgoing_file import FileDecision, judge, repositories
from atoll.surfaces.cli.transfer.arrived_tree import entry_names
from atoll.surfaces.cli.transfer.local_git import LocalGit
from atoll.surfaces.cli.transfer.sparse import FreeSpace

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
PROGRAM = "100755"
SHOWN = 3


@dataclass(frozen=True, slots=True)
class _Change:
    """A file of the commit that is new or another than in its base."""

    path: str
    before: str
    now: str
    blob: str


def judge_commit(
    git: LocalGit, bases: tuple[str, ...], commit: str, *, repositories_allowed: bool
) -> tuple[str, ...]:
    """Return the changed files that can run something here. Raises `LimitReached` where they do
    not fit the checkout's disk, `Conflict` code `holds_repository` where git would take one of the
    folders for a repository, in this or in any commit on the way."""
    base = bases[0] if bases else EMPTY_TREE
    changes = _changes(git, base, commit)
    size = _size(git, [change.blob for change in changes])
    FreeSpace(git.folder).admit(size, "what changed in this branch, checked out,")
    _check(git, bases, commit, changes, allowed=repositories_allowed)
    return tuple(
        change.path
        for change in changes
        if judge(change.path, frozenset(), executable=_is_new_program(change))
        is FileDecision.FLAGGED
    )


def _changes(git: LocalGit, base: str, commit: str) -> list[_Change]:
    fields = git.ask(
        "diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-ext-diff",
        "--no-textconv", base, commit,
    ).split("\0")  # fmt: skip
    changes = []
    for description, path in zip(fields[0::2], fields[1::2], strict=False):
        before, now, _old, blob, _kind = description.removeprefix(":").split(" ")
        changes.append(_Change(path, before, now, blob))
    return changes


def _size(git: LocalGit, blobs: list[str]) -> int:
    if not blobs:
        return 0
    output = git.ask(
        "cat-file", "--batch-check=%(objecttype) %(objectsize)", stdin="\n".join(blobs).encode()
    )
    # What was taken away has no object, and a submodule's commit is not here.
    lines = (line.split(" ") for line in output.splitlines())
    return sum(int(words[1]) for words in lines if words[0] == "blob")


def _check(
    git: LocalGit, bases: tuple[str, ...], commit: str, changes: list[_Change], *, allowed: bool
) -> None:
    if allowed:
        return
    whole = git.ask("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit).split("\0")
    since = [f"^{base}" for base in bases]
    on_the_way = git.ask(
        "log", "-m", "-z", "--format=", "--name-only", "--no-renames", "--no-ext-diff",
        "--no-textconv", "--no-show-signature", commit, *since, "--",
    ).split("\0")  # fmt: skip
    touched = {path.lstrip("\n") for path in on_the_way} | {change.path for change in changes}
    folders = repositories((*whole, *touched, *_lying_there(git, touched)))
    inside = sorted(path for path in touched if path and judge(path, folders) is FileDecision.STAYS)
    if inside:
        more = f" and {len(inside) - SHOWN} more" if len(inside) > SHOWN else ""
        raise Conflict(
            "these commits hold a git repository among their files, whose settings would run here: "
            f"{', '.join(inside[:SHOWN])}{more}. Nothing was fetched: remove it inside, or add "
            "--with-repositories",
            code="holds_repository",
        )


def _lying_there(git: LocalGit, touched: Iterable[str]) -> Iterator[str]:
    """Yield what lies in the checkout where these files will: git need not know of it."""
    if git.ask("rev-parse", "--is-inside-work-tree") != "true":
        return
    top = Path(git.ask("rev-parse", "--show-toplevel"))
    for folder in {folder for path in touched for folder in PurePosixPath(path).parents}:
        yield from (f"{folder}/{name}" for name in entry_names(top / folder))


def _is_new_program(change: _Change) -> bool:
    return change.now == PROGRAM and change.before != PROGRAM
