"""Who had control of a terminal and who typed how much there, for the journal; never what.

Typing is summed up over a turn, a minute at most, so that a fast typist costs a line a minute.
"""

import asyncio
from collections.abc import Callable, Mapping

from atoll.domain.audit_budget import AuditBudget
from atoll.domain.terminal.turn import Change, Party
from atoll.runtime.clock import timestamp

SUM_SECONDS = 60.0

Record = Callable[[str, Mapping[str, object]], object]
"""Writes one journal entry: kind and payload."""


class Ledger:
    """The entries of one terminal. What does not fit its budget is counted as `unrecorded`."""

    def __init__(self, terminal_id: str, record: Record) -> None:
        self._id = terminal_id
        self._record = record
        self._loop = asyncio.get_running_loop()
        self._budget = AuditBudget(self._loop.time())
        self._typist: Party | None = None
        self._bytes = 0
        self._since = ""
        self._timer: asyncio.TimerHandle | None = None

    def changed(self, change: Change) -> None:
        """Control changed; what was typed until then is written down first."""
        self.close()
        entry: dict[str, object] = {"act": change.act, "epoch": change.epoch}
        if change.party is not None:
            entry.update(_words(change.party))
        if change.by is not None and change.by != change.party:
            entry["by"] = change.by.principal
        self._write("terminal.control", entry)

    def typed(self, party: Party, count: int) -> None:
        """`count` bytes were accepted from this client."""
        if party != self._typist:
            self.close()
            self._typist, self._since = party, timestamp()
            self._timer = self._loop.call_later(SUM_SECONDS, self.close)
        self._bytes += count

    def close(self) -> None:
        """Write down what has been summed up so far."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        typist, self._typist = self._typist, None
        if typist is None:
            return
        count, self._bytes = self._bytes, 0
        self._write("terminal.input", {**_words(typist), "bytes": count, "since": self._since})

    def _write(self, kind: str, entry: Mapping[str, object]) -> None:
        missed = self._budget.take(self._loop.time())
        if missed is None:
            return
        more = {"unrecorded": missed} if missed else {}
        self._record(kind, {"id": self._id, **entry, **more})


def _words(party: Party) -> dict[str, object]:
    return {"principal": party.principal, "name": party.name, "client": party.client}
