"""What of an Atoll is to be found on this machine: to compare before and after.

Sandboxes that stand ready for the next starts are nobody's, and come and go by themselves: they
are left out. Everything is looked up by the home, its zygote, and the uids its sandboxes had, so
that other Atolls on the same machine do not disturb the comparison.
"""

import json
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path

from atoll.wiring.launch import zygote_process
from atoll.zygote.host.home import POOL_PREFIX, Home
from atoll.zygote.wall import hierarchies
from atoll.zygote.wall.runtime_group import SUFFIX
from tests.peers.api import until

#: Files that grow with use and hold no sandbox.
GROWING = ("atoll.db", "zygote.log", "new-template", "template")


@dataclass(frozen=True)
class Remains:
    """What there is; two of them are equal when nothing was left."""

    processes: frozenset[str]
    mounts: frozenset[str]
    loops: frozenset[str]
    cgroups: frozenset[str]
    sockets: frozenset[str]
    files: frozenset[str]


def remains(root: Path, uids: Iterable[int] = ()) -> Remains:
    """Look around. `uids` are those the sandboxes of interest had."""
    home = Home(root)
    zygote = zygote_process.zygote_pid(home)
    return Remains(
        processes=frozenset(_processes(zygote, frozenset(uids))),
        mounts=frozenset(_mounts(root, zygote)),
        loops=frozenset(_loops(root)),
        cgroups=frozenset(_cgroups(home, zygote)),
        sockets=frozenset(_sockets(root)),
        files=frozenset(_files(root)),
    )


def changed(
    root: Path, before: Remains, uids: Iterable[int], seconds: float = 10
) -> dict[str, set[object]]:
    """What differs from `before`, by its kind, or nothing as soon as nothing does. Kernels let go
    lazily."""
    uids = frozenset(uids)
    deadline = time.monotonic() + seconds
    while (now := remains(root, uids)) != before and time.monotonic() < deadline:
        time.sleep(0.05)
    kinds = (field.name for field in fields(Remains))
    return {
        kind: set(found) for kind in kinds if (found := getattr(now, kind) ^ getattr(before, kind))
    }


def await_forgotten(root: Path, sandbox_id: str) -> None:
    """Wait until the document of a destroyed sandbox is gone, which its state does not wait for:
    documents are written and removed in the background, one after the other."""
    until(lambda: (root / "sandboxes" / sandbox_id).exists(), lambda there: not there)


def pids_of(uids: frozenset[int]) -> list[int]:
    """Processes that run under one of these uids."""
    return [pid for pid, uid, _parent in _all_processes() if uid in uids]


def uids_of(root: Path) -> frozenset[int]:
    """Every uid that sandboxes of this home have, runtimes' included. Empty when rootless."""
    if os.geteuid() != 0:
        return frozenset()
    found = (json.loads(path.read_text()) for path in (root / "boxes").glob("sb_*/box.json"))
    return frozenset(uid for box in found for uid in (box["runtime_uid"], box["sandbox_uid"]))


def _all_processes() -> list[tuple[int, int, int]]:
    """(pid, uid, parent) of everything that runs; the dead that wait to be reaped too."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text().rpartition(")")[2].split()
                found.append((int(entry.name), entry.stat().st_uid, int(stat[1])))
            except OSError:
                continue
    return found


def _processes(zygote: int | None, uids: frozenset[int]) -> set[str]:
    everything = _all_processes()
    family = _descendants(everything, set() if zygote is None else {zygote})
    spares = _descendants(everything, {pid for pid in family if _name(pid) == "atoll-pooled"})
    if spares:
        # It goes with the last sandbox, ready ones included.
        spares |= {pid for pid in family if _tells_growth(pid)}
    return {
        f"{pid} (uid {uid})"
        for pid, uid, _parent in everything
        if pid != zygote and pid not in spares and (pid in family or uid in uids)
    }


def _descendants(everything: list[tuple[int, int, int]], family: set[int]) -> set[int]:
    """`family` and all that stems from it."""
    while more := {pid for pid, _uid, parent in everything if parent in family} - family:
        family = family | more
    return family


def _tells_growth(pid: int) -> bool:
    """Whether it is the zygote's process that tells inits when kernel memory grew."""
    try:
        return b"\0tell-growth\0" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def _mounts(root: Path, zygote: int | None) -> set[str]:
    places = ["self"] if zygote is None else ["self", str(zygote)]
    return {
        f"{place}: {line.split()[4]}"
        for place in places
        for line in Path(f"/proc/{place}/mountinfo").read_text().splitlines()
        if str(root) in line
    }


def loops_below(root: Path) -> list[str]:
    """Files below a folder that a loop device shows. Devices of others go meanwhile."""
    found = []
    for path in Path("/sys/block").glob("loop*/loop/backing_file"):
        with suppress(OSError):
            found.append(path.read_text().strip())
    return [each for each in found if each.startswith(f"{root}/")]


def groups_called(name: str) -> list[Path]:
    """Control groups of this name. Groups of others go meanwhile, which `walk` ignores and `rglob`
    does not."""
    return [Path(top) for top, _, _ in os.walk("/sys/fs/cgroup") if top.endswith(f"/{name}")]


def _loops(root: Path) -> set[str]:
    return {each for each in loops_below(root) if f"/{POOL_PREFIX}" not in each}


def _cgroups(home: Home, zygote: int | None) -> set[str]:
    if zygote is None:
        return set()
    bases = [each.base(home.tag) for each in hierarchies.hierarchies(Path(f"/proc/{zygote}"))]
    # Once somebody's, it keeps its group's name, and counts.
    ready = {folder.name for folder in home.boxes.glob(f"{POOL_PREFIX}*")}
    spares = ready | {name + SUFFIX for name in ready}
    return {
        str(group)
        for base in bases
        if base.is_dir()
        for group in base.iterdir()
        if group.is_dir() and group.name not in spares
    }


def _sockets(root: Path) -> set[str]:
    lines = Path("/proc/net/unix").read_text().splitlines()[1:]
    paths = {line.split()[7] for line in lines if len(line.split()) > 7}
    return {path for path in paths if path.startswith(str(root))}


def _files(root: Path) -> set[str]:
    found = set()
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(POOL_PREFIX)]
        if Path(folder) == root / "safety":
            folders.clear()  # one set of shims for all sandboxes that want it, made once
        if Path(folder) == root / "run" / "root":
            folders.clear()  # a copy of this machine's /etc, which other tests may change
        # A journal's segments come and go while its sandbox lives; its folder is what counts.
        kept = [] if Path(folder).name == "journal" else files
        for name in kept:
            if not name.startswith(GROWING):
                path = Path(folder, name)
                found.add(str(path.relative_to(root)))
        found.add(str(Path(folder).relative_to(root)))
    return found
