"""Files of the person's checkout that a project file wants inside.

A path comes from the repository. So each of its names is opened below the one before, without
following a link, and only a regular file of bounded size is read. What looks like a secret stays
here: it is offered to the vault instead.
"""

import errno
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from atoll.domain.errors import Invalid
from atoll.domain.files.secret_look import secret_reason

MAX_BYTES = 10 * 2**20
"""The largest file."""

MAX_ALL_BYTES = 32 * 2**20
"""The bound on all files of a project together."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class ProjectCopy:
    """A file to send: its path in the checkout and in the repository inside."""

    path: str
    data: bytes = field(repr=False)
    mode: int = 0o644


@dataclass(frozen=True, slots=True)
class CopySelection:
    """The files of a project: those to send, those that look like secrets with the reason, and
    those that cannot be sent, with the reason."""

    sent: tuple[ProjectCopy, ...] = ()
    secret: tuple[tuple[ProjectCopy, str], ...] = ()
    refused: tuple[tuple[str, str], ...] = ()


def find_copies(checkout: Path, paths: Iterable[str]) -> CopySelection:
    """Read the files below `checkout`. Raises nothing: what cannot be sent is listed."""
    sent: list[ProjectCopy] = []
    secret: list[tuple[ProjectCopy, str]] = []
    refused: list[tuple[str, str]] = []
    total = 0
    for path in paths:
        try:
            copy = read_copy(checkout, path)
        except Invalid as problem:
            refused.append((path, problem.message))
            continue
        total += len(copy.data)
        reason = secret_reason(path, copy.data)
        if total > MAX_ALL_BYTES:
            refused.append((path, f"all files together are larger than {MAX_ALL_BYTES} bytes"))
        elif reason is not None:
            secret.append((copy, reason))
        else:
            sent.append(copy)
    return CopySelection(tuple(sent), tuple(secret), tuple(refused))


def read_copy(checkout: Path, path: str) -> ProjectCopy:
    """Read one file below `checkout`. Raises `Invalid` for `..`, a link anywhere on the way, what
    is no regular file, and a file that is too large."""
    names = path.split("/")
    if path.startswith("/") or any(name in ("", ".", "..") or "\0" in name for name in names):
        raise Invalid("it is no path below the checkout")
    if any(name.casefold() == ".git" for name in names):
        raise Invalid("git's own files stay here")
    at = os.open(checkout, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in names[:-1]:
            below = os.open(name, _FOLDER, dir_fd=at)
            os.close(at)
            at = below
        return _content(path, os.open(names[-1], _FILE, dir_fd=at))
    except OSError as problem:
        why = "a link or something other than a folder is on its way" if _met_link(problem) else ""
        raise Invalid(why or f"it cannot be read: {problem.strerror}") from problem
    finally:
        os.close(at)


def _met_link(problem: OSError) -> bool:
    return isinstance(problem, NotADirectoryError) or problem.errno == errno.ELOOP


def _content(path: str, descriptor: int) -> ProjectCopy:
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise Invalid("it is no regular file")
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise Invalid(f"it is larger than {MAX_BYTES >> 20} MiB")
    return ProjectCopy(path, data, 0o755 if status.st_mode & 0o100 else 0o644)
