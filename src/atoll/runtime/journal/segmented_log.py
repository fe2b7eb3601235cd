"""A log of numbered lines in segment files, which its reader acknowledges.

Numbers only grow, also over restarts of the process. There is no fsync: a log survives its process,
not the host. A line is JSON with its number as `n`; what the lines are is the concern of `Journal`
and `Spool`.
"""

import asyncio
import logging
from collections.abc import Iterator
from enum import Enum
from itertools import pairwise
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import msgspec

from atoll.runtime.journal.line_file import LineFile
from atoll.wire.http.unreadable import UNREADABLE

log = logging.getLogger("atoll.runtime")

SEGMENTS = 16
"""The files of a log that is full, about."""

_OWNER_ONLY = 0o600


class Overflow(Enum):
    """The policy of a log that is full, or whose disk is."""

    DROP_OLDEST = "drop the oldest, and say so"
    """Every append succeeds. Entries that go unread, or that the disk does not take, are counted as
    dropped; an unreadable line is passed over."""

    WAIT = "wait for room"
    """Nothing is dropped, and numbers have no gaps: writers wait for room, and try again."""


class Numbered(Protocol):
    """An entry as it is read."""

    @property
    def n(self) -> int:
        """The number of the entry."""
        ...


E = TypeVar("E", bound=Numbered)


class _Mark(msgspec.Struct):
    """Numbers that outlive the segments."""

    acked: int = 0
    dropped: int = 0
    last: int = 0


