"""The cgroup hierarchies, v1 and v2, and this process's group in each. This module only reads.

Sources: cgroups(7), /proc/[pid]/cgroup and /proc/[pid]/mountinfo in proc(5).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

USED_CONTROLLERS = frozenset({"memory", "pids", "cpu", "freezer", "io", "blkio"})


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Mounted hierarchy. `controllers` of v2 are those this group may delegate; `name` is the v1
    name (`systemd` for name=systemd), empty for v2."""

    version: int
    name: str
    controllers: frozenset[str]
    mount: Path
    own: str

    @property
    def own_folder(self) -> Path:
        """Our group's directory."""
        return self.mount / self.own.lstrip("/")

    def base(self, tag: str) -> Path:
        """Return the parent of our sandboxes' groups: beside our group when that is `<tag>/zygote`,
        else below it."""
        if self.own.endswith(f"/{tag}/zygote"):
            return self.own_folder.parent
        return self.own_folder / tag

    def sibling(self, tag: str) -> Path:
        """Return a group beside ours (below it only at the very top), which a kill of ours does not
        reach."""
        if self.own.endswith(f"/{tag}/zygote"):
            return self.own_folder
        beside = self.own_folder if self.own == "/" else self.own_folder.parent
        return beside / tag / "zygote"


def hierarchies(proc: Path = Path("/proc/self")) -> list[Hierarchy]:
    """Return every mounted hierarchy that this process is in, v2 first."""
    own = dict(_own_groups((proc / "cgroup").read_text()))
    found: dict[str, Hierarchy] = {}
    for kind, mount, top, options in _mounts((proc / "mountinfo").read_text()):
        for key, path in own.items():
            if not _belongs(key, kind, options):
                continue
            inside = path.removeprefix(top) if top != "/" and path.startswith(top) else path
            found.setdefault(key, _hierarchy(key, mount, inside or "/"))
    return sorted(found.values(), key=lambda each: -each.version)


def groups_of(pid: int) -> list[tuple[str, str]]:
    """Return a process's group in each hierarchy: controllers, and the path as seen from here.
    Raises `OSError` when the process is gone."""
    return [*_own_groups(Path(f"/proc/{pid}/cgroup").read_text())]


def _own_groups(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        _number, controllers, path = line.split(":", 2)
        yield controllers, path


def _mounts(text: str) -> Iterator[tuple[str, Path, str, set[str]]]:
    for line in text.splitlines():
        head, _dash, tail = line.partition(" - ")
        fields, rest = head.split(), tail.split()
        if rest and rest[0] in ("cgroup", "cgroup2"):
            yield rest[0], Path(fields[4]), fields[3], set(rest[-1].split(","))


def _belongs(key: str, kind: str, options: set[str]) -> bool:
    if not key:
        return kind == "cgroup2"
    return kind == "cgroup" and set(key.split(",")) <= options


def _hierarchy(key: str, mount: Path, own: str) -> Hierarchy:
    if key:
        names = frozenset(key.split(","))
        return Hierarchy(1, key.removeprefix("name="), names & USED_CONTROLLERS, mount, own)
    try:
        words = (mount / own.lstrip("/") / "cgroup.controllers").read_text().split()
    except OSError:
        words = []
    return Hierarchy(2, "", frozenset(words) & USED_CONTROLLERS, mount, own)
