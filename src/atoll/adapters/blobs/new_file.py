"""Files that appear under their name whole, or not at all.

A file without a name is written first, synced, and then linked to its name. A process that is
killed before leaves nothing: the kernel frees what has no name.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Final

DRAFT: Final = ".new-"
"""The beginning of the names of drafts, on file systems that make no file without a name."""

_UNNAMED: Final = os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC
_NAMED: Final = os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NO_UNNAMED: Final = {errno.EISDIR, errno.EINVAL, errno.EOPNOTSUPP}
"""Errors of file systems that make no file without a name (NFS is one)."""


class NewFile:
    """A file that has no name yet, mode 0600, open for writing as `descriptor`."""

    def __init__(self, descriptor: int, draft: Path | None) -> None:
        self.descriptor = descriptor
        self._draft = draft

    def link(self, path: Path) -> None:
        """Sync the file and give it its name, durably. Raises `FileExistsError` where there is one
        of that name, which stays; `OSError`."""
        os.fsync(self.descriptor)
        source = self._draft or Path(f"/proc/self/fd/{self.descriptor}")
        folder = os.open(path.parent, _FOLDER)
        try:
            # With a folder's descriptor the link in /proc is followed; without one it is linked.
            os.link(source, path.name, dst_dir_fd=folder, follow_symlinks=True)
            os.fsync(folder)
        finally:
            os.close(folder)


@contextmanager
def new_file(folder: Path) -> Iterator[NewFile]:
    """Open a new file in a folder. One that was not linked is gone when the context ends. Raises
    `OSError`."""
    draft: Path | None = None
    try:
        descriptor = os.open(folder, _UNNAMED, 0o600)
    except OSError as error:
        if error.errno not in _NO_UNNAMED:
            raise
        draft = folder / f"{DRAFT}{token_hex(8)}"
        descriptor = os.open(draft, _NAMED, 0o600)
    try:
        yield NewFile(descriptor, draft)
    finally:
        os.close(descriptor)
        if draft is not None:
            with suppress(FileNotFoundError):
                draft.unlink()


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable. Raises `OSError`."""
    descriptor = os.open(folder, _FOLDER)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
