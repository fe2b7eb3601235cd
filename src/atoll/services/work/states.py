"""States of work, as `domain.work` derives them from the log and the sandboxes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from atoll.domain.event import EventDraft, Json, sandbox_stream
from atoll.domain.ids import SandboxId
from atoll.domain.people.principal import Principal
from atoll.domain.projection import ModelState
from atoll.domain.sandboxes.reported import AGENTS, ReportedAgent, agents_in
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.work.record import WORK, WorkRecord, read_record
from atoll.domain.work.state import WorkSummary, work_of
from atoll.ports import Store, Transaction
from atoll.services.ground import Ground
from atoll.services.lifecycle.projections import Projections


@dataclass(frozen=True, slots=True)
class SandboxWork:
    """The agents of a sandbox, and the work that came of what they do."""

    agents: tuple[ReportedAgent, ...]
    work: WorkSummary


class WorkLog:
    """Events of what people do with work."""

    def __init__(self, ground: Ground, projections: Projections) -> None:
        self._ground = ground
        self._projections = projections

    async def append(
        self, caller: Principal, sandbox: Sandbox, event_type: str, payload: Mapping[str, Json]
    ) -> None:
        """Append an event, after which every view shows the work as it is then."""
        async with self._ground.store.begin() as rows:
            await self.append_within(rows, caller, sandbox, event_type, payload)
        self.announce(sandbox)

    async def append_within(
        self,
        rows: Transaction,
        caller: Principal,
        sandbox: Sandbox,
        event_type: str,
        payload: Mapping[str, Json],
    ) -> None:
        """Append an event in the caller's transaction, who announces it afterwards."""
        draft = EventDraft(
            id=self._ground.ids.event(),
            stream=sandbox_stream(sandbox.id),
            event_type=event_type,
            at=self._ground.clock.now(),
            org_id=sandbox.org_id,
            owner=sandbox.owner,
            actor=caller,
            reason=None,
            payload={"sandbox_id": sandbox.id, "generation": sandbox.generation, **payload},
        )
        await self._projections.follow(rows, await rows.events.append((draft,)))

    def announce(self, sandbox: Sandbox) -> None:
        """Announce the events of a sandbox."""
        self._ground.bus.announce((sandbox_stream(sandbox.id),))


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
