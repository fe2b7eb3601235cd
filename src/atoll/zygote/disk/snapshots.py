"""Snapshots of sandboxes' disks: an image that stands still for a moment, and is cloned.

Where files lie in plain folders, programs stand still, and the files are copied.

While a sandbox runs, its file system is frozen for the time of a clone: what is written inside has
reached the image then, and the rest waits. A second process thaws it if the first one dies or takes
too long, so nothing inside ever waits for longer. ioctl_fifreeze (FIFREEZE, FITHAW),
ioctl_ficlonerange(2).
"""

import contextlib
import fcntl
import os
import select
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from atoll.domain.errors import Failed, Invalid, NotFound, Unavailable
from atoll.wire.http.unreadable import UNREADABLE
from atoll.zygote.disk import image
from atoll.zygote.disk.storage import enter_private_mounts
from atoll.zygote.disk.trees import COPY_SECONDS, CopyBounds, TreeCopy, remove_tree
from atoll.zygote.host import kernel
from atoll.zygote.host.home import SnapshotPlaces
from atoll.zygote.host.processes import standstill

MAKING = "new-"
"""The beginning of the name of a snapshot that is being made."""

_FREEZE, _THAW = 0xC0045877, 0xC0045878
_BLOCK_BYTES = 512
_MAX_BYTES = 4096


class SnapshotRecord(msgspec.Struct, frozen=True):
    """Record beside a snapshot's image: the uid its files have on the disk, and its size in
    bytes."""

    uid: int
    size: int


@dataclass(frozen=True, slots=True)
class Stillness:
    """The time for which a disk stood still, in seconds: 0 for one that nothing was mounted
    from."""

    seconds: float = 0.0


def load(places: SnapshotPlaces) -> SnapshotRecord:
    """Return the record of a snapshot. Raises `NotFound`, `Failed`."""
    try:
        with places.record.open("rb") as file:
            return msgspec.json.decode(file.read(_MAX_BYTES), type=SnapshotRecord)
    except FileNotFoundError:
        raise NotFound(f"there is no snapshot {places.folder.name} on this machine") from None
    except (OSError, *UNREADABLE) as err:
        raise Failed(f"{places.record} cannot be read: {err}") from err


def keep(source: Path, places: SnapshotPlaces, uid: int, *, still_seconds: float) -> Stillness:
    """Keep the image `source`, whose files have `uid`, as a snapshot. It is whole in its place, or
    absent. Call it in a child of its own, whose mounts become private. Raises `Unavailable` where
    programs inside would wait for longer than `still_seconds`, `OSError`."""
    with make(places) as new:
        still = _keep_image(source, new.folder, still_seconds)
        size = new.image.stat().st_blocks * _BLOCK_BYTES
        new.record.write_bytes(msgspec.json.encode(SnapshotRecord(uid, size)))
    return still


def keep_tree(
    source: Path, places: SnapshotPlaces, low: int, top: int | None, *, still_seconds: float
) -> Stillness:
    """Keep a sandbox's files in the folder `source` as a snapshot, which belongs to whoever keeps
    it. While they are copied the process `top` and all that descend from it stand still, for
    `still_seconds` at most; None: nothing runs. `low` bytes of the disk stay free. It is whole in
    its place, or absent. Raises `Invalid`, `LimitReached`, `Unavailable`, `OSError`."""
    seconds = COPY_SECONDS if top is None else still_seconds
    with make(places) as new:
        if top is not None:
            _try_copy(source, new.tree, CopyBounds(time.monotonic() + seconds, low))
        began = time.monotonic()
        copying = TreeCopy(CopyBounds(began + seconds, low))
        with contextlib.nullcontext() if top is None else standstill(top, seconds):
            copying.copy(source, new.tree)
        still = 0.0 if top is None else time.monotonic() - began
        new.record.write_bytes(msgspec.json.encode(SnapshotRecord(0, copying.size)))
        _sync(new.folder, call=kernel.sync_file_system)
    return Stillness(still)


