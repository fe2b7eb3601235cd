"""A sandbox's control groups: limits, and a kill that no process escapes.

Works on v1, v2 and both at once, with whatever this process may write; what is missing is reported.
A throttled group dies slowly, so a kill lifts the quota first. SIGKILL has no effect on a task
frozen by v1 until it thaws.
"""

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from atoll.domain.wall.interior import (
    DEFAULT_FILES,
    DEFAULT_MEMORY_BYTES,
    DEFAULT_NETLINK,
    DEFAULT_PIDS,
    SOCKET_BYTES,
    default_cpu_millis,
)
from atoll.wire.zygote.messages import Limits
from atoll.zygote.wall.hierarchies import Hierarchy, hierarchies

CPU_PERIOD_US = 100_000
DISK_WEIGHT = 50
"""A sandbox's share of the disk in the terms of cgroup v2: half of what other groups have."""

_DISK_WEIGHTS = {1: ("blkio.bfq.weight", "blkio.weight"), 2: ("io.weight", "io.bfq.weight")}
_DISK = frozenset({"io", "blkio"})
_CPU_QUOTAS = ("cpu.cfs_quota_us", "cpu.max")
FREEZE_SECONDS = 1.0
LEAVE_SECONDS = 10.0
_POLL_SECONDS = 0.002

_Base = tuple[int, Path]


@dataclass(frozen=True, slots=True)
class GroupLimits:
    """Limits of one sandbox or runtime; None is no limit. Groups enforce the first three, the wall
    the next two. `weight` is a share of the processor, `disk_weight` one of the disk, in units of
    cgroup v2: 100 is usual."""

    memory_bytes: int | None
    pids: int | None
    cpu_millis: int | None
    files: int = DEFAULT_FILES
    netlink: int = DEFAULT_NETLINK
    weight: int | None = None
    disk_weight: int | None = None


UNBOUNDED = GroupLimits(None, None, None)
"""For a sandbox in which nothing can run yet."""


def caps(limits: Limits) -> GroupLimits:
    """Return the limits of a sandbox, with defaults in place of missing ones."""
    return GroupLimits(
        memory_bytes=limits.memory_bytes or DEFAULT_MEMORY_BYTES,
        pids=limits.pids or DEFAULT_PIDS,
        cpu_millis=limits.cpu_millis or default_cpu_millis(len(os.sched_getaffinity(0))),
        files=limits.files or DEFAULT_FILES,
        netlink=DEFAULT_NETLINK if limits.netlink is None else limits.netlink,
        disk_weight=DISK_WEIGHT,
    )


@dataclass(frozen=True, slots=True)
class Groups:
    """Control groups of a home: the base directories by hierarchy, and the controllers they
    provide."""

    bases: tuple[tuple[int, Path], ...]
    gives: frozenset[str]

    def degraded(self) -> tuple[str, ...]:
        """Return a sentence for each limit that cannot be set here. Processes are not among them:
        without a cgroup init bounds them by RLIMIT_NPROC, counted per user namespace."""
        why = "no delegated cgroup"
        return tuple(f"{name}: {why}" for name in ("memory", "cpu") if not self.has(name))

    def has(self, controller: str) -> bool:
        """Return whether a limit of this kind is enforced."""
        return controller in self.gives

    @property
    def weighs_disk(self) -> bool:
        """True where groups have a weight for the disk. The disk's scheduler decides whether it
        counts."""
        return bool(self.gives & _DISK)

    def paths(self, name: str) -> list[Path]:
        """Return a sandbox's group in each hierarchy, whether it exists or not."""
        return [base / name for _version, base in self.bases]

    def make(self, name: str, caps: GroupLimits) -> list[Path]:
        """Make a sandbox's groups where they are missing, and set their limits. Raises
        `OSError`."""
        made = []
        for version, base in self.bases:
            group = base / name
            group.mkdir(exist_ok=True)
            for file, value in _settings(version, caps):
                if (group / file).exists():
                    (group / file).write_text(value)
            made.append(group)
        return made


