"""Lending a sandbox's image to a container engine: mounted in the machine's sight until taken.

An engine binds folders that it sees in the machine's own mount namespace. So the image is
mounted there, below a folder of root's alone, and unmounted again once the container has it:
then the container holds the only mount, which ends with its last process, as behind
bubblewrap. Nothing here knows of engines.
"""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from atoll.domain.errors import Failed
from atoll.zygote.daemon import kernel
from atoll.zygote.records.home import FOLDERS_SUFFIX, BoxPlaces, Home

OURS = "/.atoll"
STATE = "/.atoll/state"
"""Where a sandbox sees its agents' state."""


@dataclass(frozen=True, slots=True)
class EngineMount:
    """`place` holds `workspace/` and `state/`, as an engine sees it; `identity` is the device and
    inode of the second, which every sandbox is shown; `degraded` says what it lacks."""

    place: Path
    identity: tuple[int, int]
    degraded: tuple[str, ...] = ()


def engine_mount_at(place: Path, degraded: tuple[str, ...] = ()) -> EngineMount:
    """What is laid out at `place`."""
    found = (place / "state").stat()
    return EngineMount(place, (found.st_dev, found.st_ino), degraded)


@dataclass(frozen=True, slots=True)
class EngineMounts:
    """`machine` is a descriptor of the machine's mount namespace; None when it is our own."""

    home: Home
    machine: int | None = None

    @property
    def descriptors(self) -> set[int]:
        """What a child that lends or takes back must keep open."""
        return set() if self.machine is None else {self.machine}

    @contextlib.contextmanager
    def machine_mounts(self) -> Iterator[None]:
        """Look at the machine's mounts, not at a view of our own. Raises `OSError`."""
        if self.machine is None:
            yield
            return
        with kernel.entered_mounts(self.machine):
            yield

    def unmount(self, places: BoxPlaces) -> None:
        """Unmount what was lent; whoever took it over keeps it. Nothing lent is fine. Raises
        `OSError`."""
        for place in (places.engine_folders, places.engine_mount):
            if place.exists():
                with self.machine_mounts():
                    _unmount(place)
                place.rmdir()

    def unmount_all(self) -> None:
        """What a zygote that is gone had lent, so that nothing of it stays mounted."""
        for place in self.home.engine_mounts.iterdir():
            self.unmount(self.home.box(place.name.removesuffix(FOLDERS_SUFFIX)))

    def drop_inherited(self) -> None:
        """In a mount namespace of our own: hold nothing that was being lent when it was made."""
        for place in self.home.engine_mounts.iterdir():
            with contextlib.suppress(OSError):
                _unmount(place)


def _unmount(place: Path) -> None:
    if place.is_mount():
        kernel.unmount(str(place))


def check_container_files(pid: int, loan: EngineMount, uid: int) -> None:
    """Check that the container of `pid` has the files that were lent, and that `uid`, whose it
    is, cannot write beside them. Raises `Failed`."""
    try:
        root = os.open(f"/proc/{pid}/root", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            ours, state = _found(root, OURS), _found(root, STATE)
        finally:
            os.close(root)
    except OSError as err:
        raise Failed(f"the container's files cannot be looked at: {err}") from err
    if (state.st_dev, state.st_ino) != loan.identity:
        raise Failed(
            "the container shows other files than its own: its daemon does not see the mounts of "
            "this machine. Run it without a mount namespace of its own (MountFlags)"
        )
    if ours.st_uid == uid or ours.st_mode & 0o022:
        raise Failed(
            f"the container's image makes {OURS} a place that can be written, by a link or a "
            "VOLUME: nothing of the image may lie there"
        )


def _found(root: int, path: str) -> os.stat_result:
    """What lies at `path` below `root`. The image may have put links on the way: none is
    followed, they raise `OSError`."""
    fd = kernel.open_in_root(root, path)
    try:
        return os.fstat(fd)
    finally:
        os.close(fd)
