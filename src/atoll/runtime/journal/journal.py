"""Journal of one sandbox: events kept until the control plane collects them.

Entries are JSON lines in segment files, bounded in bytes, oldest dropped first. The control plane
collects and acknowledges them. Numbers only grow, also over restarts of the runtime. There is no
fsync: a journal survives its process, not the host. No entry holds output, a key or an environment.
"""

import asyncio
import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from atoll.ports.runtime_boot import JOURNAL_BYTES
from atoll.runtime.clock import timestamp
from atoll.wire.contract.journal import JournalEntry, JournalPage
from atoll.wire.http.unreadable import UNREADABLE

log = logging.getLogger("atoll.runtime")

SEGMENTS = 16
MAX_ENTRY_BYTES = 8 * 1024
_OWNER_ONLY = 0o640

URGENT = frozenset(
    {
        *("approval.asked", "approval.used", "approval.withdrawn", "agent.status"),
        *("git.pushed", "terminal.exited", "port.opened", "port.closed", "login.refused"),
    }
)
"""Kinds that wake readers of the journal at once: a person may be waiting, or a task for the end of
its set-up."""

Payload = Mapping[str, object]
Redact = Callable[[Payload], Payload]


def _as_it_is(payload: Payload) -> Payload:
    return payload


def _unheard(_kind: str) -> None:
    """Ignore an entry: nobody listens."""


class _Mark(msgspec.Struct):
    """Numbers that outlive the segments."""

    acked: int = 0
    dropped: int = 0
    last: int = 0


class Journal:
    """The journal in one directory, which one process writes at a time. `noted` is called with
    the kind of every entry."""

    def __init__(
        self,
        folder: Path,
        max_bytes: int = JOURNAL_BYTES,
        *,
        redact: Redact = _as_it_is,
        noted: Callable[[str], None] = _unheard,
    ) -> None:
        """Continue what is there; every payload goes through `redact`. Raises `OSError` when
        the directory cannot be used."""
        self._redact = redact
        self._noted = noted
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._segment_bytes = max(MAX_ENTRY_BYTES, max_bytes // SEGMENTS)
        self._max_segments = max(2, max_bytes // self._segment_bytes)
        self._mark = _read_mark(folder / "mark.json")
        self._starts = sorted(_segments(folder))
        self.last = max(self._mark.last, self._newest())
        self._file = -1
        self._size = 0
        self._urgent = self.last if self.last > self._mark.acked else 0
        self._bell = asyncio.Event()
        self._closed = False

    def append(self, kind: str, payload: Mapping[str, object]) -> int:
        """Write one entry and return its number. A full disk costs entries, never the caller."""
        self.last += 1
        line = self._line(kind, payload)
        try:
            if self._file < 0 or self._size + len(line) > self._segment_bytes:
                self._rotate()
            os.write(self._file, line)
            self._size += len(line)
        except OSError as error:
            self._mark.dropped += 1
            log.error("journal entry %d (%s) is lost: %s", self.last, kind, error)
        if kind in URGENT:
            self.alert()
        self.note(kind)
        return self.last

    def note(self, kind: str) -> None:
        """Report an entry of this kind to `noted`, also one that is counted and written later."""
        self._noted(kind)

    def alert(self) -> None:
        """Wake all waiting readers."""
        self._urgent = self.last
        self._ring()

    async def urgent(self, after: int, seconds: float) -> None:
        """Return when something urgent is above `after`, after `seconds`, or when the
        journal is closed."""
        try:
            async with asyncio.timeout(seconds):
                while self._urgent <= max(after, self._mark.acked) and not self._closed:
                    await self._bell.wait()
        except TimeoutError:
            return

    def release(self) -> None:
        """Let go of everybody who waits, now and from now on."""
        self._closed = True
        self._ring()

    def _ring(self) -> None:
        bell, self._bell = self._bell, asyncio.Event()
        bell.set()

    def read(self, after: int, limit: int) -> JournalPage:
        """Return up to `limit` entries numbered above `after` and above what was acknowledged."""
        floor = max(after, self._mark.acked)
        entries: list[JournalEntry] = []
        for at, start in enumerate(self._starts):
            if at + 1 < len(self._starts) and self._starts[at + 1] <= floor + 1:
                continue
            for entry in _entries(self._path(start)):
                if entry.n > floor:
                    entries.append(entry)
                    if len(entries) == limit:
                        return JournalPage(entries, self.last, self._mark.dropped)
        return JournalPage(entries, self.last, self._mark.dropped)

    def acknowledge(self, n: int) -> None:
        """Forget entries up to `n`; whole segments go, the rest is only hidden."""
        self._mark.acked = max(self._mark.acked, min(n, self.last))
        while len(self._starts) > 1 and self._starts[1] <= self._mark.acked + 1:
            self._path(self._starts.pop(0)).unlink(missing_ok=True)
        self._save()

    def close(self) -> None:
        """Put the numbers on disk and let go of the file."""
        self._save()
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _line(self, kind: str, payload: Mapping[str, object]) -> bytes:
        at = timestamp()
        line = _spell(self.last, at, kind, dict(self._redact(payload)))
        if len(line) > MAX_ENTRY_BYTES:
            line = _spell(self.last, at, kind, {"too_long": len(line), "id": payload.get("id")})
        return line

    def _rotate(self) -> None:
        """Begin a segment; drop the oldest beyond the bound."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        self._file = os.open(self._path(self.last), flags, _OWNER_ONLY)
        self._size = 0
        self._starts.append(self.last)
        while len(self._starts) > self._max_segments:
            oldest = self._path(self._starts.pop(0))
            floor = self._mark.acked
            self._mark.dropped += sum(1 for entry in _entries(oldest) if entry.n > floor)
            oldest.unlink(missing_ok=True)
        self._save()

    def _save(self) -> None:
        self._mark.last = self.last
        target = self._folder / "mark.json"
        fresh = self._folder / "mark.json.new"
        try:
            fresh.write_bytes(msgspec.json.encode(self._mark))
            fresh.replace(target)
        except OSError as error:
            log.error("the journal's mark in %s could not be saved: %s", self._folder, error)

    def _path(self, start: int) -> Path:
        return self._folder / f"{start:016d}.jsonl"

    def _newest(self) -> int:
        """Return the highest number on disk; a torn last line does not count."""
        for start in reversed(self._starts):
            last = max((entry.n for entry in _entries(self._path(start))), default=0)
            if last:
                return last
        return 0


def _spell(n: int, at: str, kind: str, payload: dict[str, object]) -> bytes:
    text = json.dumps({"n": n, "at": at, "kind": kind, "payload": payload}, default=str)
    return text.encode("utf-8", "replace") + b"\n"


def _segments(folder: Path) -> Iterator[int]:
    for path in folder.glob("*.jsonl"):
        if path.stem.isdigit():
            yield int(path.stem)


def _entries(path: Path) -> Iterator[JournalEntry]:
    """Yield the whole lines of a segment. A line torn by a sudden death is passed over."""
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return
    for line in lines:
        try:
            yield msgspec.json.decode(line, type=JournalEntry)
        except UNREADABLE:
            continue


def _read_mark(path: Path) -> _Mark:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Mark)
    except (FileNotFoundError, *UNREADABLE):
        return _Mark()
