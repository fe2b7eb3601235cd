"""Mounts of sandbox images for a container engine, visible to the machine until the container has
them.

An engine binds folders that it sees in the machine's own mount namespace. So the image is mounted
there, below a directory that only root can enter, and unmounted once the container has it. Then the
container holds the only mount, which ends with its last process, as with bubblewrap. Nothing here
depends on a particular engine.
"""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from atoll.domain.errors import Failed
from atoll.zygote.host import kernel
from atoll.zygote.host.home import FOLDERS_SUFFIX, BoxPlaces, Home

OURS = "/.atoll"
STATE = "/.atoll/state"
"""Path at which a sandbox sees its agents' state."""


@dataclass(frozen=True, slots=True)
class EngineMount:
    """A sandbox's files as an engine sees them: `workspace/` and `state/` below `place`. `identity`
    is device and inode of `state/`, which every sandbox can see; `degraded` names missing
    protections."""

    place: Path
    identity: tuple[int, int]
    degraded: tuple[str, ...] = ()


def engine_mount_at(place: Path, degraded: tuple[str, ...] = ()) -> EngineMount:
    """Return the engine mount whose files are at `place`."""
    found = (place / "state").stat()
    return EngineMount(place, (found.st_dev, found.st_ino), degraded)


@dataclass(frozen=True, slots=True)
class EngineMounts:
    """Engine mounts of a home. `machine` is a descriptor of the machine's mount namespace; None
    when it is our own."""

    home: Home
    machine: int | None = None

    @property
    def descriptors(self) -> set[int]:
        """Descriptors that a child must keep open to mount or unmount."""
        return set() if self.machine is None else {self.machine}

    @contextlib.contextmanager
    def machine_mounts(self) -> Iterator[None]:
        """Use the machine's mount namespace instead of our own. Raises `OSError`."""
        if self.machine is None:
            yield
            return
        with kernel.entered_mounts(self.machine):
            yield

    def unmount(self, places: BoxPlaces) -> None:
        """Unmount a sandbox's files, if they are mounted; a container that bound them keeps them.
        Raises `OSError`."""
        for place in (places.engine_folders, places.engine_mount):
            if place.exists():
                with self.machine_mounts():
                    _unmount(place)
                place.rmdir()

    def unmount_all(self) -> None:
        """Unmount everything that an earlier zygote left mounted."""
        for place in self.home.engine_mounts.iterdir():
            self.unmount(self.home.box(place.name.removesuffix(FOLDERS_SUFFIX)))

    def drop_inherited(self) -> None:
        """Unmount engine mounts inherited by a new mount namespace of our own, so that it holds
        none of them."""
        for place in self.home.engine_mounts.iterdir():
            with contextlib.suppress(OSError):
                _unmount(place)


def _unmount(place: Path) -> None:
    while place.is_mount():
        kernel.unmount(str(place))


def check_container_files(pid: int, loan: EngineMount, uid: int) -> None:
    """Check that the container of `pid` shows the sandbox's files, and that its user `uid` cannot
    write beside them. Raises `Failed`."""
    try:
        root = os.open(f"/proc/{pid}/root", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            ours, state = _stat_below(root, OURS), _stat_below(root, STATE)
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


def _stat_below(root: int, path: str) -> os.stat_result:
    """Return the status of `path` below `root`. A link in the path, which the image may contain,
    raises `OSError`."""
    fd = kernel.open_in_root(root, path)
    try:
        return os.fstat(fd)
    finally:
        os.close(fd)