def _settings(version: int, caps: GroupLimits) -> list[tuple[str, str]]:
    settings: list[tuple[str, str]] = []
    if caps.memory_bytes is not None:
        if version == 1:
            settings += [
                ("memory.limit_in_bytes", str(caps.memory_bytes)),
                ("memory.memsw.limit_in_bytes", str(caps.memory_bytes)),
                ("memory.kmem.tcp.limit_in_bytes", str(min(caps.memory_bytes, SOCKET_BYTES))),
            ]
        else:
            settings += [("memory.max", str(caps.memory_bytes)), ("memory.swap.max", "0")]
    if caps.pids is not None:
        settings.append(("pids.max", str(caps.pids)))
    if caps.cpu_millis is not None:
        quota = caps.cpu_millis * CPU_PERIOD_US // 1000
        if version == 1:
            settings += [
                ("cpu.cfs_period_us", str(CPU_PERIOD_US)),
                ("cpu.cfs_quota_us", str(quota)),
            ]
        else:
            settings.append(("cpu.max", f"{quota} {CPU_PERIOD_US}"))
    if caps.weight is not None:
        # cpu.shares is 1024 where cpu.weight is 100.
        one, two = ("cpu.shares", caps.weight * 1024 // 100), ("cpu.weight", caps.weight)
        settings.append((one[0], str(one[1])) if version == 1 else (two[0], str(two[1])))
    if caps.disk_weight is not None:
        settings += _disk_settings(version, caps.disk_weight)
    return settings


def _disk_settings(version: int, weight: int) -> list[tuple[str, str]]:
    """Return a weight in the units of BFQ, of CFQ (blkio.weight, where 500 is usual) and of
    iocost."""
    if version == 1:
        return [("blkio.bfq.weight", str(weight)), ("blkio.weight", str(5 * weight))]
    return [("io.weight", f"default {weight}"), ("io.bfq.weight", str(weight))]


def prepare(tag: str) -> Groups:
    """Make this home's bases wherever this process may. Never raises."""
    bases: list[_Base] = []
    given: dict[Path, frozenset[str]] = {}
    for hierarchy in hierarchies():
        if hierarchy.version == 1 and not hierarchy.controllers:
            continue
        base = hierarchy.base(tag)
        try:
            base.mkdir(exist_ok=True)
            handed = _handed_down(hierarchy, base)
            probe = base / "probe"
            probe.mkdir(exist_ok=True)
            os.close(os.open(probe / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC))
            if not any((probe / name).exists() for name in _CPU_QUOTAS):
                handed -= {"cpu"}  # a kernel without CONFIG_CFS_BANDWIDTH
            if not any((probe / name).exists() for name in _DISK_WEIGHTS[hierarchy.version]):
                handed -= _DISK
            probe.rmdir()
            if hierarchy.version == 1 and not handed:
                # Nothing to set: joining it would only cost time at every start.
                base.rmdir()
                continue
        except OSError:
            continue
        bases.append((hierarchy.version, base))
        given[base] = handed
    gives = frozenset[str]().union(*given.values())
    return Groups(tuple(_drop_needless(bases, given)), gives)


def _drop_needless(bases: list[_Base], given: dict[Path, frozenset[str]]) -> list[_Base]:
    """Return the bases without a v2 one that only adds a kill which v1 has too: joining it costs
    every start a grace period of the kernel."""
    freezable = any(version == 1 and "freezer" in given[base] for version, base in bases)
    kept = []
    for version, base in bases:
        if version == 2 and freezable and given[base] <= {"freezer"}:
            with contextlib.suppress(OSError):
                base.rmdir()
        else:
            kept.append((version, base))
    return kept


def _handed_down(hierarchy: Hierarchy, base: Path) -> frozenset[str]:
    """Return the controllers that groups below `base` have."""
    if hierarchy.version == 1:
        return hierarchy.controllers
    for group in (base.parent, base):
        for name in ("memory", "pids", "cpu", "io"):
            # Refused while processes are in a group that is not the root: then v2 only kills.
            with contextlib.suppress(OSError):
                (group / "cgroup.subtree_control").write_text(f"+{name}")
    given = (base / "cgroup.subtree_control").read_text().split()
    return frozenset({*given, "freezer"})


def join(groups: list[Path]) -> None:
    """Move this process, still single-threaded, into the groups. Raises `OSError`."""
    for group in groups:
        # A thread that moves itself needs no lock of the whole kernel, so no grace period (12 ms
        # were measured); v2 has no such file that crosses domains. 0 means "me".
        threads = group / "tasks"
        (threads if threads.exists() else group / "cgroup.procs").write_text("0")


def lift_quota(groups: list[Path]) -> None:
    """Lift the CPU quota of the groups, so that their processes can die."""
    for group in groups:
        for file, value in (("cpu.cfs_quota_us", "-1"), ("cpu.max", "max")):
            with contextlib.suppress(OSError):
                if (group / file).exists():
                    (group / file).write_text(value)


def kill(groups: list[Path]) -> None:
    """Kill every process in the groups, including ones that fork meanwhile."""
    for group in groups:
        switch = group / "cgroup.kill"
        if switch.exists():
            switch.write_text("1")
            return
    freezers = [group / "freezer.state" for group in groups]
    frozen = [state for state in freezers if state.exists()]
    for state in frozen:
        _freeze(state)
    for group in groups:
        for pid in members(group):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    for state in frozen:
        with contextlib.suppress(OSError):
            state.write_text("THAWED")


def _freeze(state: Path) -> None:
    deadline = time.monotonic() + FREEZE_SECONDS
    with contextlib.suppress(OSError):
        state.write_text("FROZEN")
        while state.read_text().strip() != "FROZEN" and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)


