"""Records of one worker on disk: the ledger of its requests, and the spool of what its agent said.

A request is in the ledger before the agent can see it. So a runtime that finds one without a
receipt knows that its outcome is unknown, and never sends it again. The spool is a segmented log
that drops nothing: whoever adds to it waits for room first. Its entries are numbered from 1, have
no gaps, and go on after a restart.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from atoll.domain.errors import LimitReached
from atoll.domain.workers.ledger import LedgerEntry, WorkerRequest, admit
from atoll.runtime.clock import timestamp
from atoll.runtime.journal.line_file import LineFile
from atoll.runtime.journal.segmented_log import Overflow, SegmentedLog
from atoll.wire.contract.workers import EntryKind, Receipt, SpoolEntry, SpoolPage

MAX_REQUESTS = 16_384
"""Of one worker, over its whole life."""

SPOOL_BYTES = 8 * 1024 * 1024
"""Bytes of unacknowledged entries at which an agent is held up."""

PAGE_BYTES = 4 * 1024 * 1024
"""Bytes at which a page ends; its last entry is whole."""


class _Line(msgspec.Struct, omit_defaults=True):
    """A line: a request that was taken, or its receipt."""

    request_id: str
    digest: str = ""
    receipt: Receipt | None = None


@dataclass(slots=True)
class _Known:
    """A request, and where its receipt stands in the file (no length: pending)."""

    digest: str
    begin: int = 0
    length: int = 0


class Ledger:
    """The ledger in one file, which one process writes at a time."""

    def __init__(self, path: Path) -> None:
        """Continue what is there. Raises `OSError`."""
        self._file = LineFile(path)
        self._known: dict[str, _Known] = {}
        at = 0
        for line in self._file.lines():
            read = msgspec.json.decode(line, type=_Line)
            if read.receipt is None:
                self._known[read.request_id] = _Known(read.digest)
            else:
                self._note(read.request_id, at, len(line))
            at += len(line) + 1

    def known(self, request: WorkerRequest) -> bool:
        """Report whether this request was taken. Raises `Conflict` when another one was taken under
        its id."""
        known = self._known.get(request.request_id)
        admit(None if known is None else LedgerEntry(known.digest), request)
        return known is not None

    def take(self, request_id: str, digest: str) -> None:
        """Write a request down. Raises `LimitReached`, `OSError`."""
        if len(self._known) >= MAX_REQUESTS:
            raise LimitReached(f"a worker takes {MAX_REQUESTS} requests: make another one")
        self._file.append(msgspec.json.encode(_Line(request_id, digest)))
        self._known[request_id] = _Known(digest)

    def answer(self, receipt: Receipt) -> None:
        """Write a receipt down. Raises `OSError`."""
        line = msgspec.json.encode(_Line(receipt.request_id, receipt=receipt))
        self._note(receipt.request_id, self._file.append(line), len(line))

    def receipt(self, request_id: str) -> Receipt | None:
        """Return the receipt of a request, None while it is pending."""
        known = self._known.get(request_id)
        if known is None or not known.length:
            return None
        line = self._file.read_at(known.begin, known.length)
        return msgspec.json.decode(line, type=_Line).receipt

    def pending(self) -> Iterator[str]:
        """Yield every request without a receipt, in order."""
        for request_id, known in list(self._known.items()):
            if not known.length:
                yield request_id

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _note(self, request_id: str, begin: int, length: int) -> None:
        known = self._known[request_id]
        known.begin, known.length = begin, length


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
