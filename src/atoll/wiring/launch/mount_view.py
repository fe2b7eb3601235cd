"""File system view of Atoll's own processes: as much as they need of private directories.

The interpreter, the packages or the home may lie below a folder closed to others, such
as root's own home. Then, in a private mount namespace, an empty folder covers it and
only the needed paths come back at their places: foreign uids can pass, and nothing else of
the folder is there.
"""

from pathlib import Path

from atoll.zygote.disk.own_places import own_places
from atoll.zygote.disk.storage import enter_private_mounts
from atoll.zygote.wall.covers import closed_to_others, find_covers, mount_cover


def enter(home: Path) -> None:
    """Enter a mount namespace of our own and cover what is closed. As root only; raises
    `OSError` where the kernel refuses."""
    wanted = find_covers(own_places(home), closed_to_others)
    enter_private_mounts()
    for cover in wanted:
        mount_cover(cover)


def enter_if_closed(home: Path) -> None:
    """Do the same where something is closed. Elsewhere a process that mounts nothing itself, such
    as the control plane, needs no privilege for it."""
    if find_covers(own_places(home), closed_to_others):
        enter(home)
