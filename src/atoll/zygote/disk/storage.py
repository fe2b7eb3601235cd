"""A sandbox's kept files: the workspace and the agents' state, on an image or in a directory.

As root an ext4 image bounds them; elsewhere they are plain directories, reported as `degraded:
disk`. The layout is the same: `workspace/` and `state/<agent>/`.
"""

import os
import time
from dataclasses import dataclass
from pathlib import Path

from atoll.domain.agents.registry import HOME_STATE
from atoll.domain.errors import AtollError, Failed
from atoll.zygote.disk import image
from atoll.zygote.disk.engine_mounts import EngineMount, EngineMounts, engine_mount_at
from atoll.zygote.disk.trees import COPY_SECONDS, CopyBounds, TreeCopy, remove_tree
from atoll.zygote.host import kernel
from atoll.zygote.host.home import BoxPlaces, Home, SnapshotPlaces, traversal_mode
from atoll.zygote.host.user_namespaces import attach_as

KEPT_FOLDER = "disk: its files lie in a plain folder of an earlier version, unbounded: recreate it"


@dataclass(frozen=True, slots=True)
class DiskOrder:
    """Order for a sandbox's disk: `size` in bytes where one is made, the `uid` that its files
    belong to, and `disk_uid`, which they have on the disk itself, where that is another one: a
    snapshot's are those of the sandbox that it was taken of. A disk that is made begins as the
    snapshot `seed`; None is an empty one. `low` bytes stay free where files are copied."""

    size: int
    uid: int
    disk_uid: int = 0
    seed: SnapshotPlaces | None = None
    low: int = 0

    @property
    def owner(self) -> int:
        """The uid of its files on the disk."""
        return self.disk_uid or self.uid


@dataclass(frozen=True, slots=True)
class Storage:
    """Storage of sandboxes' files on this host. `images` is false where ext4 images cannot be
    mounted."""

    home: Home
    images: bool
    engine_mounts: EngineMounts

    def degraded(self) -> tuple[str, ...]:
        """Return the limits that are missing here, as sentences."""
        if self.images:
            return ()
        return ("disk: no loop devices for us, the workspace shares the host's disk unbounded",)

    def open(self, places: BoxPlaces, order: DiskOrder) -> None:
        """Make or mount the files of a sandbox.

        Call it in a private mount namespace. Raises `Failed`, `OSError`.
        """
        if self.images:
            self._mount(places, places.mounted, order)
            return
        _copy_seed(places, order)
        _make_folders(places.mounted, order.uid)

    def mount_for_engine(self, places: BoxPlaces, order: DiskOrder) -> EngineMount:
        """Make or mount the files where a container engine can bind them. Call
        `EngineMounts.unmount` once it did. Raises `Failed`, `OSError`."""
        if self.images and (places.image.exists() or not places.mounted.exists()):
            places.engine_mount.mkdir(mode=0o700, exist_ok=True)
            with self.engine_mounts.machine_mounts():
                self._mount(places, places.engine_mount, order)
                return engine_mount_at(places.engine_mount)
        _copy_seed(places, order)
        _make_folders(places.mounted, order.uid)
        # Only the engine's mounts lead here, never a path of the host.
        places.mounted.chmod(0o700)
        # Files of a sandbox that began in a directory stay there.
        return engine_mount_at(places.mounted, (KEPT_FOLDER,) if self.images else ())

    def _mount(self, places: BoxPlaces, place: Path, order: DiskOrder) -> None:
        if not places.image.exists():
            seed = order.seed
            first = image.template(self.home.boxes, order.size) if seed is None else seed.image
            image.clone(first, places.image)
        try:
            image.mount_image(places.image, place)
        except OSError as err:
            raise Failed(
                f"the workspace image of {places.folder.name} cannot be mounted: {err}; "
                f"`fsck.ext4 {places.image}` may tell why"
            ) from err
        _make_folders(place, order.owner)
        if order.owner != order.uid:
            _show_as(place, order)


def enter_private_mounts() -> None:
    """Enter a mount namespace whose mounts the rest of the machine never sees."""
    kernel.unshare(kernel.CLONE_NEWNS)
    kernel.mount("none", "/", flags=kernel.MS_REC | kernel.MS_SLAVE)


def _show_as(place: Path, order: DiskOrder) -> None:
    """Cover a mount by itself with its files shown as the sandbox's: nothing on the disk changes.
    Raises `OSError`."""
    top = os.open(place, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        attach_as(top, place, uid=order.uid, owner=order.owner)
    finally:
        os.close(top)


def _copy_seed(places: BoxPlaces, order: DiskOrder) -> None:
    """Have a folder begin as a snapshot, where none is kept. It is whole in its place, or absent.
    Raises `Invalid`, `LimitReached`, `Unavailable`, `OSError`."""
    if order.seed is None or places.mounted.exists():
        return
    making = places.mounted.with_name(f"new-{places.mounted.name}")
    remove_tree(making)
    bounds = CopyBounds(time.monotonic() + COPY_SECONDS, order.low)
    owner = order.uid if os.geteuid() == 0 else None
    try:
        TreeCopy(bounds, owner).copy(order.seed.tree, making)
    except (OSError, AtollError):
        remove_tree(making)
        raise
    making.rename(places.mounted)


def _make_folders(place: Path, uid: int) -> None:
    place.mkdir(exist_ok=True)
    place.chmod(traversal_mode())
    _make_folder(place / "workspace", uid)
    _make_folder(place / "state", uid)
    for name, _inside in HOME_STATE:
        _make_state_folder(place / "state", name, uid)


def _make_folder(path: Path, uid: int) -> None:
    privileged = os.geteuid() == 0
    try:
        path.mkdir(mode=0o755 if privileged else 0o700)
    except FileExistsError:
        return
    if privileged:
        os.chown(path, uid, uid)


def _make_state_folder(state: Path, name: str, uid: int) -> None:
    """Make a folder below `state`, which the agent may write to: follow no link that it put
    there."""
    parent = os.open(state, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        try:
            os.mkdir(name, 0o700, dir_fd=parent)
        except FileExistsError:
            found = os.stat(name, dir_fd=parent, follow_symlinks=False)
            if not _is_folder(found.st_mode):
                raise Failed(
                    f"the sandbox replaced its state folder {name} by something else: recreate it"
                ) from None
            return
        if os.geteuid() == 0:
            os.chown(name, uid, uid, dir_fd=parent, follow_symlinks=False)
    finally:
        os.close(parent)


def _is_folder(mode: int) -> bool:
    return mode & 0o170000 == 0o040000
