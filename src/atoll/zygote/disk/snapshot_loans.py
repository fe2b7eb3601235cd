"""Images of snapshots that the control plane reads, and those that it brings from another machine.

It gets a copy of its own to read: nothing that it has open is a disk that somebody will mount. What
it brings is copied, too, and mounted by itself first: our folders must be folders, and belong to
the user that the snapshot names. Then it is a disk like any other, whose files an agent wrote.
"""

import os
import stat
from pathlib import Path
from typing import Final

import msgspec

from atoll.domain.errors import Failed, Invalid, NotFound
from atoll.zygote.disk import image, snapshots
from atoll.zygote.disk.storage import enter_private_mounts
from atoll.zygote.host import kernel
from atoll.zygote.host.home import SnapshotPlaces
from atoll.zygote.records.uids import FIRST_UID, LAST_UID

_OURS: Final = ("workspace", "state")
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_BLOCK_BYTES: Final = 512


def lend(places: SnapshotPlaces, copy: Path, reader: int) -> int:
    """Copy a snapshot's image to `copy`, which `reader` may read; returns the uid of its files. A
    copy that is there stays. Raises `NotFound`, `OSError`."""
    uid = snapshots.load(places).uid
    if not copy.exists():
        making = copy.with_name(snapshots.MAKING + copy.name)
        making.unlink(missing_ok=True)
        image.clone(places.image, making)
        making.chmod(0o400)
        os.chown(making, reader, reader, follow_symlinks=False)
        making.rename(copy)
    return uid


def end_loan(copy: Path) -> bool:
    """Remove a copy; returns whether there was one."""
    there = copy.exists()
    copy.unlink(missing_ok=True)
    return there


def end_loans(folder: Path) -> None:
    """Remove what an earlier zygote lent."""
    for path in folder.iterdir():
        path.unlink()


def admit(path: Path, places: SnapshotPlaces, uid: int, owner: int) -> int:
    """Keep the image at `path`, which must be a file of `owner`, as a snapshot whose files have
    `uid`; returns the bytes that it takes. Call it in a child of its own, whose mounts become
    private. It is whole in its place, or absent. Raises `Invalid`, `NotFound`, `Failed`,
    `OSError`."""
    if not FIRST_UID <= uid < LAST_UID:
        raise Invalid(f"no sandbox has the user {uid}")
    with snapshots.make(places) as new:
        _copy(path, new.image, owner)
        _check_folders(new.image, new.folder / "mnt", uid)
        size = new.image.stat().st_blocks * _BLOCK_BYTES
        new.record.write_bytes(msgspec.json.encode(snapshots.SnapshotRecord(uid, size)))
    return size


def _copy(path: Path, target: Path, owner: int) -> None:
    try:
        source = os.open(path, _READ)
    except OSError as err:
        raise NotFound("the image of the snapshot cannot be opened") from err
    try:
        status = os.fstat(source)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != owner:
            raise Invalid("the image of a snapshot is a file of the control plane's own")
        image.clone_open(source, target)
    finally:
        os.close(source)


def _check_folders(disk: Path, place: Path, uid: int) -> None:
    """Check that an image is a disk of a sandbox: where we will look for folders, are such."""
    enter_private_mounts()
    try:
        image.mount_image(disk, place)
    except OSError as err:
        raise Failed(f"the image of the snapshot cannot be mounted: {err.strerror}") from err
    try:
        for name in _OURS:
            status = (place / name).lstat()
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != uid:
                raise Invalid("the image is no disk of a sandbox of this user")
    except FileNotFoundError as err:
        raise Invalid("the image is no disk of a sandbox") from err
    finally:
        kernel.unmount(str(place))
        place.rmdir()
