"""Commits and branches of a repository, as git inside a sandbox reports them.

All of it may have been written by an agent: what cannot be read is skipped, and texts are data.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from atoll.wire.words.library import RefKind

MAX_REFS: Final = 200
"""Branches and tags listed of one repository, the newest."""

MAX_PARENTS: Final = 16
MAX_WORDS: Final = 300
"""Characters shown of a subject, a name or an address."""

MAX_MESSAGE: Final = 20_000
"""Characters shown of a whole message."""

_MAX_TIME: Final = 253_402_300_799
_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_COMMIT_FIELDS: Final = 6


_KINDS: Final = {
    "refs/heads/": RefKind.BRANCH,
    "refs/remotes/": RefKind.REMOTE,
    "refs/tags/": RefKind.TAG,
}


@dataclass(frozen=True, slots=True)
class CommitRef:
    """A branch, a remote's branch or a tag, and its commit."""

    name: str
    kind: RefKind
    commit: str


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit; `parents` are its first 16."""

    commit: str
    parents: tuple[str, ...]
    author: str
    email: str
    at: datetime
    subject: str


@dataclass(frozen=True, slots=True)
class History:
    """A part of a repository's history, children before their parents. `digest` changes whenever a
    branch moves; there is `more` behind the last commit."""

    branch: str | None
    head: str | None
    digest: str
    refs: tuple[CommitRef, ...]
    commits: tuple[Commit, ...]
    more: bool


def read_history(out: bytes, mark: str, limit: int) -> History | None:
    """Return the first `limit` commits in the output of the script, whose sections end with `mark`;
    None when it is not such an output."""
    sections = out.split(b"\0" + mark.encode() + b"\0", 3)
    head = _texts(sections[0] + b"\0")
    if len(sections) < 3 or len(head) < 3:
        return None
    commits = tuple(_commits(_texts(sections[2])))
    return History(
        branch=_clip(head[0]) or None,
        head=head[1] if _ID.fullmatch(head[1]) else None,
        digest=head[2] if _ID.fullmatch(head[2]) else "",
        refs=tuple(_refs(_texts(sections[1])))[:MAX_REFS],
        commits=commits[:limit],
        more=len(commits) > limit,
    )


def read_commit(section: bytes) -> tuple[Commit, str] | None:
    """Return a commit and its whole message; None when it is not one."""
    texts = _texts(section + b"\0")
    if len(texts) < _COMMIT_FIELDS:
        return None
    commit = _commit(texts[: _COMMIT_FIELDS - 1], texts[_COMMIT_FIELDS - 1].split("\n", 1)[0])
    return None if commit is None else (commit, texts[_COMMIT_FIELDS - 1].strip()[:MAX_MESSAGE])


def _texts(section: bytes) -> list[str]:
    """Return the texts that end with NUL, without a truncated last one."""
    return [one.decode("utf-8", "replace") for one in section.split(b"\0")[:-1]]


def _refs(texts: list[str]) -> Iterator[CommitRef]:
    """Yield the refs of OBJECT, PEELED OBJECT ("" where it is none) and NAME."""
    for found, peeled, name in zip(texts[::3], texts[1::3], texts[2::3], strict=False):
        commit = peeled or found
        for prefix, kind in _KINDS.items():
            if name.strip().startswith(prefix) and _ID.fullmatch(commit):
                yield CommitRef(_clip(name.strip().removeprefix(prefix)), kind, commit)


def _commits(texts: list[str]) -> Iterator[Commit]:
    rows = zip(*(texts[start::_COMMIT_FIELDS] for start in range(_COMMIT_FIELDS)), strict=False)
    for *fields, subject in rows:
        commit = _commit(fields, subject)
        if commit is not None:
            yield commit


def _commit(fields: list[str], subject: str) -> Commit | None:
    """Return a commit of its id, parents, author, address and time."""
    name, parents, author, email, at = fields
    known = tuple(one for one in parents.split() if _ID.fullmatch(one))
    if not _ID.fullmatch(name) or not (at.isascii() and at.isdecimal() and len(at) < 16):
        return None
    moment = datetime.fromtimestamp(min(int(at), _MAX_TIME), UTC)
    return Commit(name, known[:MAX_PARENTS], _clip(author), _clip(email), moment, _clip(subject))


def _clip(text: str) -> str:
    return text[:MAX_WORDS]
