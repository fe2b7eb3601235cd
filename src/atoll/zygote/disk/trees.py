"""Copies of folders that an agent filled, and their removal.

Without root a sandbox's files lie in plain folders. Whoever copies them is the person: a link that
leads out must lead nowhere. So each name is opened beneath the folder it was found in, and no link
is followed (openat2(2)). Links are copied as text; sockets, pipes and devices are left out. Hard
links stay links to each other, not to what else they may be links to.
"""

import os
import shutil
import stat
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from atoll.domain.errors import Invalid, LimitReached, Unavailable
from atoll.domain.size import MIB
from atoll.zygote.disk import image
from atoll.zygote.host import kernel

PARTS = ("workspace", "state")
"""The folders that are kept of a sandbox's files."""

MAX_DEPTH = 200
"""The folders below one another: each takes three open files while its contents are copied."""

MAX_ENTRIES = 2_000_000

MAX_LINKED_BYTES = 64 * MIB
"""The memory for paths of files that have further names; what comes then is a copy of its own."""

COPY_SECONDS = 300.0
"""The longest time that a copy takes while nothing runs inside."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_KEPT_MODE = 0o1777
"""The mode bits of a copy: no S_ISUID and S_ISGID, for it may belong to the person."""

_BLOCK_BYTES = 512
_ENTRY_BYTES = 512
"""The bytes that a name and an inode take on the disk, about: no empty file is free."""

_LINK_BYTES = 256
"""The bytes that a known link takes in memory beside its path."""

_MAX_PATH = 4000
"""The longest path that link(2) takes, about, in bytes (PATH_MAX)."""

_FREE_ENTRIES_PERCENT = 5
_CHECKED_ENTRIES = 64


@dataclass(frozen=True, slots=True)
class CopyBounds:
    """Bounds of a copy: it is done at the time `until` of the monotonic clock, and leaves `low`
    bytes of the disk free."""

    until: float
    low: int

    def check(self, target: int) -> None:
        """Raise `Unavailable` or `LimitReached` for a copy to `target` that is beyond them."""
        if time.monotonic() > self.until:
            raise Unavailable(
                "copying the files took too long: stop the sandbox first, or have fewer of them"
            )
        disk = os.fstatvfs(target)
        if disk.f_bavail * disk.f_frsize < self.low:
            raise LimitReached(
                f"a copy of the files would leave less than {self.low // MIB} MiB of the disk free"
            )
        # Some file systems make inodes as they are needed, and say 0.
        if disk.f_favail * 100 < disk.f_files * _FREE_ENTRIES_PERCENT:
            raise LimitReached(
                f"a copy of the files would leave less than {_FREE_ENTRIES_PERCENT} % of the "
                "disk's inodes free"
            )


@dataclass(slots=True)
class TreeCopy:
    """Copy of a sandbox's files, which belong to `owner` then; None: to whoever copies them.
    `size` is the bytes that it takes on the disk."""

    bounds: CopyBounds
    owner: int | None = None
    size: int = 0
    _entries: int = 0
    _linked: dict[tuple[int, int], str] = field(default_factory=dict)
    _linked_bytes: int = 0
    _top: int = -1

    def copy(self, source: Path, target: Path) -> None:
        """Copy the parts of `source` that are there to the new folder `target`. Raises `Invalid`,
        `LimitReached`, `Unavailable`, `OSError`; a partial target is the caller's to remove."""
        target.mkdir(mode=0o700)
        old = os.open(source, _FOLDER)
        try:
            self._top = os.open(target, _FOLDER)
            try:
                for part in PARTS:
                    self._copy_entry(old, self._top, part, part, 0)
            finally:
                os.close(self._top)
        except PermissionError as err:
            raise Invalid(
                "there is a file or a folder among its files that its owner may not read: "
                "`chmod -R u+rX` there, and try again"
            ) from err
        finally:
            os.close(old)

    def _copy_entry(self, old: int, new: int, name: str, path: str, depth: int) -> None:
        self._entries += 1
        self.size += _ENTRY_BYTES
        if self._entries > MAX_ENTRIES:
            raise LimitReached(f"there are more than {MAX_ENTRIES} files: no snapshot is made")
        if self._entries % _CHECKED_ENTRIES == 0:
            self.bounds.check(new)
        try:
            status = os.stat(name, dir_fd=old, follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                self._copy_folder(old, new, name, path, depth)
            elif stat.S_ISREG(status.st_mode):
                self._copy_file(old, new, name, path)
            elif stat.S_ISLNK(status.st_mode):
                self._copy_link(old, new, name, status)
        except FileNotFoundError:
            return  # removed by the runtime, which goes on

    def _copy_folder(self, old: int, new: int, name: str, path: str, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise LimitReached(f"there are more than {MAX_DEPTH} folders below one another")
        source = kernel.open_beneath(old, name, _FOLDER)
        try:
            os.mkdir(name, 0o700, dir_fd=new)
            target = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=new)
            try:
                with os.scandir(source) as entries:
                    # One after the other: a folder may have more names than memory.
                    for each in entries:
                        under = f"{path}/{each.name}"
                        self._copy_entry(source, target, each.name, under, depth + 1)
                self._finish(source, target)
            finally:
                os.close(target)
        finally:
            os.close(source)

    def _copy_file(self, old: int, new: int, name: str, path: str) -> None:
        source = kernel.open_beneath(old, name, _FILE)
        try:
            status = os.fstat(source)
            if not stat.S_ISREG(status.st_mode) or self._link(status, new, name):
                return
            target = os.open(name, _NEW_FILE, 0o600, dir_fd=new)
            try:
                image.copy_content(source, target, lambda: self.bounds.check(target))
                self._finish(source, target)
            finally:
                os.close(target)
            if status.st_nlink > 1:
                self._remember(status, path)
        finally:
            os.close(source)

    def _link(self, status: os.stat_result, new: int, name: str) -> bool:
        """Link to the copy of the same file; returns False where there is none."""
        first = self._linked.get((status.st_dev, status.st_ino))
        if first is None:
            return False
        try:
            os.link(first, name, src_dir_fd=self._top, dst_dir_fd=new, follow_symlinks=False)
        except OSError:
            return False  # too many links: a copy of its own then
        return True

    def _remember(self, status: os.stat_result, path: str) -> None:
        """Remember a copy that further names may be links to, within what memory there is."""
        length = len(os.fsencode(path))
        self._linked_bytes += length + _LINK_BYTES
        if length <= _MAX_PATH and self._linked_bytes <= MAX_LINKED_BYTES:
            self._linked[status.st_dev, status.st_ino] = path

    def _copy_link(self, old: int, new: int, name: str, status: os.stat_result) -> None:
        os.symlink(os.readlink(name, dir_fd=old), name, dir_fd=new)
        if self.owner is not None:
            os.chown(name, self.owner, self.owner, dir_fd=new, follow_symlinks=False)
        moments = (status.st_atime_ns, status.st_mtime_ns)
        os.utime(name, ns=moments, dir_fd=new, follow_symlinks=False)

    def _finish(self, source: int, target: int) -> None:
        """Give a copy its owner, mode and time."""
        status = os.fstat(source)
        if self.owner is not None:
            os.fchown(target, self.owner, self.owner)
        os.fchmod(target, status.st_mode & _KEPT_MODE)
        os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
        self.size += os.fstat(target).st_blocks * _BLOCK_BYTES


def remove_tree(folder: Path) -> str:
    """Remove a tree that an agent may have filled, with any depth and any modes, following no link.
    Returns the error, empty when all is gone."""
    try:
        shutil.rmtree(folder)
        return ""
    except (OSError, RecursionError):
        pass
    # Thousands of levels, or folders without permissions of their own: rm walks by
    # descriptors, and chmod -R follows no link it meets.
    error = ""
    for argv in (
        ["chmod", "-R", "u+rwX", "--", str(folder)],
        ["rm", "-rf", "--one-file-system", "--", str(folder)],
    ):
        done = subprocess.run(argv, capture_output=True, check=False, env={"PATH": os.defpath})
        error = done.stderr.decode(errors="replace").strip()
    return error.splitlines()[0] if folder.exists() and error else ""
