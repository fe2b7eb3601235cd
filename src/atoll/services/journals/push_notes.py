"""Notes of pushes inside sandboxes: which sandboxes hold one that was not taken out yet.

A runtime reports that git pushed inside; it says only of which sandbox. What was pushed is looked
up inside and checked, by `services.library.pushes`.
"""

import asyncio
from collections.abc import Mapping

from atoll.domain.ids import SandboxId
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import Transaction
from atoll.services.journals.entries import EntryHandler, JournalOutcome, ReportedEntry


class PushNotes:
    """A queue of sandboxes, each in it at most once."""

    def __init__(self) -> None:
        self._waiting: dict[SandboxId, None] = {}
        self._bell = asyncio.Event()

    @property
    def handlers(self) -> Mapping[str, EntryHandler]:
        """Return the handler of journal entries `git.pushed`."""
        return {"git.pushed": self._note_push}

    def add(self, sandbox_id: SandboxId) -> None:
        """Note that a sandbox may hold a push."""
        self._waiting[sandbox_id] = None
        self._bell.set()

    async def next(self) -> SandboxId:
        """Return the sandbox that waited longest, and forget its note."""
        while not self._waiting:
            self._bell.clear()
            await self._bell.wait()
        sandbox_id = next(iter(self._waiting))
        del self._waiting[sandbox_id]
        return sandbox_id

    async def _note_push(
        self, rows: Transaction, sandbox: Sandbox, entry: ReportedEntry
    ) -> JournalOutcome:
        self.add(sandbox.id)
        return JournalOutcome()
