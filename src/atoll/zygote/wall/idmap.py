"""Showing a tree as if another user owned it: mounts with an id mapping (mount_setattr(2)).

Nothing on the disk changes: one user's files are that of another through this mount, and
everybody else's belong to nobody. Needs CAP_SYS_ADMIN and a file system that can.
"""

import os
from pathlib import Path

from atoll.zygote.daemon import kernel
from atoll.zygote.wall.user_namespaces import held_namespace, write_maps


def attach_as(tree: int, place: Path, *, uid: int) -> None:
    """Mount the folder `tree` (a descriptor) at `place`, its owner's files as `uid`'s.
    Raises `OSError`, with EINVAL where the file system cannot be mapped."""
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
