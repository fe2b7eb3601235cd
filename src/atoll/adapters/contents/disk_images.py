"""Disk images as sparse files, and block devices to read."""

import errno
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from atoll.adapters.blobs.new_file import NewFile, new_file
from atoll.domain.errors import AtollError, Conflict, Failed, Invalid, LimitReached, NotFound

_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FULL: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_NO_HOLES: Final = {errno.EINVAL, errno.EOPNOTSUPP}


class _SharedDescriptor:
    """A descriptor that threads use until it is closed. Its number is another file's afterwards: a
    thread that nobody waits for any more, as its task was cancelled, must not use it then."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._changed = threading.Condition()
        self._users = 0
        self._is_closed = False

    @contextmanager
    def use(self) -> Iterator[int]:
        """Keep the descriptor open meanwhile. Raises `Failed` once it is closed."""
        with self._changed:
            if self._is_closed:
                raise Failed("the image is not open any more")
            self._users += 1
        try:
            yield self._descriptor
        finally:
            with self._changed:
                self._users -= 1
                self._changed.notify_all()

    def retire(self) -> None:
        """Wait for whoever uses the descriptor, and refuse it to others."""
        with self._changed:
            self._is_closed = True
            self._changed.wait_for(lambda: not self._users)


class FileImage:
    """The `ports.contents.images.DiskImage` at a descriptor, which its context closes."""

    def __init__(self, descriptor: int) -> None:
        status = os.fstat(descriptor)
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISBLK(status.st_mode)):
            raise Invalid("an image is a file, or a disk")
        self._shared = _SharedDescriptor(descriptor)
        self._is_disk = stat.S_ISBLK(status.st_mode)
        self._size = os.lseek(descriptor, 0, os.SEEK_END) if self._is_disk else status.st_size

    def retire(self) -> None:
        """Wait for calls under way, and refuse others."""
        self._shared.retire()

    @property
    def size(self) -> int:
        """See the port."""
        return self._size

    def data_spans(self) -> Iterator[tuple[int, int]]:
        """See the port."""
        at = 0
        while at < self._size:
            try:
                with self._shared.use() as descriptor:
                    start = os.lseek(descriptor, at, os.SEEK_DATA)
                    end = os.lseek(descriptor, start, os.SEEK_HOLE)
            except OSError as error:
                if error.errno == errno.ENXIO:  # a hole to the end
                    return
                if not self._is_disk and error.errno not in _NO_HOLES:
                    raise _refusal(error) from error
                start, end = at, self._size
            yield start, min(end, self._size)
            at = end

    def read(self, offset: int, length: int) -> bytes:
        """See the port."""
        pieces = []
        try:
            with self._shared.use() as descriptor:
                while length and (data := os.pread(descriptor, length, offset)):
                    pieces.append(data)
                    offset, length = offset + len(data), length - len(data)
        except OSError as error:
            raise _refusal(error) from error
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)


class FileImageDraft:
    """The `ports.contents.images.DiskImageDraft` in a file that has no name yet."""

    def __init__(self, file: NewFile, into: Path) -> None:
        self._file = file
        self._into = into
        self._shared = _SharedDescriptor(file.descriptor)

    def retire(self) -> None:
        """Wait for calls under way, and refuse others."""
        self._shared.retire()

    def write(self, offset: int, data: bytes | memoryview) -> None:
        """See the port."""
        rest = memoryview(data)
        try:
            with self._shared.use() as descriptor:
                while rest:
                    count = os.pwrite(descriptor, rest, offset)
                    rest, offset = rest[count:], offset + count
        except OSError as error:
            raise _refusal(error) from error

    def commit(self, size: int) -> None:
        """See the port."""
        try:
            with self._shared.use() as descriptor:
                os.ftruncate(descriptor, size)
                self._file.link(self._into)
        except FileExistsError as error:
            raise _exists(self._into) from error
        except OSError as error:
            raise _refusal(error) from error


class FileImages:
    """The `ports.contents.images.DiskImages` of this machine."""

    @contextmanager
    def open(self, source: Path | int) -> Iterator[FileImage]:
        """See the port."""
        try:
            descriptor = os.dup(source) if isinstance(source, int) else os.open(source, _READ)
        except FileNotFoundError as error:
            raise NotFound("there is no such image") from error
        except OSError as error:
            raise _refusal(error) from error
        try:
            image = FileImage(descriptor)
            try:
                yield image
            finally:
                image.retire()
        finally:
            os.close(descriptor)

    @contextmanager
    def draft(self, into: Path) -> Iterator[FileImageDraft]:
        """See the port."""
        if os.path.lexists(into):
            raise _exists(into)
        try:
            with new_file(into.parent) as file:
                draft = FileImageDraft(file, into)
                try:
                    yield draft
                finally:
                    draft.retire()
        except OSError as error:
            raise _refusal(error) from error


def _exists(into: Path) -> Conflict:
    return Conflict(f"there is a file {into.name} already: it stays")


def _refusal(error: OSError) -> AtollError:
    if error.errno in _FULL:
        return LimitReached("the image was not written: the disk is full. Free some space.")
    return Failed(f"the image: {error.strerror}")
