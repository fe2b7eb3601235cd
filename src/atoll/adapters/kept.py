"""Kept worktrees as directories below one of the home's:
`ID/{kept.json,tree.tar,commits-N.bundle}`.

A draft is written under a name of its own and renamed when it is whole, so a crash leaves nothing
that looks kept. Only the control plane may enter; it never opens what it wrote.
"""

import asyncio
import os
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import msgspec

from atoll.adapters.settled import remove_tree, run_to_end
from atoll.domain.errors import AtollError, Failed, LimitReached, NotFound
from atoll.domain.size import spelled_size
from atoll.ports.kept import KeptWorktree
from atoll.wire.http.unreadable import UNREADABLE

RECORD = "kept.json"
READ_BYTES = 256 * 1024
HOLE_BYTES = 64 * 1024
"""The shortest run of zeros that becomes a hole in a file on the disk."""
KEPT_FREE_BYTES = 512 * 2**20
"""The free space that a kept worktree leaves on the disk."""

_ZEROS = bytes(HOLE_BYTES)
_ID = re.compile(r"[a-z]+_[A-Za-z0-9]{1,60}\Z")
_FILE = re.compile(r"tree\.tar\Z|commits-[0-9]{1,9}\.bundle\Z")
_DRAFT = ".new-"


class KeptFolder:
    """The `ports.kept.KeptShelf` below `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def sweep(self) -> None:
        """Delete the drafts of an earlier run."""
        for left in self._folder.glob(f"{_DRAFT}*"):
            shutil.rmtree(left, ignore_errors=True)

    @asynccontextmanager
    async def draft(self, kept_id: str) -> "AsyncIterator[FolderDraft]":
        """See the port."""
        place = self._folder / f"{_DRAFT}{kept_id}"
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            place.mkdir(mode=0o700)
        except OSError as error:
            raise _write_error(error) from error
        try:
            yield FolderDraft(place, self._folder / kept_id)
        finally:
            await remove_tree(place)

    async def list(self) -> tuple[KeptWorktree, ...]:
        """See the port."""
        found = await asyncio.to_thread(_records, self._folder)
        return tuple(sorted(found, key=lambda one: one.kept_at, reverse=True))

    async def find(self, kept_id: str) -> KeptWorktree:
        """See the port."""
        return await asyncio.to_thread(_record, self._place(kept_id))

    async def read(self, kept_id: str, name: str) -> AsyncIterator[bytes]:
        """See the port."""
        if not _FILE.match(name):
            raise NotFound(f"A kept worktree has no file {name[:80]!r}.")
        try:
            source = os.open(self._place(kept_id) / name, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise _unknown(kept_id) from error
        try:
            while piece := await asyncio.to_thread(os.read, source, READ_BYTES):
                yield piece
        finally:
            os.close(source)

    async def remove(self, kept_id: str) -> None:
        """See the port."""
        await asyncio.to_thread(_remove, self._place(kept_id))

    def _place(self, kept_id: str) -> Path:
        if not _ID.match(kept_id):
            raise _unknown(kept_id)
        return self._folder / kept_id


class FolderDraft:
    """The `ports.kept.KeptDraft` in the directory `place`, which becomes `target`."""

    def __init__(self, place: Path, target: Path) -> None:
        self._place = place
        self._target = target
        self._bytes = 0
        # Zeros take no space, so content that would not fit otherwise is refused by its size.
        self._most_bytes = 0

    async def admit(self, size: int) -> None:
        """See the port."""
        try:
            room = max(0, self._room())
        except OSError as error:
            raise _write_error(error) from error
        if size > room:
            raise LimitReached(
                f"The worktree is {spelled_size(size)} large and the server's disk has room for "
                f"{spelled_size(room)}: nothing was written. Free some space there, or remove "
                "large (also sparse) files inside, then try again."
            )

    async def write(self, name: str, pieces: AsyncIterator[bytes]) -> None:
        """See the port."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            file = os.open(self._place / name, flags, 0o600)
            self._most_bytes = self._bytes + self._room()
            try:
                async for piece in pieces:
                    await asyncio.to_thread(self._append, file, piece)
                await asyncio.to_thread(os.fsync, file)
            finally:
                os.close(file)
        except OSError as error:
            raise _write_error(error) from error

    def _append(self, file: int, piece: bytes) -> None:
        if self._bytes + len(piece) > self._most_bytes or self._room() < len(piece):
            raise LimitReached(
                "The server's disk is nearly full, or would be: free some space, or remove large "
                "(also sparse) files inside, then try again."
            )
        for at in range(0, len(piece), HOLE_BYTES):
            part = piece[at : at + HOLE_BYTES]
            if part == _ZEROS[: len(part)]:
                os.ftruncate(file, os.lseek(file, len(part), os.SEEK_CUR))
            else:
                _write_whole(file, part)
        self._bytes += len(piece)

    def _room(self) -> int:
        return shutil.disk_usage(self._place).free - KEPT_FREE_BYTES

    async def commit(self, kept: KeptWorktree) -> KeptWorktree:
        """See the port."""
        whole = replace(kept, bytes=self._bytes, path=str(self._target))
        await self.write(RECORD, _as_stream(msgspec.json.encode(whole)))
        try:
            await run_to_end(asyncio.to_thread(self._place.rename, self._target))
            await asyncio.to_thread(_sync_folder, self._target.parent)
        except OSError as error:
            raise _write_error(error) from error
        return whole


def _write_whole(file: int, part: bytes) -> None:
    rest = memoryview(part)
    while rest:
        rest = rest[os.write(file, rest) :]


async def _as_stream(piece: bytes) -> AsyncIterator[bytes]:
    """Yield the bytes as one piece."""
    yield piece


def _records(folder: Path) -> list[KeptWorktree]:
    found = []
    for place in folder.iterdir() if folder.exists() else ():
        if _ID.match(place.name):
            try:
                found.append(_record(place))
            except AtollError:
                continue  # removed meanwhile, or not a kept worktree
    return found


def _record(place: Path) -> KeptWorktree:
    try:
        return msgspec.json.decode((place / RECORD).read_bytes(), type=KeptWorktree)
    except FileNotFoundError as error:
        raise _unknown(place.name) from error
    except (OSError, *UNREADABLE) as error:
        raise Failed(f"The record of kept worktree {place.name} cannot be read.") from error


def _remove(place: Path) -> None:
    # The record goes first: a half-removed worktree is not listed any more.
    (place / RECORD).unlink(missing_ok=True)
    shutil.rmtree(place, ignore_errors=True)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_error(error: OSError) -> Failed:
    return Failed(f"The worktree cannot be written on the server: {error.strerror}.")


def _unknown(kept_id: str) -> NotFound:
    return NotFound(f"No worktree {kept_id[:80]!r} is kept here: list them to see which there are.")
