"""A range of subordinate uids for a test's user, without a change to the machine.

In a mount namespace of its own a process sees an /etc/passwd that names the user, and an
/etc/subuid and /etc/subgid with a range for it. As root only.
"""

import os
import shutil
from pathlib import Path

from atoll.zygote.disk.storage import enter_private_mounts
from atoll.zygote.host import kernel
from atoll.zygote.wall.subordinate_uids import PROGRAMS, SYSTEM_PATH

RANGE = 65536
_FIRST = 2_200_000_000
_RANGES = 20_000


def range_of(uid: int) -> range:
    """Return the range of a test's user: above all uids that Atoll or useradd give out."""
    first = _FIRST + uid % _RANGES * RANGE
    return range(first, first + RANGE)


def why_not() -> str:
    """Return what a test lacks for a range; empty when it can have one."""
    if os.geteuid() != 0:
        return "needs root, to give a user a range"
    missing = [each for each in PROGRAMS if shutil.which(each, path=SYSTEM_PATH) is None]
    return f"needs {' and '.join(missing)}" if missing else ""


def enter(uid: int, folder: Path, *, count: int = RANGE) -> None:
    """Give `uid` a name, `folder` as its home, and `count` ids of its range. Raises `OSError`."""
    name = f"t{uid}"
    line = f"{name}:{range_of(uid).start}:{count}\n"
    texts = {
        "passwd": Path("/etc/passwd").read_text() + f"{name}:x:{uid}:{uid}::{folder}:/bin/sh\n",
        "subuid": line,
        "subgid": line,
    }
    enter_private_mounts()
    kernel.mount("atoll", "/mnt", "tmpfs", data="mode=0755,size=1m")
    for file, text in texts.items():
        made, place = Path("/mnt") / file, Path("/etc") / file
        made.write_text(text)
        made.chmod(0o644)
        kernel.mount(str(made), str(place), flags=kernel.MS_BIND)
    kernel.unmount("/mnt")
