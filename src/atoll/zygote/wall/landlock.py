"""Landlock(7), as typed functions: access rules for a process that needs few files.

A rule names a file or directory by descriptor, so it stays with that file when the name changes.
Files that a process opened before, and descriptors it receives, stay usable. Flags are from
linux/landlock.h; those that a kernel does not know yet are left out.
"""

import contextlib
import ctypes
import os
import stat
from enum import IntFlag

from atoll.zygote.host import kernel

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION = 1
_PATH_BENEATH = 1

PORTS_SINCE, SCOPES_SINCE = 4, 6
"""ABI versions that know TCP ports, and signals with abstract sockets (Linux 6.7, 6.12)."""

_BIND_TCP = 1
_ABSTRACT_SOCKETS, _SIGNALS = 1, 2


class FileRights(IntFlag):
    """Rights to files (LANDLOCK_ACCESS_FS_*)."""

    EXECUTE = 1 << 0
    WRITE_FILE = 1 << 1
    READ_FILE = 1 << 2
    READ_DIR = 1 << 3
    REMOVE_DIR = 1 << 4
    REMOVE_FILE = 1 << 5
    MAKE_CHAR = 1 << 6
    MAKE_DIR = 1 << 7
    MAKE_REG = 1 << 8
    MAKE_SOCK = 1 << 9
    MAKE_FIFO = 1 << 10
    MAKE_BLOCK = 1 << 11
    MAKE_SYM = 1 << 12
    REFER = 1 << 13
    TRUNCATE = 1 << 14
    IOCTL_DEV = 1 << 15


_ALL_OF_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
_OF_FILES = (
    FileRights.EXECUTE
    | FileRights.WRITE_FILE
    | FileRights.READ_FILE
    | FileRights.TRUNCATE
    | FileRights.IOCTL_DEV
)
"""The rights that a rule may name for something that is no directory."""


class _Ruleset(ctypes.Structure):
    """struct landlock_ruleset_attr."""

    _fields_ = (
        ("handled_access_fs", ctypes.c_uint64),
        ("handled_access_net", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


class _PathBeneath(ctypes.Structure):
    """struct landlock_path_beneath_attr, which is packed."""

    _pack_ = 1
    _fields_ = (("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


def abi() -> int:
    """Return the version of Landlock that this kernel offers, 0 where it offers none."""
    try:
        return kernel.call("landlock_create_ruleset", _CREATE_RULESET, None, 0, _ASK_VERSION)
    except OSError:
        return 0


class Ruleset:
    """Rules that refuse every access to files, every TCP port to listen on, and signals and
    abstract sockets of other processes, as far as `version` allows. `allow` makes exceptions for
    files."""

    def __init__(self, version: int) -> None:
        """Create the rules. Raises `OSError`."""
        newest = max(known for known in _ALL_OF_ABI if known <= version)
        self._files = _ALL_OF_ABI[newest]
        wanted = _Ruleset(
            self._files,
            _BIND_TCP if version >= PORTS_SINCE else 0,
            _ABSTRACT_SOCKETS | _SIGNALS if version >= SCOPES_SINCE else 0,
        )
        size = ctypes.sizeof(wanted)
        self._fd = kernel.call(
            "landlock_create_ruleset", _CREATE_RULESET, ctypes.byref(wanted), size, 0
        )

    def allow(self, path: str, access: FileRights) -> bool:
        """Allow `access` to `path` and, if it is a directory, to all beneath it. Returns False for
        a path this process cannot reach; raises `OSError`."""
        try:
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            wanted = int(access) & self._files
            if not stat.S_ISDIR(os.fstat(place).st_mode):
                wanted &= _OF_FILES
            rule = _PathBeneath(wanted, place)
            reference = ctypes.byref(rule)
            kernel.call("landlock_add_rule", _ADD_RULE, self._fd, _PATH_BENEATH, reference, 0)
        finally:
            os.close(place)
        return True

    def enforce(self) -> None:
        """Apply the rules to this thread and its children, permanently. Needs no_new_privs. Raises
        `OSError`."""
        kernel.call("landlock_restrict_self", _RESTRICT_SELF, self._fd, 0)

    def close(self) -> None:
        """Close the descriptor of the rules; rules in force stay."""
        with contextlib.suppress(OSError):
            os.close(self._fd)
