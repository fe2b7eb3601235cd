"""States of work, as `domain.work` derives them from the log and the sandboxes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from atoll.domain.event import sandbox_stream
from atoll.domain.ids import SandboxId
from atoll.domain.projection import ModelState
from atoll.domain.sandboxes.reported import AGENTS, ReportedAgent, agents_in
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.work.record import WORK, WorkRecord, read_record
from atoll.domain.work.state import WorkSummary, work_of
from atoll.ports import Store, Transaction


@dataclass(frozen=True, slots=True)
class SandboxWork:
    """The agents of a sandbox, and the work that came of what they do."""

    agents: tuple[ReportedAgent, ...]
    work: WorkSummary


class WorkStates:
    """The states of the work in sandboxes."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def of(self, sandboxes: Sequence[Sandbox]) -> Mapping[SandboxId, SandboxWork]:
        """Return agents and work of these sandboxes, by the sandbox's id."""
        async with self._store.read() as rows:
            return await works_of(rows, sandboxes)

    async def one(self, sandbox: Sandbox) -> WorkSummary:
        """Return the work of one sandbox."""
        return (await self.of((sandbox,)))[sandbox.id].work


async def works_of(
    rows: Transaction, sandboxes: Sequence[Sandbox]
) -> Mapping[SandboxId, SandboxWork]:
    """Return agents and work of these sandboxes as one transaction sees them."""
    streams = [sandbox_stream(sandbox.id) for sandbox in sandboxes]
    reported = await rows.projections.states(AGENTS.name, streams)
    records = await rows.projections.states(WORK.name, streams)
    works: dict[SandboxId, SandboxWork] = {}
    for sandbox in sandboxes:
        agents = agents_in(sandbox, reported)
        works[sandbox.id] = SandboxWork(
            agents, work_of(sandbox, agents, record_in(sandbox, records))
        )
    return works


def record_in(sandbox: Sandbox, states: Mapping[str, ModelState]) -> WorkRecord:
    """Return the record of a sandbox's work, from states of `WORK` by stream."""
    state = states.get(sandbox_stream(sandbox.id))
    return read_record(None if state is None else state.body)
