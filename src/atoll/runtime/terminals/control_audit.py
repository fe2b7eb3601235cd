"""The audit of control and typing at one terminal, for the journal.

Records who had control and who typed how many bytes, never which.

Typing is summed up over a turn, a minute at most, so that a fast typist costs a line a minute.
What the budget has no room for waits in its sum: nothing typed goes unattributed.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from atoll.domain.broker.audit_budget import AuditBudget
from atoll.domain.terminals.turn import Change, Party
from atoll.runtime.clock import timestamp

SUM_SECONDS = 60.0

Record = Callable[[str, Mapping[str, object]], object]
"""Writes one journal entry: kind and payload."""


@dataclass(slots=True)
class _Sum:
    party: Party
    since: str
    count: int = 0


class ControlAudit:
    """The entries of one terminal. Changes of control beyond a budget are only counted, as
    `unrecorded`; sums of typing wait, one a client that typed and is not written down yet."""

    def __init__(self, terminal_id: str, record: Record) -> None:
        self._id = terminal_id
        self._record = record
        self._loop = asyncio.get_running_loop()
        now = self._loop.time()
        self._changes, self._inputs = AuditBudget(now), AuditBudget(now)
        self._sums: dict[Party, _Sum] = {}
        self._timer: asyncio.TimerHandle | None = None

    def changed(self, change: Change) -> None:
        """Record a change of control, after what was typed until then."""
        self._write_sums()
        missed = self._changes.take(self._loop.time())
        if missed is None:
            return
        entry: dict[str, object] = {"act": change.act, "epoch": change.epoch}
        if change.party is not None:
            entry.update(_party_fields(change.party))
        if change.by is not None and change.by != change.party:
            entry["by"] = change.by.principal
        if missed:
            entry["unrecorded"] = missed
        self._record("terminal.control", {"id": self._id, **entry})

    def typed(self, party: Party, count: int) -> None:
        """Count `count` bytes accepted from this client."""
        known = self._sums.get(party)
        if known is None:
            known = self._sums[party] = _Sum(party, timestamp())
        known.count += count
        if self._timer is None:
            self._timer = self._loop.call_later(SUM_SECONDS, self._write_sums)

    def close(self) -> None:
        """Record every sum that is still open."""
        self._write_sums(last=True)

    def _write_sums(self, *, last: bool = False) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for party in list(self._sums):
            if self._inputs.take(self._loop.time()) is None and not last:
                self._timer = self._loop.call_later(SUM_SECONDS, self._write_sums)
                return
            done = self._sums.pop(party)
            entry = {**_party_fields(party), "bytes": done.count, "since": done.since}
            self._record("terminal.input", {"id": self._id, **entry})


def _party_fields(party: Party) -> dict[str, object]:
    return {"principal": party.principal, "name": party.name, "client": party.client}
