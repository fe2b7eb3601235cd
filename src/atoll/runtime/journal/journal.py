"""Journal of one sandbox: events kept until the control plane collects them.

It is a segmented log that drops the oldest and counts them, so it never holds up what it reports.
The control plane collects and acknowledges. No entry holds output, a key or an environment.
"""

import json
import logging
from collections.abc import Callable, Mapping
from pathlib import Path

from atoll.ports.runtime_boot import JOURNAL_BYTES
from atoll.runtime.clock import timestamp
from atoll.runtime.journal.segmented_log import Overflow, SegmentedLog
from atoll.wire.contract.journal import JournalEntry, JournalPage

log = logging.getLogger("atoll.runtime")

MAX_ENTRY_BYTES = 8 * 1024

URGENT = frozenset(
    {
        *("approval.asked", "approval.used", "approval.withdrawn", "agent.status"),
        *(
            "git.pushed",
            "git.tree",
            "terminal.exited",
            "port.opened",
            "port.closed",
            "login.refused",
        ),
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
        self._log = SegmentedLog(folder, JournalEntry, max_bytes, Overflow.DROP_OLDEST)

    @property
    def last(self) -> int:
        """The number of the newest entry."""
        return self._log.last

    def append(self, kind: str, payload: Mapping[str, object]) -> int:
        """Write one entry and return its number. A full disk costs entries, never the caller."""
        n = self._log.append(self._encode_entry(kind, payload))
        if kind in URGENT:
            self.alert()
        self.note(kind)
        return n

    def note(self, kind: str) -> None:
        """Report an entry of this kind to `noted`, also one that is counted and written later."""
        self._noted(kind)

    def alert(self) -> None:
        """Wake all waiting readers."""
        self._log.ring()

    async def urgent(self, after: int, seconds: float) -> None:
        """Return when something urgent is above `after`, after `seconds`, or when the
        journal is closed."""
        await self._log.wait(after, seconds)

    def release(self) -> None:
        """Let go of everybody who waits, now and from now on."""
        self._log.release()

    def read(self, after: int, limit: int) -> JournalPage:
        """Return up to `limit` entries numbered above `after` and above what was acknowledged."""
        return JournalPage(self._log.read(after, limit), self._log.last, self._log.dropped)

    def acknowledge(self, n: int) -> None:
        """Forget entries up to `n`. On a full disk they are only hidden, until the next time."""
        try:
            self._log.acknowledge(n)
        except OSError as error:
            log.error("the journal could not be acknowledged up to %d: %s", n, error)

    def close(self) -> None:
        """Put the numbers on disk and let go of the file."""
        self._log.close()

    def _encode_entry(self, kind: str, payload: Mapping[str, object]) -> bytes:
        """Return the line of an entry, redacted; an entry that is too long keeps only its id."""
        n, at = self._log.last + 1, timestamp()
        line = _spell(n, at, kind, dict(self._redact(payload)))
        if len(line) >= MAX_ENTRY_BYTES:
            size = len(line) + 1
            line = _spell(n, at, kind, {"too_long": size, "id": payload.get("id")})
        return line


def _spell(n: int, at: str, kind: str, payload: dict[str, object]) -> bytes:
    text = json.dumps({"n": n, "at": at, "kind": kind, "payload": payload}, default=str)
    return text.encode("utf-8", "replace")
