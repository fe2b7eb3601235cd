"""The tool `total`: the size of a tree before `tar` packs it: FILES BYTES STORED."""

import errno
import os
import stat

from .kernel import open_beneath
from .places import DIRECTORY, enter, leave, names_of, open_parent

MOST = 2**63 - 1
"""The largest count: the static program counts in 64 bits and stops there."""


def do_total(root: int, path: bytes) -> int:
    """Print the sizes of files, and what they take on the disk; unreadable directories count
    nothing."""
    sums = [0, 0, 0]
    try:
        directory = open_beneath(root, path, DIRECTORY)
    except OSError as error:
        if error.errno != errno.ENOTDIR:
            raise
        parent, name = open_parent(root, path)
        _count(os.stat(name, dir_fd=parent, follow_symlinks=False), sums)
    else:
        _tree(directory, sums)
    print(*(min(one, MOST) for one in sums))
    return 0


def _tree(directory: int, sums: list[int]) -> None:
    """Count everything beneath; one descriptor is held, however deep it goes."""
    levels: list[tuple[list[bytes], tuple[int, int]]] = [(names_of(directory), (0, 0))]
    while levels:
        names, was = levels[-1]
        if not names:
            levels.pop()
            directory = leave(directory, was) if levels else directory
            continue
        name = names.pop()
        try:
            seen = os.stat(name, dir_fd=directory, follow_symlinks=False)
            if stat.S_ISDIR(seen.st_mode):
                directory, was = enter(directory, name)
                levels.append((names_of(directory), was))
            else:
                _count(seen, sums)
        except (FileNotFoundError, PermissionError):
            continue


def _count(seen: os.stat_result, sums: list[int]) -> None:
    if stat.S_ISREG(seen.st_mode):
        sums[0] += 1
        sums[1] += seen.st_size
        sums[2] += seen.st_blocks * 512
