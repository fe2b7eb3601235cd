"""The DiskImages port: sparse files that contents are read from and written to.

Calls read and write files: they are made in threads. The end of a context waits for calls under
way; later ones raise `Failed`, and touch no file.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol


class DiskImage(Protocol):
    """An open image, which several threads may read."""

    @property
    def size(self) -> int:
        """The length in bytes, holes among them."""
        ...

    def data_spans(self) -> Iterator[tuple[int, int]]:
        """Yield the beginning and the end of what is no hole, in order. Raises `Failed`."""
        ...

    def read(self, offset: int, length: int) -> bytes:
        """Return the bytes there, fewer at the end alone. Raises `Failed`."""
        ...


class DiskImageDraft(Protocol):
    """An image that is being written, which several threads may do."""

    def write(self, offset: int, data: bytes | memoryview) -> None:
        """Write bytes there; what is never written is a hole. Raises `LimitReached` where the disk
        is full, `Failed`."""
        ...

    def commit(self, size: int) -> None:
        """Give the image its length and its name, durably. Raises `Conflict` where there is a file
        of that name by now, which stays; else as `write`."""
        ...


class DiskImages(Protocol):
    """Images of disks by their paths."""

    def open(self, source: Path | int) -> AbstractContextManager[DiskImage]:
        """Open an image by its path, or by a descriptor, which stays open. A link is not followed.
        Raises `NotFound`, `Invalid` for neither a file nor a disk, `Failed`."""
        ...

    def draft(self, into: Path) -> AbstractContextManager[DiskImageDraft]:
        """Begin a new image, mode 0600. What is not committed when the context ends, or when the
        process is killed, leaves nothing. Raises `Conflict` where there is one already,
        `Failed`."""
        ...