def members(group: Path) -> list[int]:
    """Return the pids in a group; none when the group does not exist."""
    try:
        return [int(word) for word in (group / "cgroup.procs").read_text().split()]
    except OSError:
        return []


def remove(groups: list[Path]) -> list[Path]:
    """Remove empty groups and return the ones that could not be removed."""
    left = []
    for group in groups:
        try:
            group.rmdir()
        except FileNotFoundError:
            continue
        except OSError:
            left.append(group)
    return left


def join_own_group(tag: str) -> None:
    """Move this process to a group that a kill of its present one does not reach. Never raises:
    without permission the process stays where it is."""
    for hierarchy in hierarchies():
        with contextlib.suppress(OSError):
            aside = hierarchy.sibling(tag)
            aside.mkdir(parents=True, exist_ok=True)
            (aside / "cgroup.procs").write_text("0")


def remove_own_groups(tag: str, starter: int | None = None) -> None:
    """Leave this home's groups and remove them, as the last act of a zygote that ends by itself. A
    `starter` that waits for this end in one of them leaves with it. Never raises: a group that
    still has a process stays."""
    stood = hierarchies()
    for hierarchy in stood:
        if hierarchy.own.endswith(f"/{tag}/zygote"):
            base = hierarchy.base(tag)
            inside = {pid for group in _groups_of([base]) for pid in members(group)}
            for pid in (os.getpid(), starter):
                if pid in inside:
                    with contextlib.suppress(OSError):
                        (base.parent / "cgroup.procs").write_text(str(pid))
    leave(tag, stood)


def leave(tag: str, stood: list[Hierarchy]) -> list[Path]:
    """Remove a home's groups once its zygote is gone, and return the ones that could not be
    removed. `stood` are the hierarchies it was in. A killed process holds its group until the
    kernel has removed it, which takes seconds on a loaded machine."""
    bases = [hierarchy.base(tag) for hierarchy in stood]
    deadline = time.monotonic() + LEAVE_SECONDS
    while (left := remove(_groups_of(bases))) and time.monotonic() < deadline:
        if os.getpid() in {pid for group in left for pid in members(group)}:
            break  # this process may not move to another group, so waiting does not help
        time.sleep(0.05)
    return left


def _groups_of(bases: list[Path]) -> list[Path]:
    """Return every group of these bases, children first."""
    children = [group for base in bases if base.exists() for group in base.iterdir()]
    return [*filter(Path.is_dir, children), *bases]
