"""Commands from outside that run in sandboxes, as far as their journals told this process.

A request beside one may be its own, and no agent's. What is not remembered counts as not there.
"""

from collections.abc import Mapping

from atoll.domain.ids import SandboxId
from atoll.domain.sandbox.sandbox import Sandbox
from atoll.ports import Transaction
from atoll.services.journals.entries import EntryHandler, JournalOutcome, ReportedEntry

MAX_NOTED = 10_000
"""The sandboxes of which running commands are noted."""


class RunningCommands:
    """Ids of running commands by sandbox."""

    def __init__(self) -> None:
        self._commands: dict[SandboxId, set[str]] = {}

    @property
    def handlers(self) -> Mapping[str, EntryHandler]:
        """Return the handlers by kind of entry."""
        return {
            "exec.started": self.note_start,
            "exec.exited": self.note_end,
            "runtime.began": self.forget_all,
        }

    def any_in(self, sandbox_id: SandboxId) -> bool:
        """Report whether a command runs in a sandbox."""
        return bool(self._commands.get(sandbox_id))

    async def note_start(
        self, rows: Transaction, sandbox: Sandbox, entry: ReportedEntry
    ) -> JournalOutcome:
        """Note that a command runs."""
        del rows
        if len(self._commands) >= MAX_NOTED:
            self._commands.pop(next(iter(self._commands)))
        self._commands.setdefault(sandbox.id, set()).add(str(entry.payload.get("id")))
        return JournalOutcome()

    async def note_end(
        self, rows: Transaction, sandbox: Sandbox, entry: ReportedEntry
    ) -> JournalOutcome:
        """Note that a command ended."""
        del rows
        running = self._commands.get(sandbox.id, set())
        running.discard(str(entry.payload.get("id")))
        if not running:
            self._commands.pop(sandbox.id, None)
        return JournalOutcome()

    async def forget_all(
        self, rows: Transaction, sandbox: Sandbox, entry: ReportedEntry
    ) -> JournalOutcome:
        """Note that no command runs in a runtime that begins."""
        del rows, entry
        self._commands.pop(sandbox.id, None)
        return JournalOutcome()
