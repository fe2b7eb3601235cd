"""Showing a tree as if another user owned it: mounts with an id mapping (mount_setattr(2)).

Nothing on the disk changes: one user's files are that of another through this mount, and
everybody else's belong to nobody. Needs CAP_SYS_ADMIN and a file system that can.
"""

import os
from pathlib import Path

from atoll.runtime.zygote import kernel


def attach_as(tree: int, place: Path, *, uid: int) -> None:
    """Mount the folder `tree` (a descriptor) at `place`, its owner's files as `uid`'s.
    Raises `OSError`, with EINVAL where the file system cannot be mapped."""
    owner = os.fstat(tree).st_uid
    clone = kernel.open_tree(tree)
    try:
        space = _user_namespace(owner, uid)
        try:
            kernel.set_mount(clone, kernel.MOUNT_ATTR_IDMAP, userns=space)
        finally:
            os.close(space)
        kernel.move_mount(clone, str(place))
    finally:
        os.close(clone)


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
            # Without CAP_SYS_PTRACE the parent could not open the namespace of a closed process.
            with kernel.own_files_in_proc():
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
