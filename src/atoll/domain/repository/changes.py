"""Changes of a working tree against a commit, as git inside a sandbox reports them.

Reads `git status --porcelain=v1 -z --no-renames` and `git diff --raw --numstat -z`. All of it may
have been written by an agent: what cannot be read is skipped, and names are data.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from atoll.wire.words.library import ChangeKind

MAX_FILES = 5000
"""Files listed of one repository; the others are counted."""

_SECTION_BYTES = 1_500_000
"""Bytes of one section that the script prints."""

_UNMERGED = frozenset({"DD", "AU", "UD", "UA", "DU", "AA", "UU"})
_UNTRACKED = "??"


_KINDS = {
    "A": ChangeKind.ADDED,
    "M": ChangeKind.MODIFIED,
    "D": ChangeKind.DELETED,
    "R": ChangeKind.RENAMED,
    "C": ChangeKind.COPIED,
    "T": ChangeKind.RETYPED,
    "U": ChangeKind.UNMERGED,
}


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that differs. `uncommitted` and `untracked` tell how much of it git has; `digest`
    changes whenever the file does. A binary file has sizes in bytes instead of counts, where its
    sides are known."""

    path: str
    kind: ChangeKind
    old_path: str | None = None
    old_mode: str = "000000"
    new_mode: str = "000000"
    additions: int = 0
    deletions: int = 0
    binary: bool = False
    uncommitted: bool = False
    untracked: bool = False
    digest: str = ""
    old_size: int | None = None
    new_size: int | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes of one repository: `files` are the first of `total`, and `commits` counts what HEAD
    has beyond `base`. `digest` changes whenever one of them does."""

    branch: str | None
    head: str | None
    base: str | None
    commits: int
    files: tuple[ChangedFile, ...]
    total: int
    digest: str

    @property
    def additions(self) -> int:
        """Lines added in the listed files."""
        return sum(file.additions for file in self.files)

    @property
    def deletions(self) -> int:
        """Lines removed in the listed files."""
        return sum(file.deletions for file in self.files)


def read_changes(out: bytes, mark: str) -> Changes | None:
    """Return the changes in the output of the script, whose sections end with `mark`; None when
    it is not such an output."""
    sections = [one[:_SECTION_BYTES] for one in out.split(b"\0" + mark.encode() + b"\0", 5)]
    if len(sections) < 4:
        return None
    head = [one.decode("utf-8", "replace") for one in sections[0].split(b"\0")]
    if len(head) < 6:
        return None
    states = _states(_texts(sections[1]))
    stamps = _stamps(sections[3])
    sizes = _sizes(sections[4]) if len(sections) > 4 else {}
    files = _files(_texts(sections[2]))
    # A repository inside the repository is one untracked name that ends with a slash.
    for path, state in states.items():
        if state == _UNTRACKED and path.endswith("/"):
            files[path] = ChangedFile(path, ChangeKind.ADDED)
    read = (
        _with_sizes(_with_state(file, states, stamps), file, stamps, sizes)
        for file in files.values()
    )
    branch, commit, base, commits, total, digest = head[:6]
    # Git counts the old name of a renamed file, too.
    renamed = sum(file.kind is ChangeKind.RENAMED for file in files.values())
    return Changes(
        branch=branch or None,
        head=commit or None,
        base=base or None,
        commits=_parse_count(commits),
        files=tuple(sorted(read, key=lambda file: file.path))[:MAX_FILES],
        total=max(_parse_count(total) - renamed, min(len(files), MAX_FILES)),
        digest=digest,
    )


def _texts(section: bytes) -> list[str]:
    """Return the texts that end with NUL, without a truncated last one."""
    return [one.decode("utf-8", "replace") for one in section.split(b"\0")[:-1]]


def _states(entries: Iterable[str]) -> dict[str, str]:
    return {entry[3:]: entry[:2] for entry in entries if len(entry) > 3}


def _stamps(section: bytes) -> dict[str, str]:
    """Return size, inode and time of change by path; a name with a line break has none."""
    found = {}
    for line in section.decode("utf-8", "replace").split("\n"):
        *stamp, path = line.split("|", 3)
        if len(stamp) == 3:
            found[path] = "|".join(stamp)
    return found


def _sizes(section: bytes) -> dict[str, int]:
    """Return the sizes of git's objects, which are lines `OBJECT SIZE`."""
    lines = (line.split(" ") for line in section.decode("ascii", "replace").split("\n"))
    return {words[0]: _parse_count(words[1]) for words in lines if len(words) == 2}


def _files(texts: list[str]) -> dict[str, ChangedFile]:
    found: dict[str, ChangedFile] = {}
    rest = iter(texts)
    for text in rest:
        if text.startswith(":"):
            file = _parse_raw_line(text, rest)
            if file is not None:
                found[file.path] = file
        else:
            _count(text, rest, found)
    return found


def _parse_raw_line(text: str, rest: Iterator[str]) -> ChangedFile | None:
    """Return the file of `:100644 100755 OLD NEW M`; its names are the next texts of `rest`."""
    words = text[1:].split(" ")
    kind = _KINDS.get(words[4][:1]) if len(words) == 5 else None
    if kind is None:
        return None
    old = next(rest, None) if kind in {ChangeKind.RENAMED, ChangeKind.COPIED} else None
    path = next(rest, None)
    if path is None:
        return None
    # Git looks up the object of an added file only while a deleted one could be its old name.
    new = "" if kind is ChangeKind.ADDED else words[3]
    seed = " ".join((words[0], words[1], words[2], new, kind))
    return ChangedFile(path, kind, old, words[0], words[1], digest=seed)


def _count(text: str, rest: Iterator[str], found: dict[str, ChangedFile]) -> None:
    """Add the counts of `3\\t1\\tpath`; a renamed file's names are the texts that follow."""
    added, removed, path = [*text.split("\t", 2), "", ""][:3]
    if not path:
        next(rest, None)
        path = next(rest, "")
    file = found.get(path)
    if file is None:
        return
    if (added, removed) == ("-", "-"):
        found[path] = replace(file, binary=True)
    else:
        found[path] = replace(file, additions=_parse_count(added), deletions=_parse_count(removed))


def _with_state(file: ChangedFile, states: dict[str, str], stamps: dict[str, str]) -> ChangedFile:
    state = states.get(file.path)
    seed = f"{file.digest}\n{stamps.get(file.path, '')}\n{file.additions} {file.deletions}"
    return replace(
        file,
        kind=ChangeKind.UNMERGED if state in _UNMERGED else file.kind,
        uncommitted=state is not None,
        untracked=state == _UNTRACKED,
        digest=hashlib.sha256(seed.encode()).hexdigest()[:16],
    )


def _with_sizes(
    told: ChangedFile, file: ChangedFile, stamps: dict[str, str], sizes: dict[str, int]
) -> ChangedFile:
    """Return a binary file with its sizes before and after."""
    if not told.binary:
        return told
    old = file.digest.split(" ")[2]
    stamp = stamps.get(file.path)
    now = None if stamp is None else _parse_count(stamp.split("|")[0])
    gone = told.kind is ChangeKind.DELETED
    return replace(told, old_size=sizes.get(old), new_size=None if gone else now)


def _parse_count(text: str) -> int:
    """Return a decimal number of at most 15 digits; 0 for any other text."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 16 else 0
