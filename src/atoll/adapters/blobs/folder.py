"""Blobs as files below a folder of this machine, or one that several mount.

A name's words are folders and a file, so one folder holds the blobs of one content. Files are mode
0600 and folders 0700. A file is linked to its name once its bytes are on the disk, so a process
that is killed leaves no half blob.
"""

import asyncio
import errno
import os
import stat
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Final

from atoll.adapters.blobs.new_file import DRAFT, NewFile, new_file, sync_folder
from atoll.adapters.settled import run_to_end
from atoll.domain.errors import Failed, LimitReached
from atoll.ports.contents.blobs import (
    MAX_BLOB_BYTES,
    Blob,
    check_blob_name,
    check_blob_size,
    is_blob_name,
    missing_blob,
)

FREE_BYTES: Final = 512 * 2**20
"""The free space that a blob leaves on the disk."""
DRAFT_SECONDS: Final = 24 * 3600.0
"""The age at which a draft counts as left by a process that died."""

_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FULL: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_BATCH: Final = 256
_TRIES: Final = 100


class FolderBlobs:
    """The `ports.contents.blobs.Blobs` below `folder`, which is made at the first put."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def put(self, name: str, data: bytes) -> bool:
        """See the port."""
        check_blob_name(name)
        check_blob_size(name, len(data))
        # To its end: a thread cannot be stopped, and its blob would appear after the cancellation.
        return await run_to_end(asyncio.to_thread(self._put, name, data))

    async def get(self, name: str) -> bytes:
        """See the port."""
        return await asyncio.to_thread(_read, self._path(name), name)

    async def find(self, name: str) -> Blob | None:
        """See the port."""
        return await asyncio.to_thread(_find, self._path(name), name)

    async def list(self, folder: str = "") -> AsyncIterator[Blob]:
        """See the port."""
        top = self._path(folder) if folder else self._folder
        blobs = _walk(top, folder)
        while batch := await asyncio.to_thread(_take, blobs):
            for blob in batch:
                yield blob

    async def delete(self, name: str) -> None:
        """See the port."""
        path = self._path(name)
        await run_to_end(asyncio.to_thread(self._delete, path))

    def _path(self, name: str) -> Path:
        check_blob_name(name)
        return self._folder.joinpath(*name.split("/"))

    def _put(self, name: str, data: bytes) -> bool:
        path = self._path(name)
        try:
            for _ in range(_TRIES):
                with suppress(FileNotFoundError):  # the folder was empty, and went meanwhile
                    self._make_folder(path.parent)
                    return _store(path, name, data)
        except OSError as error:
            raise _full_error(name) if error.errno in _FULL else _refusal(name, error) from error
        raise Failed(f"{name} in the folder of blobs: its folder goes again and again")

    def _make_folder(self, folder: Path) -> None:
        """Make a folder and those above it, durably."""
        missing = [folder, *folder.parents]
        missing = missing[: missing.index(self._folder) + 1]
        for place in reversed(missing):
            with suppress(FileExistsError):
                place.mkdir(mode=0o700, parents=place == self._folder)
                sync_folder(place.parent)

    def _delete(self, path: Path) -> None:
        try:
            path.unlink(missing_ok=True)
        except (NotADirectoryError, IsADirectoryError):
            return
        except OSError as error:
            raise _refusal(path.name, error) from error
        for folder in path.parents:
            if folder == self._folder or not _remove_empty(folder):
                return


def _remove_empty(folder: Path) -> bool:
    """Remove a folder that is empty; returns whether it is gone."""
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _store(path: Path, name: str, data: bytes) -> bool:
    """Store a blob in a folder that is there; returns whether there was none."""
    room = os.statvfs(path.parent)
    if room.f_bavail * room.f_frsize < len(data) + FREE_BYTES:
        raise _full_error(name)
    try:
        with new_file(path.parent) as file:
            _write(file, data)
            file.link(path)
    except FileExistsError:
        return False
    return True


def _write(file: NewFile, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file.descriptor, rest) :]


def _read(path: Path, name: str) -> bytes:
    try:
        with os.fdopen(os.open(path, _READ), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BLOB_BYTES:
                raise Failed(f"{name} in the folder of blobs is no blob of ours: it was not read")
            return file.read(MAX_BLOB_BYTES)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        raise missing_blob(name) from error
    except OSError as error:
        raise _refusal(name, error) from error


def _find(path: Path, name: str) -> Blob | None:
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _refusal(name, error) from error
    return _describe(name, status) if stat.S_ISREG(status.st_mode) else None


def _describe(name: str, status: os.stat_result) -> Blob:
    return Blob(name, status.st_size, datetime.fromtimestamp(status.st_mtime, UTC))


def _take(blobs: Iterator[Blob]) -> list[Blob]:
    """Return the next blobs of a walk, none at its end."""
    return list(islice(blobs, _BATCH))


def _walk(folder: Path, name: str) -> Iterator[Blob]:
    """Yield the blobs below a folder; old drafts are deleted on the way."""
    try:
        entries = list(os.scandir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise _refusal(name, error) from error
    for entry in entries:
        inner = f"{name}/{entry.name}" if name else entry.name
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue
        if entry.name.startswith(DRAFT):
            _sweep(Path(entry.path), status)
        elif stat.S_ISDIR(status.st_mode):
            yield from _walk(Path(entry.path), inner)
        elif stat.S_ISREG(status.st_mode) and is_blob_name(inner):
            yield _describe(inner, status)


def _sweep(draft: Path, status: os.stat_result) -> None:
    if time.time() - status.st_mtime > DRAFT_SECONDS:
        draft.unlink(missing_ok=True)


def _full_error(name: str) -> LimitReached:
    return LimitReached(
        f"{name} was not stored: the disk of the folder of blobs is nearly full. Free some space."
    )


def _refusal(name: str, error: OSError) -> Failed:
    return Failed(f"{name} in the folder of blobs: {error.strerror}")
