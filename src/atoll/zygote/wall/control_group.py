"""The control group of a control plane, beside those of the sandboxes, and that of its machines.

Strangers send it their bytes. Without a group of its own, one that is made to grow would take the
memory of the machine, and with it the sandboxes. With one the control plane alone ends. Whatever
supervises it starts it again; runtimes and terminals do not notice.

Virtual machines that it starts outlive it and have a size of their own, so they are in another.
"""

import contextlib
import os
from pathlib import Path

from atoll.domain.size import MIB
from atoll.zygote.host.home import Home
from atoll.zygote.host.own_settings import read_own_settings
from atoll.zygote.wall.cgroups import UNBOUNDED, GroupLimits, Groups, members
from atoll.zygote.wall.hierarchies import hierarchies

NAME = "control"
MACHINES = "machines"
_ZYGOTE = "zygote"
_MOST = ("memory.max", "memory.limit_in_bytes")


def is_own(name: str) -> bool:
    """Report whether a group is none of a sandbox: the zygote's, the machines', or one of a control
    plane."""
    return name in (_ZYGOTE, NAME, MACHINES) or name.startswith(f"{NAME}.")


def enter(zygote: int | None, home: Home, replica: str | None) -> bool:
    """Move this process into a group with `control_memory_mb` of memory, beside the groups of the
    home's zygote, and return whether that bounds it. Never raises: without permission the process
    stays where it is, which `atoll doctor` reports."""
    if zygote is None:
        return False
    limits = GroupLimits(read_own_settings(home).control_memory_mb * MIB, None, None)
    name = NAME if replica is None else f"{NAME}.{replica}"
    bounded = False
    for version, base in _bases(zygote, home.tag):
        with contextlib.suppress(OSError):
            (group,) = Groups(((version, base),), frozenset()).make(name, limits)
            (group / "cgroup.procs").write_text("0")
            bounded = True
    return bounded


def open_machines(zygote: int | None, home: Home) -> int | None:
    """Return the open `cgroup.procs` of the group of virtual machines, None without permission. Who
    writes 0 to it joins: the kernel goes by who opened it, so it is opened before privileges are
    dropped (kernel/cgroup/cgroup.c, `cgroup_procs_write`)."""
    for version, base in [] if zygote is None else _bases(zygote, home.tag):
        with contextlib.suppress(OSError):
            (group,) = Groups(((version, base),), frozenset()).make(MACHINES, UNBOUNDED)
            return os.open(group / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC)
    return None


def limit_of(pid: int, zygote: int, home: Home) -> int | None:
    """Return the bytes of memory that a control plane may take; None where no group of ours bounds
    it."""
    for _version, base in _bases(zygote, home.tag):
        for group in base.glob(f"{NAME}*"):
            if is_own(group.name) and pid in members(group):
                return _limit(group)
    return None


def _bases(zygote: int, tag: str) -> list[tuple[int, Path]]:
    """Return the folders of the home's groups in the hierarchies that count memory."""
    found = []
    with contextlib.suppress(OSError):
        for one in hierarchies(Path(f"/proc/{zygote}")):
            base = one.base(tag)
            if base.is_dir() and (one.version == 2 or "memory" in one.controllers):
                found.append((one.version, base))
    return [(version, base) for version, base in found if version == 1 or _counts_memory(base)]


def _counts_memory(base: Path) -> bool:
    """Report whether groups below a folder of v2 count memory."""
    with contextlib.suppress(OSError):
        return "memory" in (base / "cgroup.subtree_control").read_text().split()
    return False


def _limit(group: Path) -> int | None:
    for name in _MOST:
        with contextlib.suppress(OSError, ValueError):
            return int((group / name).read_text())
    return None
