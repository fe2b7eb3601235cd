"""The weights of sandboxes on the disk that holds the home, as `atoll doctor` reports them.

A group's weight acts only where the disk's scheduler is BFQ, or where the kernel's cost model is on
for the disk (cgroup v2, `io.cost.qos`). Sources: Documentation/block/bfq-iosched.rst and
Documentation/admin-guide/cgroup-v2.rst of Linux.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from atoll.ports.host import Finding

_CHOSEN = re.compile(r"\[([a-z0-9-]+)\]")


@dataclass(frozen=True, slots=True)
class Places:
    """The folders in which the kernel shows disks and, on cgroup v2, their cost model."""

    devices: Path = Path("/sys/dev/block")
    costs: tuple[Path, ...] = (
        Path("/sys/fs/cgroup/io.cost.qos"),
        Path("/sys/fs/cgroup/unified/io.cost.qos"),
    )


def finding(device: int, *, weighed: bool, places: Places) -> Finding:
    """Return what to say of the disk `device`; `weighed`: sandboxes' groups have weights for it."""
    number = f"{os.major(device)}:{os.minor(device)}"
    disk = (places.devices / number).resolve()
    if (disk / "partition").exists():
        disk = disk.parent
        number = _read_or_empty(disk / "dev").strip()
    chosen = _CHOSEN.search(_read_or_empty(disk / "queue" / "scheduler"))
    scheduler = chosen[1] if chosen else "unknown"
    costed = any(_is_on(_read_or_empty(place), number) for place in places.costs)
    if weighed and (costed or scheduler == "bfq"):
        return Finding("disk share", "ok", "each sandbox has the same share of the disk's time")
    name = disk.name if chosen else "DISK"
    why = f"the scheduler of {disk.name} is {scheduler}" if weighed else "no control group has one"
    return Finding(
        "disk share",
        "warn",
        f"weights for the disk are not in force ({why}): one sandbox's writes slow all others",
        f"`echo bfq > /sys/block/{name}/queue/scheduler`, with the controller `io` delegated.",
    )


def _is_on(text: str, number: str) -> bool:
    """Return whether the cost model is on for a disk. A line: `8:0 enable=1 ctrl=auto …`."""
    lines = (line.split() for line in text.splitlines())
    return any(line[:1] == [number] and "enable=1" in line for line in lines)


def _read_or_empty(path: Path) -> str:
    """Return a file's text; empty when it cannot be read."""
    try:
        return path.read_text()
    except OSError:
        return ""
