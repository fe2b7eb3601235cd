"""A sandbox's disk as root: an ext4 image, copied sparsely from a template and mounted.

The image bounds bytes and inodes. The mount is in the caller's own mount namespace and the loop
device clears itself, so both vanish with the last process. loop(4): LOOP_CONFIGURE,
LO_FLAGS_AUTOCLEAR.
"""

import errno
import fcntl
import os
import shutil
import stat
import struct
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from atoll.domain.errors import Failed, LimitReached, Unavailable
from atoll.zygote.host import kernel

DEFAULT_BYTES = 10 * 2**30

_CLONE = 0x40049409
"""FICLONE of ioctl_ficlonerange(2)."""

_NO_CLONES = (errno.EOPNOTSUPP, errno.ENOTTY, errno.EINVAL, errno.EXDEV)
_LOOP_CTL_GET_FREE = 0x4C82
_LOOP_CONFIGURE = 0x4C0A
_AUTOCLEAR = 4
_LOOP_MAJOR = 7
_TRIES = 64
_FORMAT = (
    # Everything that is not a hole lies together and is little: 124 KiB for 10 GiB instead of
    # 4.2 MiB, so a copy costs a tenth. The image never grows, and its backup is the template.
    "-O",
    "^resize_inode,sparse_super2",
    "-E",
    "lazy_itable_init=1,lazy_journal_init=1,nodiscard,packed_meta_blocks=1,num_backup_sb=0",
)
_MOUNT_OPTIONS = "discard,noinit_itable"
"""The inode tables are holes, so zero already: without the second option the kernel would write
160 MiB of zeros into every 10 GiB image."""

_CHUNK_BYTES = 16 * 2**20


def can_mount() -> bool:
    """Return whether this process has loop devices and mkfs.ext4."""
    return os.access("/dev/loop-control", os.R_OK | os.W_OK) and mkfs() is not None


def mkfs() -> str | None:
    """Return the path of mkfs.ext4; None without it."""
    return shutil.which("mkfs.ext4", path="/usr/sbin:/sbin:/usr/bin:/bin")


def template(folder: Path, size: int) -> Path:
    """Return an empty image of `size` bytes below `folder`, made once. Raises `Failed`."""
    path = folder / f"template-{size}"
    if path.exists():
        return path
    program = mkfs()
    if program is None:
        raise Failed("mkfs.ext4 is missing: install e2fsprogs")
    making = folder / f"new-template-{size}-{os.getpid()}"
    with making.open("wb") as blank:
        blank.truncate(size)
    done = subprocess.run(
        [program, "-q", "-F", "-m", "0", *_FORMAT, str(making)],
        capture_output=True,
        timeout=60,
        check=False,
        env={},
    )
    if done.returncode != 0:
        making.unlink()
        raise Failed(f"mkfs.ext4 failed: {done.stderr.decode(errors='replace').strip()}")
    making.chmod(0o600)
    making.replace(path)
    return path


def clone(source: Path, target: Path, *, until: float | None = None) -> None:
    """Make `target` hold what `source` does: by sharing its blocks where the disk can (XFS, Btrfs),
    else by copying what is not a hole. Raises `OSError`, and `Unavailable` for a copy that is not
    done at the time `until` of the monotonic clock; a partial target is removed."""
    with source.open("rb") as old:
        clone_open(old.fileno(), target, until=until)


def clone_open(old: int, target: Path, *, until: float | None = None) -> None:
    """Do the same with what the descriptor `old` reads."""
    with target.open("xb") as new:
        try:
            os.fchmod(new.fileno(), 0o600)
            copy_content(old, new.fileno(), lambda: _check_time(until))
        except (OSError, Unavailable):
            target.unlink()
            raise


def copy_content(old: int, new: int, check: Callable[[], None]) -> None:
    """Give the new file of the descriptor `new` the content of `old`: by sharing its blocks where
    the disk can, else by copying what is not a hole. `check` is called again and again, and may
    raise. Raises `OSError`."""
    if not _share_blocks(old, new):
        _copy_sparse(old, new, check)


def _check_time(until: float | None) -> None:
    if until is not None and time.monotonic() > until:
        raise Unavailable(
            "copying the disk took too long: stop the sandbox first, or have its disk on XFS or "
            "Btrfs"
        )


def clones(folder: Path) -> bool:
    """Return whether files in `folder` can share blocks."""
    tried = folder / f"new-template-clone-{os.getpid()}"
    try:
        with tried.open("w+b") as one:
            one.write(bytes(4096))
            one.flush()
            with tried.with_suffix(".copy").open("xb") as other:
                return _share_blocks(one.fileno(), other.fileno())
    finally:
        tried.unlink(missing_ok=True)
        tried.with_suffix(".copy").unlink(missing_ok=True)