class SegmentedLog(Generic[E]):
    """The log in one directory, which one process writes at a time."""

    def __init__(self, folder: Path, entry: type[E], max_bytes: int, overflow: Overflow) -> None:
        """Continue what is there. Raises `OSError` when the directory cannot be used."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._decoder = msgspec.json.Decoder(entry)
        self._max_bytes = max_bytes
        self._drops = overflow is Overflow.DROP_OLDEST
        self._mark = _read_mark(folder / "mark.json")
        self._sizes = {
            int(path.stem): path.stat().st_size for path in sorted(folder.glob("[0-9]*.jsonl"))
        }
        """The bytes of each segment by its first number, oldest first."""
        self._newest = self._open_newest()
        self.last = max(self._mark.last, self._highest())
        # A sudden death may have come before they were removed.
        self._remove_acknowledged()
        self._rung = self.last
        self._bell = asyncio.Event()
        self._closed = False

    @property
    def acknowledged(self) -> int:
        """The highest number that was acknowledged."""
        return self._mark.acked

    @property
    def dropped(self) -> int:
        """The number of entries that nobody can read any more, though nobody had read them."""
        return self._mark.dropped

    @property
    def full(self) -> bool:
        """True while nothing more is to be added to a log that drops nothing."""
        return sum(self._sizes.values()) >= self._max_bytes

    async def room(self) -> None:
        """Wait until there is room."""
        while self.full:
            await self._bell.wait()

    def append(self, line: bytes) -> int:
        """Write the line of the number that follows `last`, and return that. Raises `OSError` when
        nothing may be dropped; then there is no entry."""
        try:
            newest = self._segment_for(len(line) + 1)
            newest.append(line)
            self._sizes[next(reversed(self._sizes))] = newest.size
        except OSError as error:
            if not self._drops:
                raise
            self._mark.dropped += 1
            log.error("entry %d of %s is lost: %s", self.last + 1, self._folder, error)
        self.last += 1
        return self.last

    def read(self, after: int, limit: int, max_bytes: int | None = None) -> list[E]:
        """Return up to `limit` entries above `after` and above what was acknowledged. The last one
        that begins within `max_bytes` is whole."""
        floor = max(after, self._mark.acked)
        entries: list[E] = []
        size = 0
        for start, following in pairwise([*self._sizes, self.last + 1]):
            if following <= floor + 1:
                continue
            for entry, length in self._entries(start):
                if entry.n <= floor:
                    continue
                if len(entries) == limit or (max_bytes is not None and size >= max_bytes):
                    return entries
                entries.append(entry)
                size += length
        return entries

    def acknowledge(self, n: int) -> None:
        """Forget entries up to `n`: whole segments go, the rest is only hidden. Raises
        `OSError`."""
        self._mark.acked = max(self._mark.acked, min(n, self.last))
        # First: without the segments only the mark knows the numbers.
        self._save()
        self._remove_acknowledged()
        self._swing()

    def ring(self) -> None:
        """Wake all who wait for entries up to the newest."""
        self._rung = self.last
        self._swing()

    async def wait(self, after: int, seconds: float) -> None:
        """Return when an entry above `after` was rung for, after `seconds`, or at the end."""
        try:
            async with asyncio.timeout(seconds):
                while self._rung <= max(after, self._mark.acked) and not self._closed:
                    await self._bell.wait()
        except TimeoutError:
            return

    def release(self) -> None:
        """Let go of everybody who waits for entries, now and from now on."""
        self._closed = True
        self._swing()

    def close(self) -> None:
        """Put the numbers on disk and let go of the file."""
        self.release()
        self._try_to_save()
        if self._newest is not None:
            self._newest.close()
            self._newest = None

    def _swing(self) -> None:
        bell, self._bell = self._bell, asyncio.Event()
        bell.set()

    def _segment_for(self, length: int) -> LineFile:
        """Return the segment that takes a line of this length, a new one where there is none.
        Raises `OSError`."""
        segment_bytes = max(length, self._max_bytes // SEGMENTS)
        if self._newest is not None:
            if self._newest.size + length <= segment_bytes:
                return self._newest
            self._newest.close()
            self._newest = None
        while self._drops and sum(self._sizes.values()) + segment_bytes > self._max_bytes:
            self._drop_oldest()
        start = self.last + 1
        self._newest = LineFile(self._path(start))
        self._sizes[start] = self._newest.size
        if self._drops:
            self._try_to_save()
        return self._newest

    def _drop_oldest(self) -> None:
        oldest = next(iter(self._sizes))
        floor = self._mark.acked
        self._mark.dropped += sum(entry.n > floor for entry, _ in self._entries(oldest))
        self._remove(oldest)

    def _remove_acknowledged(self) -> None:
        for start, following in pairwise([*self._sizes, self.last + 1]):
            if following <= self._mark.acked + 1:
                self._remove(start)

    def _remove(self, start: int) -> None:
        if self._newest is not None and start == next(reversed(self._sizes)):
            self._newest.close()
            self._newest = None
        del self._sizes[start]
        self._path(start).unlink(missing_ok=True)

    def _save(self) -> None:
        self._mark.last = self.last
        fresh = self._folder / "mark.json.new"
        fresh.write_bytes(msgspec.json.encode(self._mark))
        fresh.replace(self._folder / "mark.json")

    def _try_to_save(self) -> None:
        try:
            self._save()
        except OSError as error:
            log.error("the mark of %s could not be saved: %s", self._folder, error)

    def _path(self, start: int) -> Path:
        return self._folder / f"{start:016d}.jsonl"

    def _open_newest(self) -> LineFile | None:
        """Open the newest segment; what a sudden death tore off goes."""
        if not self._sizes:
            return None
        start = next(reversed(self._sizes))
        newest = LineFile(self._path(start))
        self._sizes[start] = newest.size
        return newest

    def _highest(self) -> int:
        """Return the highest number on disk."""
        for start in reversed(self._sizes):
            if numbers := [entry.n for entry, _ in self._entries(start)]:
                return max(numbers)
        return 0

    def _entries(self, start: int) -> Iterator[tuple[E, int]]:
        """Yield the entries of a segment, and the bytes of each."""
        try:
            lines = self._path(start).read_bytes().split(b"\n")
        except FileNotFoundError:
            return
        for line in lines:
            try:
                yield self._decoder.decode(line), len(line)
            except UNREADABLE:
                if line and not self._drops:
                    raise


def _read_mark(path: Path) -> _Mark:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Mark)
    except (FileNotFoundError, *UNREADABLE):
        return _Mark()
