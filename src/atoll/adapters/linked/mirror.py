"""The copy of a shared repository on another machine: what must be sent, and what must go.

Objects never change once they have their name, so a file of the same size is the same. References
are few and small: they are sent each time, after the objects that they name.
"""

from dataclasses import dataclass
from pathlib import Path

CHANGING = ("HEAD", "config", "packed-refs", "refs/")
"""Names of a bare repository whose content changes (gitrepository-layout(5))."""

MAX_REMOVED = 2000


@dataclass(frozen=True, slots=True)
class MirrorPlan:
    """Files to send, in their order, and files to remove."""

    send: tuple[str, ...]
    remove: tuple[str, ...]


def plan_mirror(here: dict[str, int], there: dict[str, int]) -> MirrorPlan:
    """Return how to make a copy equal to a repository; both are sizes by name. Objects that only
    the copy has stay: a sandbox may still borrow them."""
    objects = sorted(name for name in here if not _changes(name) and there.get(name) != here[name])
    references = sorted(name for name in here if _changes(name))
    removed = sorted(name for name in there if _changes(name) and name not in here)
    return MirrorPlan((*objects, *references), tuple(removed[:MAX_REMOVED]))


def sizes_of(folder: Path) -> dict[str, int]:
    """Return the size of each file below a folder, by name."""
    return {
        path.relative_to(folder).as_posix(): path.stat().st_size
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


def read_listing(output: bytes) -> dict[str, int]:
    """Return sizes by name from the listing of a machine; lines that are none are left out."""
    sizes = {}
    for line in output.split(b"\0"):
        size, _, name = line.partition(b" ")
        if size.isdigit() and name:
            sizes[name.decode(errors="surrogateescape")] = int(size)
    return sizes


def _changes(name: str) -> bool:
    return name.startswith(CHANGING)