def _share_blocks(old: int, new: int) -> bool:
    """Have a new file share all blocks of another; returns whether this disk can do that."""
    try:
        fcntl.ioctl(new, _CLONE, old)
    except OSError as err:
        if err.errno not in _NO_CLONES:
            raise
        return False
    return True


def _copy_sparse(old: int, new: int, check: Callable[[], None]) -> None:
    """Copy only what is not a hole."""
    os.ftruncate(new, os.fstat(old).st_size)
    at = 0
    while (begin := _next_data(old, at)) is not None:
        at = os.lseek(old, begin, os.SEEK_HOLE)
        _copy_range(old, new, begin, at, check=check)


def _next_data(fd: int, at: int) -> int | None:
    try:
        return os.lseek(fd, at, os.SEEK_DATA)
    except OSError as err:
        if err.errno == errno.ENXIO:
            return None
        raise


def _copy_range(
    source: int, target: int, begin: int, end: int, *, check: Callable[[], None]
) -> None:
    while begin < end:
        check()
        count = min(end - begin, _CHUNK_BYTES)
        copied = os.copy_file_range(source, target, count, begin, begin)
        if not copied:
            return  # it became shorter meanwhile
        begin += copied


def mount_image(image: Path, place: Path) -> str:
    """Mount `image` at `place`, nosuid and nodev; returns the loop device's name.
    Raises `LimitReached` without a free loop device, `OSError` when the mount fails."""
    backing = os.open(image, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        device, loop = _attach(backing)
    finally:
        os.close(backing)
    try:
        mount_device(device, place)
    finally:
        os.close(loop)
    return device


def mount_device(device: str, place: Path) -> None:
    """Mount the image behind a loop device at `place`. Raises `OSError`."""
    place.mkdir(mode=0o711, exist_ok=True)
    flags = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOATIME
    kernel.mount(device, str(place), "ext4", flags, data=_MOUNT_OPTIONS)


def _attach(backing: int) -> tuple[str, int]:
    """Attach `backing` to a free loop device. Returns its path and its descriptor."""
    control = os.open("/dev/loop-control", os.O_RDWR | os.O_CLOEXEC)
    try:
        for _try in range(_TRIES):
            number = fcntl.ioctl(control, _LOOP_CTL_GET_FREE)
            device = _node(number)
            loop = os.open(device, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.ioctl(loop, _LOOP_CONFIGURE, _loop_config(backing))
            except OSError as err:
                os.close(loop)
                if err.errno != errno.EBUSY:
                    raise
                continue  # another start took the same free number first
            return device, loop
    finally:
        os.close(control)
    raise LimitReached("no free loop device: destroy a sandbox, or load loop with more devices")


def _loop_config(backing: int) -> bytes:
    # struct loop_config {u32 fd, u32 block_size, struct loop_info64 info, u64 reserved[8]};
    # only lo_flags of the info is set: it follows 5 u64 and 3 u32.
    info = bytes(5 * 8 + 3 * 4) + struct.pack("<I", _AUTOCLEAR)
    return struct.pack("<II", backing, 0) + info.ljust(232, b"\0") + bytes(64)


def _node(number: int) -> str:
    path = f"/dev/loop{number}"
    if not Path(path).exists():
        # A container's /dev may not follow the kernel's.
        os.mknod(path, stat.S_IFBLK | 0o600, os.makedev(_LOOP_MAJOR, number))
    return path


def loops_of(image: Path) -> list[str]:
    """Return the loop devices that still use `image`."""
    every = Path("/sys/block").glob("loop*/loop/backing_file")
    return [each.parent.parent.name for each in every if _uses(each, image)]


def _uses(backing: Path, image: Path) -> bool:
    try:
        shown = backing.read_text().strip()
    except OSError:
        return False
    return shown.removesuffix(" (deleted)") == str(image)


@dataclass(frozen=True, slots=True)
class HeldLoop:
    """A loop device that stays the same one's while `fd` is open."""

    name: str
    fd: int


def hold_loop(image: Path) -> HeldLoop | None:
    """Return the loop device that `image` is mounted from, None without one. The caller closes
    it."""
    for name in loops_of(image):
        try:
            fd = os.open(f"/dev/{name}", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue
        # It may have been cleared, and given to another image, before it was open.
        if _uses(Path("/sys/block") / name / "loop" / "backing_file", image):
            return HeldLoop(name, fd)
        os.close(fd)
    return None
