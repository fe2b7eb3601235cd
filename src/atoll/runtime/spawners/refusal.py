"""An errno from inside, said as an error a person can act on."""

import errno
import os

from atoll.domain.errors import (
    AtollError,
    Conflict,
    Failed,
    Forbidden,
    Invalid,
    LimitReached,
    NotFound,
)

_PROGRAM_KINDS = {
    errno.ENOENT: "no_such_program",
    errno.ENOTDIR: "no_such_program",
    errno.EACCES: "not_executable",
    errno.ENOEXEC: "not_executable",
    errno.EISDIR: "not_executable",
    errno.E2BIG: "too_long",
    errno.ELOOP: "no_such_program",
    errno.ENAMETOOLONG: "no_such_program",
}

_KINDS: dict[int, tuple[type[AtollError], str, str]] = {
    errno.ENOENT: (NotFound, "no_such_file", "there is no such file or directory"),
    errno.ENOTDIR: (Invalid, "not_a_directory", "a part of it is not a directory"),
    errno.EISDIR: (Invalid, "is_a_directory", "it is a directory"),
    errno.EXDEV: (
        Forbidden,
        "outside_workspace",
        "it leads out of the workspace, as every link to an absolute path does",
    ),
    errno.ELOOP: (Invalid, "is_a_link", "its symbolic links lead in a circle"),
    errno.EACCES: (Forbidden, "no_permission", "its mode does not allow it"),
    errno.EPERM: (Forbidden, "no_permission", "the sandbox does not allow it"),
    errno.EROFS: (Forbidden, "read_only", "it lies on a read-only file system"),
    errno.ENAMETOOLONG: (Invalid, "invalid_path", "the name is too long"),
    errno.EINVAL: (Invalid, "invalid_path", "that cannot be done with this path"),
    errno.ENXIO: (Invalid, "not_a_file", "it is a pipe, socket or device"),
    errno.ENODEV: (Invalid, "not_a_file", "it is a pipe, socket or device"),
    errno.EEXIST: (Conflict, "exists", "something of that name is already there"),
    errno.ENOTEMPTY: (Conflict, "not_empty", "the directory is not empty (ask for recursive)"),
    errno.EBUSY: (Conflict, "busy", "it is in use as a mount"),
    errno.ETXTBSY: (Conflict, "busy", "it is being executed"),
    errno.ESTALE: (Conflict, "moved", "it was moved away meanwhile; try again"),
    errno.ENOSPC: (LimitReached, "no_space", "the sandbox has no space left: delete something"),
    errno.EDQUOT: (LimitReached, "no_space", "the sandbox has no space left: delete something"),
    errno.EFBIG: (LimitReached, "no_space", "the file would be too large"),
    errno.EMFILE: (LimitReached, "too_many_open", "too many files are open in the sandbox"),
    errno.ENFILE: (LimitReached, "too_many_open", "too many files are open on this machine"),
    errno.EAGAIN: (
        LimitReached,
        "too_many_processes",
        "the sandbox is full of processes: end some",
    ),
    errno.ENOMEM: (LimitReached, "no_memory", "the sandbox has no memory left"),
    errno.EMSGSIZE: (Invalid, "too_long", "the request is too long"),
    errno.ENOTSOCK: (Invalid, "not_a_socket", "it is no socket"),
    errno.EPROTOTYPE: (Invalid, "not_a_socket", "it is a socket of another type"),
    errno.ECONNREFUSED: (Conflict, "nobody_listens", "nothing listens there"),
}


def refusal(number: int, *, what: str, field: str | None = None) -> AtollError:
    """Return the error for `errno`, where `what` describes the operation: `"open 'a/b'"`."""
    kind, code, why = _KINDS.get(number, (Failed, "failed", os.strerror(number)))
    return kind(f"cannot {what}: {why}", code=code, field=field)


def bad_directory(number: int, cwd: str) -> AtollError:
    """Return the error for a working directory that could not be entered."""
    return Invalid(
        f"cannot start in {cwd!r}: {os.strerror(number)}; name a directory inside the sandbox",
        code="no_such_directory",
        field="cwd",
    )


def bad_program(number: int, program: str) -> AtollError:
    """Return the error for a program that could not be executed."""
    code = _PROGRAM_KINDS.get(number)
    if code is None:
        return refusal(number, what=f"run {program!r}", field="argv")
    return Invalid(
        f"cannot run {program!r}: {os.strerror(number)}; check the name and the sandbox's PATH",
        code=code,
        field="argv",
    )
