"""The spool of one worker: numbered entries on disk, bounded in bytes, until acknowledged.

It is a segmented log that drops nothing: whoever adds to it waits for room first. Numbers begin
with 1, have no gaps, and go on after a restart.
"""

from pathlib import Path

import msgspec

from atoll.runtime.clock import timestamp
from atoll.runtime.journal.segmented_log import Overflow, SegmentedLog
from atoll.wire.contract.workers import EntryKind, SpoolEntry, SpoolPage

SPOOL_BYTES = 8 * 1024 * 1024
"""Bytes of unacknowledged entries at which an agent is held up."""

PAGE_BYTES = 4 * 1024 * 1024
"""Bytes at which a page ends; its last entry is whole."""


class Spool:
    """The spool in one directory, which one process writes at a time: what an entry of its `log`
    is, and what a page."""

    def __init__(self, folder: Path, max_bytes: int = SPOOL_BYTES) -> None:
        """Continue what is there. Raises `OSError`."""
        self.log = SegmentedLog(folder, SpoolEntry, max_bytes, Overflow.WAIT)

    def append(self, kind: EntryKind, data: bytes, request_id: str = "") -> int:
        """Write one entry and return its number. Raises `OSError`; then there is no entry."""
        entry = SpoolEntry(self.log.last + 1, timestamp(), kind, msgspec.Raw(data), request_id)
        n = self.log.append(msgspec.json.encode(entry))
        self.log.ring()
        return n

    def read(self, after: int, limit: int) -> SpoolPage:
        """Return up to `limit` entries above `after` and above what was acknowledged."""
        log = self.log
        entries = log.read(after, limit, PAGE_BYTES)
        return SpoolPage(entries, log.last, log.acknowledged, log.full)
