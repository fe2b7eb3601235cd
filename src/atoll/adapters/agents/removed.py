"""Versions of agents that were removed while sandboxes have them mounted.

Such a layer is renamed aside, so that nothing finds it any more; a mount follows its directory.
Its files are deleted once no mount shows them.
"""

import secrets
import shutil
from collections.abc import Container, Iterator
from pathlib import Path

from atoll.domain.agents.agent import LAYERS

PREFIX = ".removed-"


def set_aside(place: Path) -> bool:
    """Remove a layer. Its files stay while a sandbox has it mounted. Returns whether they are
    gone."""
    aside = place.with_name(f"{PREFIX}{secrets.token_hex(4)}-{place.name}")
    place.rename(aside)
    return _delete_unused(aside, frozenset(_mounted_layers()))


def sweep_removed(folder: Path) -> None:
    """Delete the removed versions of all agents below `folder` that no sandbox has mounted any
    more."""
    removed = [*folder.glob(f"*/{PREFIX}*")]
    mounted = frozenset(_mounted_layers()) if removed else frozenset()
    for aside in removed:
        _delete_unused(aside, mounted)


def _delete_unused(aside: Path, mounted: Container[str]) -> bool:
    if f"/{aside.parent.name}/{aside.name}" in mounted:
        return False
    shutil.rmtree(aside, ignore_errors=True)
    return True


def _mounted_layers() -> Iterator[str]:
    """Yield `/AGENT/VERSION` of each layer that a process visible to this user has mounted. Field 4
    of mountinfo is the directory within its file system, under its name of now; field 5 is where it
    is seen (proc_pid_mountinfo(5))."""
    for text in _mount_tables():
        for line in text.splitlines():
            words = line.split(" ")
            if f"{LAYERS}/" in words[4]:
                yield "/" + "/".join(words[3].split("/")[-2:])


def _mount_tables() -> Iterator[str]:
    """Yield one text for each mount namespace that can be read."""
    seen: set[str] = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            space = str((entry / "ns" / "mnt").readlink())
            if space not in seen:
                seen.add(space)
                yield (entry / "mountinfo").read_text()
        except OSError:
            continue  # ended meanwhile, or somebody else's
