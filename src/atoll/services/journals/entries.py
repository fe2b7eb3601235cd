"""Entries of a runtime's journal, and what handling one results in."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from atoll.domain.event import EventDraft
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import Transaction
from atoll.wire.contract.call import RuntimeCall


@dataclass(frozen=True, slots=True)
class JournalOutcome:
    """Result of handling a journal entry: events for the log, and a call to make to the runtime."""

    drafts: tuple[EventDraft, ...] = ()
    call: RuntimeCall[None] | None = None


@dataclass(frozen=True, slots=True)
class ReportedEntry:
    """Entry of a runtime's journal, as handlers receive it."""

    n: int
    at: datetime
    payload: Mapping[str, object]


EntryHandler = Callable[[Transaction, Sandbox, ReportedEntry], Awaitable[JournalOutcome]]
"""Handles one kind of entry, in the transaction that moves the journal's mark."""
