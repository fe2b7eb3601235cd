"""Showing a tree as if another user owned it: mounts with an id mapping (mount_setattr(2)).

Nothing on the disk changes: one user's files are that of another through this mount, and
everybody else's belong to nobody. Needs CAP_SYS_ADMIN and a file system that can.
"""

import ctypes
import os
from pathlib import Path

from atoll.runtime.zygote import kernel

_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
"""The same on every architecture (asm-generic/unistd.h)."""

_OPEN_TREE_CLONE = 1
_MOVE_MOUNT_F_EMPTY_PATH = 4
_MOUNT_ATTR_IDMAP = 0x00100000
_AT_EMPTY_PATH = 0x1000
_AT_FDCWD = -100

_libc = ctypes.CDLL(None, use_errno=True)


class _MountAttr(ctypes.Structure):
    """struct mount_attr."""

    _fields_ = (
        ("attr_set", ctypes.c_uint64),
        ("attr_clr", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("userns_fd", ctypes.c_uint64),
    )


def attach_as(tree: int, place: Path, *, uid: int) -> None:
    """Mount the folder `tree` (a descriptor) at `place`, its owner's files as `uid`'s.
    Raises `OSError`, with EINVAL where the file system cannot be mapped."""
    owner = os.fstat(tree).st_uid
    clone = _call("open_tree", _OPEN_TREE, tree, b"", _OPEN_TREE_CLONE | _AT_EMPTY_PATH)
    try:
        space = _user_namespace(owner, uid)
        try:
            wanted = _MountAttr(_MOUNT_ATTR_IDMAP, 0, 0, space)
            size = ctypes.sizeof(wanted)
            flags = _AT_EMPTY_PATH
            _call("mount_setattr", _MOUNT_SETATTR, clone, b"", flags, ctypes.byref(wanted), size)
        finally:
            os.close(space)
        target = os.fsencode(place)
        _call("move_mount", _MOVE_MOUNT, clone, b"", _AT_FDCWD, target, _MOVE_MOUNT_F_EMPTY_PATH)
    finally:
        os.close(clone)


def _call(name: str, number: int, *arguments: object) -> int:
    result: int = _libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
    return result


def _user_namespace(inside: int, outside: int) -> int:
    """A descriptor of a user namespace that maps one id to one other, held by nobody else."""
    ready, made = os.pipe()
    ended, end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            # Of the pipe that says when to end, only the parent's copy may hold the other side.
            os.close(end)
            kernel.unshare(kernel.CLONE_NEWUSER)
            os.write(made, b"1")
            os.read(ended, 1)
        finally:
            os._exit(0)
    os.close(made)
    os.close(ended)
    try:
        if os.read(ready, 1) != b"1":
            raise OSError("a user namespace cannot be made here")
        for name in ("uid_map", "gid_map"):
            Path(f"/proc/{pid}/{name}").write_text(f"{inside} {outside} 1\n")
        return os.open(f"/proc/{pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(ready)
        os.close(end)
        os.waitpid(pid, 0)