def _try_copy(source: Path, target: Path, bounds: CopyBounds) -> None:
    """Copy files once while programs run, so that what takes too long is given up before they stand
    still. Raises `Unavailable`, `LimitReached`."""
    try:
        with contextlib.suppress(OSError, Invalid):  # they change meanwhile
            TreeCopy(bounds).copy(source, target)
    finally:
        remove_tree(target)


@contextlib.contextmanager
def make(places: SnapshotPlaces) -> Iterator[SnapshotPlaces]:
    """Have a snapshot made beside its place, and put it there durably once it is whole. Nothing is
    left of one that fails. Raises `OSError`."""
    making = places.folder.with_name(MAKING + places.folder.name)
    remove_tree(making)
    making.mkdir(mode=0o700)
    try:
        new = SnapshotPlaces(making)
        yield new
        for path in (new.image, new.record, making):
            if path.exists():
                _sync(path)
        making.rename(places.folder)
        _sync(places.folder.parent)
    except BaseException:
        remove_tree(making)
        raise


def drop(places: SnapshotPlaces) -> bool:
    """Remove a snapshot; returns whether there was one."""
    there = places.folder.exists()
    # Under the other name first: a half removed one is never taken for whole.
    gone = places.folder.with_name(MAKING + places.folder.name)
    remove_tree(gone)
    if there:
        places.folder.rename(gone)
        error = remove_tree(gone)
        if error:
            raise Failed(f"the snapshot {places.folder.name} is not wholly removed: {error}")
    return there


def remove_unfinished(folder: Path) -> None:
    """Remove what an earlier zygote left half made in the folder of snapshots."""
    for path in folder.glob(f"{MAKING}*"):
        remove_tree(path)


def _keep_image(source: Path, making: Path, still_seconds: float) -> Stillness:
    target = SnapshotPlaces(making).image
    held = image.hold_loop(source)
    if held is None:
        image.clone(source, target)
        return Stillness()
    try:
        with _mounted(f"/dev/{held.name}", making / "mnt") as top:
            # What takes too long is given up before anybody waits, and what was written until now
            # reaches the disk while nobody does.
            image.clone(source, target, until=time.monotonic() + still_seconds)
            target.unlink()
            kernel.sync_file_system(top)
            began = time.monotonic()
            with _frozen(top, still_seconds):
                image.clone(source, target, until=began + still_seconds)
            return Stillness(time.monotonic() - began)
    finally:
        os.close(held.fd)


@contextlib.contextmanager
def _mounted(device: str, place: Path) -> Iterator[int]:
    """Mount an image that is mounted elsewhere here, too, so that it is frozen without a look at
    anything inside. Yields its top directory."""
    enter_private_mounts()
    image.mount_device(device, place)
    top = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield top
    finally:
        os.close(top)
        kernel.unmount(str(place))
        place.rmdir()


@contextlib.contextmanager
def _frozen(top: int, seconds: float) -> Iterator[None]:
    """Freeze the file system of the folder `top`. Raises `Unavailable` where it did not stand still
    to the end."""
    done, end = os.pipe()
    guard = os.fork()
    if guard == 0:
        _thaw_in_time(top, done, end, seconds)
    os.close(done)
    try:
        fcntl.ioctl(top, _FREEZE, 0)
        try:
            yield
        finally:
            whole = _thaw(top)
    finally:
        os.close(end)
        os.waitpid(guard, 0)
    if not whole:
        raise Unavailable(
            f"the files could not be kept within {seconds:g} s, for which whoever writes "
            "inside has to wait: stop the sandbox first, or have its disk on XFS or Btrfs"
        )


def _thaw_in_time(top: int, done: int, end: int, seconds: float) -> None:
    """Thaw once the parent is done, has died, or has taken too long. Never returns."""
    try:
        os.setsid()
        os.close(end)
        select.select([done], [], [], seconds)
        _thaw(top)
    finally:
        os._exit(0)


def _thaw(top: int) -> bool:
    """Thaw a file system; returns whether it was frozen until now."""
    try:
        fcntl.ioctl(top, _THAW, 0)
    except OSError:
        return False
    return True


def _sync(path: Path, *, call: Callable[[int], None] = os.fsync) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        call(fd)
    finally:
        os.close(fd)
