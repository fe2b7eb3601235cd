"""Views that reach a pooled sandbox when a request takes it, after its wall was built.

Nothing runs inside by then but init. Where such views belong, it has small folders that may be
written to; they are read-only once the views are there.
"""

import os
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from atoll.domain.wall.interior import LATE_PLACES
from atoll.wire.zygote.messages import View
from atoll.zygote.disk.safe_open import open_below
from atoll.zygote.host import kernel

_READ_ONLY = kernel.MOUNT_ATTR_RDONLY | kernel.MOUNT_ATTR_NOSUID | kernel.MOUNT_ATTR_NODEV


def is_late(view: View) -> bool:
    """Return whether a view can be shown in a wall that stands."""
    place, _, name = view.target.rpartition("/")
    return place in LATE_PLACES and name not in ("", ".", "..")


def attach_views(init: int, views: Iterable[View], *, top: Path, uid: int) -> None:
    """Show `views`, whose sources are below `top`, in the sandbox whose init has the pidfd `init`
    and whose processes are of `uid`. Raises `OSError`, `Invalid`."""
    with ExitStack() as opened:
        trees = [(_open_view(opened, top, view.source), view.target) for view in views]
        with kernel.entered_mounts(init):
            _make_places([target for _tree, target in trees], uid)
            for tree, target in trees:
                kernel.move_mount(tree, target)
            for place in LATE_PLACES:
                _close_place(place)


def _open_view(opened: ExitStack, top: Path, source: str) -> int:
    """Return a descriptor of a read-only mount of a folder, attached nowhere yet."""
    folder = open_below(top, source)
    opened.callback(os.close, folder)
    tree = kernel.open_tree(folder, recursive=True)
    opened.callback(os.close, tree)
    kernel.set_mount(tree, _READ_ONLY, propagation=kernel.MS_PRIVATE, recursive=True)
    return tree


def _make_places(targets: list[str], uid: int) -> None:
    """Make mount points. Their file system knows only the users of the sandbox."""
    if not targets:
        return
    kernel.suspend_root(uid)
    try:
        for target in targets:
            Path(target).mkdir(mode=0o755)
    finally:
        kernel.resume_root()


def _close_place(place: str) -> None:
    folder = os.open(place, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        kernel.set_mount(folder, _READ_ONLY)
    finally:
        os.close(folder)
