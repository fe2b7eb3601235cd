"""A runtime's control groups, beside those of its sandbox: memory, processes, processor weight.

A runtime reads what a sandbox sends it. Without groups of its own its memory would be the
machine's, and one that is made to grow would be everybody's loss. So it alone ends, and with it
its own sandbox.
"""

import contextlib
from pathlib import Path

from atoll.domain.interior import MIB
from atoll.runtime.zygote.cgroups import Caps, Groups, join

SUFFIX = ".runtime"
"""Of its groups' names, after the sandbox's: no id of a sandbox holds a dot."""

MEMORY_BYTES = 512 * MIB
"""An idle runtime takes some 12 MiB, a thousand terminals 350."""

TASKS = 96
"""Processes and threads: it forks nothing, and resolves names and moves files in threads."""

WEIGHT = 100
"""The share of the processor that any other group gets, in the terms of cgroup v2."""

CAPS = Caps(memory_bytes=MEMORY_BYTES, pids=TASKS, cpu_millis=None, weight=WEIGHT)
UNBOUND = "runtime: no delegated cgroup, the memory of the sandbox's own runtime is not bounded"
RAN_OUT = f"the runtime's own memory ran out ({MEMORY_BYTES // MIB} MiB)"

_USAGE = ("memory.current", "memory.usage_in_bytes")
_EVENTS = ("memory.events", "memory.oom_control")


def enter(groups: Groups, name: str) -> None:
    """Move this process, still single-threaded, into groups of its own; `name` is that of its
    sandbox's. Raises `OSError`."""
    join(groups.make(name + SUFFIX, CAPS))


def paths(groups: Groups, name: str) -> list[Path]:
    """The runtime's group in each hierarchy, made or not."""
    return groups.paths(name + SUFFIX)


def ran_out(groups: Groups, name: str) -> bool:
    """Whether the kernel ended a process in them for want of memory."""
    lines = (line.split() for group in paths(groups, name) for line in _lines(group, _EVENTS))
    return any(key == "oom_kill" and count != "0" for key, count in lines)


def usage(groups: Groups) -> tuple[int, ...]:
    """Bytes of memory of each runtime that there is."""
    found = (group for _version, base in groups.bases for group in base.glob(f"*{SUFFIX}"))
    return tuple(int(line) for group in found for line in _lines(group, _USAGE))


def _lines(group: Path, names: tuple[str, str]) -> list[str]:
    for name in names:
        with contextlib.suppress(OSError):
            return (group / name).read_text().splitlines()
    return []
