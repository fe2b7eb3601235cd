"""A runtime's control groups, beside those of its sandbox: memory, processes, processor weight.

A runtime parses input from its sandbox. Without groups of its own, one that is made to grow would
take the machine's memory. With them only that runtime ends, and its sandbox with it.
"""

import contextlib
import os
from pathlib import Path

from atoll.domain.size import MIB
from atoll.wire.contract.execs import OwnUsage
from atoll.zygote.host.own_settings import OwnSettings
from atoll.zygote.wall.cgroups import GroupLimits, Groups, join

SUFFIX = ".runtime"
"""The end of the group's name, after the sandbox's id, which never contains a dot."""

WEIGHT = 100
"""The share of the processor that any other group gets, in the terms of cgroup v2."""

UNBOUND = "runtime: no delegated cgroup, the memory of the sandbox's own runtime is not bounded"

_USAGE = ("memory.current", "memory.usage_in_bytes")
_MOST = ("memory.max", "memory.limit_in_bytes")
_TASKS = ("pids.current",)
_MOST_TASKS = ("pids.max",)
_FIGURE_BYTES = 32
_EVENTS = ("memory.events", "memory.oom_control")


class Gauge:
    """Gauge of a runtime's usage and limits. It opens the files with privilege, before any
    confinement, so that the runtime can read them later without a path."""

    def __init__(self, made: list[Path]) -> None:
        self._files = {
            names: _open_first(made, names) for names in (_USAGE, _MOST, _TASKS, _MOST_TASKS)
        }

    def __call__(self) -> OwnUsage | None:
        """Return the figures; None where no group counts memory."""
        memory = _figure(self._files[_USAGE])
        if memory is None:
            return None
        most, tasks, most_tasks = (
            _figure(self._files[each]) for each in (_MOST, _TASKS, _MOST_TASKS)
        )
        return OwnUsage(memory, most, tasks, most_tasks)


def caps(settings: OwnSettings) -> GroupLimits:
    """Return a runtime's limits from the settings. Its disk weight stays the usual one: it writes
    the journal and the recordings."""
    return GroupLimits(
        memory_bytes=settings.runtime_memory_mb * MIB,
        pids=settings.runtime_tasks,
        cpu_millis=None,
        weight=WEIGHT,
    )


def reason(settings: OwnSettings) -> str:
    """Return why a runtime ended for which `ran_out` is true."""
    return f"the runtime's own memory ran out ({settings.runtime_memory_mb} MiB)"


def enter(groups: Groups, name: str, settings: OwnSettings) -> Gauge:
    """Move this process, still single-threaded, into groups of its own; `name` is that of its
    sandbox's groups. Raises `OSError`."""
    made = groups.make(name + SUFFIX, caps(settings))
    join(made)
    return Gauge(made)


def paths(groups: Groups, name: str) -> list[Path]:
    """Return the runtime's group in each hierarchy, whether it exists or not."""
    return groups.paths(name + SUFFIX)


def ran_out(groups: Groups, name: str) -> bool:
    """Return whether the kernel killed a process in the groups because memory ran out."""
    lines = (line.split() for group in paths(groups, name) for line in _read_lines(group, _EVENTS))
    return any(key == "oom_kill" and count != "0" for key, count in lines)


def usage(groups: Groups) -> tuple[int, ...]:
    """Return the memory in bytes of each existing runtime."""
    found = (group for _version, base in groups.bases for group in base.glob(f"*{SUFFIX}"))
    return tuple(int(line) for group in found for line in _read_lines(group, _USAGE))


def _open_first(made: list[Path], names: tuple[str, ...]) -> int | None:
    for place in (group / name for group in made for name in names):
        with contextlib.suppress(OSError):
            return os.open(place, os.O_RDONLY | os.O_CLOEXEC)
    return None


def _figure(file: int | None) -> int | None:
    """Return a number; None for `max`, and where there is no such file any more."""
    if file is not None:
        with contextlib.suppress(OSError, ValueError):
            return int(os.pread(file, _FIGURE_BYTES, 0))
    return None


def _read_lines(group: Path, names: tuple[str, str]) -> list[str]:
    """Return the lines of the first of these files that can be read."""
    for name in names:
        with contextlib.suppress(OSError):
            return (group / name).read_text().splitlines()
    return []
