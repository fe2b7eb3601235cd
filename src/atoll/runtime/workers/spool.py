"""The spool of one worker: numbered entries on disk, bounded in bytes, until acknowledged.

It drops nothing: whoever adds to it waits for room first. Numbers begin with 1, have no gaps, and
go on after a restart. There is no fsync: a spool survives its process, not the host.
"""

import asyncio
from itertools import pairwise
from pathlib import Path

import msgspec

from atoll.runtime.clock import timestamp
from atoll.runtime.workers.line_file import LineFile
from atoll.wire.contract.workers import EntryKind, SpoolEntry, SpoolPage
from atoll.wire.http.unreadable import UNREADABLE

SPOOL_BYTES = 8 * 1024 * 1024
PAGE_BYTES = 4 * 1024 * 1024
SEGMENTS = 16


class _Mark(msgspec.Struct):
    """Numbers that outlive the segments."""

    acked: int = 0
    last: int = 0


class Spool:
    """The spool in one directory, which one process writes at a time."""

    def __init__(self, folder: Path, max_bytes: int = SPOOL_BYTES) -> None:
        """Continue what is there. Raises `OSError`."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._max_bytes = max_bytes
        self._mark = _read_mark(folder / "mark.json")
        self._segments = {
            int(path.stem): LineFile(path) for path in sorted(folder.glob("[0-9]*.jsonl"))
        }
        self.last = max(self._mark.last, self._newest())
        self._bell = asyncio.Event()
        self._closed = False

    @property
    def acknowledged(self) -> int:
        """The highest number that was acknowledged."""
        return self._mark.acked

    @property
    def full(self) -> bool:
        """True while nothing more is to be added."""
        return sum(one.size for one in self._segments.values()) >= self._max_bytes

    async def room(self) -> None:
        """Wait until there is room."""
        while self.full:
            await self._bell.wait()

    def append(self, kind: EntryKind, data: bytes, request_id: str = "") -> int:
        """Write one entry and return its number. Raises `OSError`; then there is no entry."""
        n = self.last + 1
        entry = SpoolEntry(n, timestamp(), kind, msgspec.Raw(data), request_id)
        self._segment(n).append(msgspec.json.encode(entry))
        self.last = n
        self._ring()
        return n

    def read(self, after: int, limit: int) -> SpoolPage:
        """Return up to `limit` entries above `after` and above what was acknowledged."""
        floor = max(after, self._mark.acked)
        entries: list[SpoolEntry] = []
        size = 0
        starts = list(self._segments)
        for at, start in enumerate(starts):
            if len(entries) >= limit or size >= PAGE_BYTES:
                break
            if at + 1 < len(starts) and starts[at + 1] <= floor + 1:
                continue
            for entry in _entries(self._segments[start]):
                if entry.n > floor and len(entries) < limit and size < PAGE_BYTES:
                    entries.append(entry)
                    size += len(bytes(entry.data))
        return SpoolPage(entries, self.last, self._mark.acked, self.full)

    async def wait(self, after: int, seconds: float) -> None:
        """Return when there is an entry above `after`, after `seconds`, or at the end."""
        try:
            async with asyncio.timeout(seconds):
                while self.last <= max(after, self._mark.acked) and not self._closed:
                    await self._bell.wait()
        except TimeoutError:
            return

    def acknowledge(self, n: int) -> None:
        """Free entries up to `n`: whole segments go, the rest is only hidden. Raises `OSError`."""
        self._mark.acked = max(self._mark.acked, min(n, self.last))
        self._mark.last = self.last
        self._save()
        starts = [*self._segments, self.last + 1]
        for start, following in pairwise(starts):
            if following <= self._mark.acked + 1:
                segment = self._segments.pop(start)
                segment.close()
                segment.path.unlink(missing_ok=True)
        self._ring()

    def release(self) -> None:
        """Let go of everybody who waits for entries, now and from now on."""
        self._closed = True
        self._ring()

    def close(self) -> None:
        """Let go of the files."""
        self.release()
        for segment in self._segments.values():
            segment.close()
        self._segments.clear()

    def _segment(self, n: int) -> LineFile:
        newest = next(reversed(self._segments.values()), None)
        if newest is None or newest.size >= self._max_bytes // SEGMENTS:
            newest = self._segments[n] = LineFile(self._folder / f"{n:016d}.jsonl")
        return newest

    def _ring(self) -> None:
        bell, self._bell = self._bell, asyncio.Event()
        bell.set()

    def _save(self) -> None:
        fresh = self._folder / "mark.json.new"
        fresh.write_bytes(msgspec.json.encode(self._mark))
        fresh.replace(self._folder / "mark.json")

    def _newest(self) -> int:
        for segment in reversed(self._segments.values()):
            if found := _entries(segment):
                return found[-1].n
        return 0


def _entries(segment: LineFile) -> list[SpoolEntry]:
    return [msgspec.json.decode(line, type=SpoolEntry) for line in segment.lines()]


def _read_mark(path: Path) -> _Mark:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Mark)
    except (FileNotFoundError, *UNREADABLE):
        return _Mark()
