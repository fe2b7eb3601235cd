"""Snapshots of sandboxes' disks: an image that stands still for a moment, and is cloned.

While a sandbox runs, its file system is frozen for the time of a clone: what is written inside has
reached the image then, and the rest waits. A second process thaws it if the first one dies or takes
too long, so nothing inside ever waits for longer. ioctl_fifreeze (FIFREEZE, FITHAW),
ioctl_ficlonerange(2).
"""

import contextlib
import fcntl
import os
import select
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from atoll.domain.errors import Failed, NotFound, Unavailable
from atoll.wire.http.unreadable import UNREADABLE
from atoll.zygote.disk import image
from atoll.zygote.disk.storage import enter_private_mounts
from atoll.zygote.host import kernel
from atoll.zygote.host.home import SnapshotPlaces

FREEZE_SECONDS = 3.0
"""The longest time for which programs inside wait. A clone takes milliseconds; this is for a disk
without clones, where everything is copied."""

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


def keep(source: Path, places: SnapshotPlaces, uid: int) -> Stillness:
    """Keep the image `source`, whose files have `uid`, as a snapshot. It is whole in its place, or
    absent. Call it in a child of its own, whose mounts become private. Raises `Unavailable` where
    that takes too long, `OSError`."""
    making = places.folder.with_name(MAKING + places.folder.name)
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir(mode=0o700)
    try:
        still = _keep_image(source, making)
        new = SnapshotPlaces(making)
        size = new.image.stat().st_blocks * _BLOCK_BYTES
        new.record.write_bytes(msgspec.json.encode(SnapshotRecord(uid, size)))
        settle(new, places)
    except BaseException:
        shutil.rmtree(making, ignore_errors=True)
        raise
    return still


def settle(new: SnapshotPlaces, places: SnapshotPlaces) -> None:
    """Give a snapshot that is made its place, durably. Raises `OSError`."""
    for path in (new.image, new.record, new.folder):
        _sync(path)
    new.folder.rename(places.folder)
    _sync(places.folder.parent)


def drop(places: SnapshotPlaces) -> bool:
    """Remove a snapshot; returns whether there was one."""
    there = places.folder.exists()
    # Under the other name first: a half removed one is never taken for whole.
    gone = places.folder.with_name(MAKING + places.folder.name)
    shutil.rmtree(gone, ignore_errors=True)
    if there:
        places.folder.rename(gone)
        shutil.rmtree(gone)
    return there


def remove_unfinished(folder: Path) -> None:
    """Remove what an earlier zygote left half made in the folder of snapshots."""
    for path in folder.glob(f"{MAKING}*"):
        shutil.rmtree(path, ignore_errors=True)


def _keep_image(source: Path, making: Path) -> Stillness:
    target = SnapshotPlaces(making).image
    held = image.hold_loop(source)
    if held is None:
        image.clone(source, target)
        return Stillness()
    try:
        return _keep_mounted(source, target, making / "mnt", f"/dev/{held.name}")
    finally:
        os.close(held.fd)


def _keep_mounted(source: Path, target: Path, place: Path, device: str) -> Stillness:
    """Clone an image that is mounted elsewhere: the same file system is mounted here, too, so that
    it is frozen without a look at anything inside."""
    enter_private_mounts()
    image.mount_device(device, place)
    top = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        began = time.monotonic()
        with _frozen(top):
            image.clone(source, target, until=began + FREEZE_SECONDS)
        return Stillness(time.monotonic() - began)
    finally:
        os.close(top)
        kernel.unmount(str(place))
        place.rmdir()


@contextlib.contextmanager
def _frozen(top: int) -> Iterator[None]:
    """Freeze the file system of the folder `top`. Raises `Unavailable` where it did not stand still
    to the end."""
    done, end = os.pipe()
    guard = os.fork()
    if guard == 0:
        _thaw_in_time(top, done, end)
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
            f"the files could not be kept within {FREEZE_SECONDS:g} s, for which whoever writes "
            "inside has to wait: stop the sandbox first, or have its disk on XFS or Btrfs"
        )


def _thaw_in_time(top: int, done: int, end: int) -> None:
    """Thaw once the parent is done, has died, or has taken too long. Never returns."""
    try:
        os.setsid()
        os.close(end)
        select.select([done], [], [], FREEZE_SECONDS)
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


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
