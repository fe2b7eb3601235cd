"""Running commands of people in sandboxes: from outside, and at terminals that are no agent's.

A request beside one may be its own, and no agent's. The rows know it as far as journals were read.
"""

from collections.abc import Mapping
from typing import Final

from atoll.domain.sandboxes.sandbox import RUNNING, Sandbox
from atoll.ports import Transaction
from atoll.ports.store.people.quotas import COMMAND, OPENING
from atoll.services.journals.entries import EntryHandler, JournalOutcome, ReportedEntry


async def runs_beside(rows: Transaction, sandbox: Sandbox) -> bool:
    """Report whether something runs in a sandbox that a person may have begun: a command, or a
    terminal that is no agent's."""
    agents = {agent.id for agent in sandbox.agents}
    running = await rows.sessions.of(sandbox.id) - agents
    return any(not session_id.startswith(OPENING) for session_id in running)


async def note_start(rows: Transaction, sandbox: Sandbox, entry: ReportedEntry) -> JournalOutcome:
    """Note that a command runs, unless its sandbox tells of it last of all."""
    if sandbox.state in RUNNING:
        await rows.sessions.put(sandbox, _name(entry), entry.at)
    return JournalOutcome()


async def note_end(rows: Transaction, sandbox: Sandbox, entry: ReportedEntry) -> JournalOutcome:
    """Note that a command ended."""
    await rows.sessions.remove(sandbox.id, _name(entry))
    return JournalOutcome()


def _name(entry: ReportedEntry) -> str:
    return f"{COMMAND}{str(entry.payload.get('id'))[:64]}"


HANDLERS: Final[Mapping[str, EntryHandler]] = {
    "exec.started": note_start,
    "exec.exited": note_end,
}
"""The work beside logging these entries."""
