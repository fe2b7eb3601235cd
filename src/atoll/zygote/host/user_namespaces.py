"""User namespaces held by a descriptor alone, and mounts that use one (user_namespaces(7))."""

import os
from collections.abc import Callable
from pathlib import Path

from atoll.zygote.host import kernel


def held_namespace(map_ids: Callable[[int], None], *, within: int | None = None) -> int:
    """Return a descriptor of a new user namespace that nobody else holds. `map_ids` is called
    here with a process in it, to write its maps; `within` is the namespace to make it in, in place
    of our own. Raises `OSError`, and what `map_ids` raises."""
    ready, made = os.pipe()
    ended, end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            # Of the pipe that says when to end, only the parent's copy may hold the other side.
            os.close(end)
            if within is not None:
                kernel.setns(within, kernel.CLONE_NEWUSER)
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
        map_ids(pid)
        return os.open(f"/proc/{pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(ready)
        os.close(end)
        os.waitpid(pid, 0)


def write_maps(pid: int, line: str) -> None:
    """Map users and groups of the namespace of `pid` alike. Raises `OSError`."""
    for name in ("uid_map", "gid_map"):
        Path(f"/proc/{pid}/{name}").write_text(line)


def attach_as(tree: int, place: Path, *, uid: int, owner: int | None = None) -> None:
    """Mount the folder `tree` (a descriptor) at `place`, its owner's files, or those of the given
    `owner`, as `uid`'s.

    Nothing on the disk changes, and other users' files belong to nobody (mount_setattr(2)). Needs
    CAP_SYS_ADMIN. Raises `OSError`, with EINVAL where the file system cannot be mapped.
    """
    if owner is None:
        owner = os.fstat(tree).st_uid
    clone = kernel.open_tree(tree)
    try:
        space = held_namespace(lambda pid: write_maps(pid, f"{owner} {uid} 1\n"))
        try:
            kernel.set_mount(clone, kernel.MOUNT_ATTR_IDMAP, userns=space)
        finally:
            os.close(space)
        kernel.move_mount(clone, str(place))
    finally:
        os.close(clone)
