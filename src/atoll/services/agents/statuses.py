"""Statuses of all agents: the last report of each, in the light of its sandbox's state."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass

from atoll.domain.event import SANDBOX_STREAMS, Event, sandbox_stream
from atoll.domain.ids import SandboxId
from atoll.domain.people.principal import Principal
from atoll.domain.projection import ModelState
from atoll.domain.sandboxes.reported import AGENTS, ReportedAgent, agents_in, urgency
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import Bus, EventQuery, SandboxQuery, Store, Transaction

MAX_SANDBOXES = 1000

PAGE = 200
"""Events that a follower looks at at once."""

_STATES = "sandbox."


@dataclass(frozen=True, slots=True)
class PlacedAgent:
    """An agent and its sandbox."""

    sandbox: Sandbox
    agent: ReportedAgent


@dataclass(frozen=True, slots=True)
class AgentsUpdate:
    """The agents of one sandbox as they are now, or of all of the caller's sandboxes where
    `sandbox_id` is None. It holds everything up to `position` in the log."""

    position: int
    sandbox_id: SandboxId | None
    agents: tuple[PlacedAgent, ...]


class AgentStatuses:
    """The statuses of agents, as `domain.sandboxes.reported.AGENTS` derives them from the log."""

    def __init__(self, store: Store, bus: Bus) -> None:
        self._store = store
        self._bus = bus

    async def all(self, caller: Principal) -> list[PlacedAgent]:
        """Return every agent of the caller's sandboxes. Those that need their person come first,
        the longest waiting one before the others."""
        async with self._store.read() as rows:
            return await _list_agents(rows, caller)

    async def of(
        self, sandboxes: Sequence[Sandbox]
    ) -> Mapping[SandboxId, tuple[ReportedAgent, ...]]:
        """Return the agents of these sandboxes, by the sandbox's id."""
        streams = [sandbox_stream(sandbox.id) for sandbox in sandboxes]
        async with self._store.read() as rows:
            states = await rows.projections.states(AGENTS.name, streams)
        return {sandbox.id: agents_in(sandbox, states) for sandbox in sandboxes}

    async def follow(
        self, caller: Principal, *, after: int | None = None
    ) -> AsyncIterator[AgentsUpdate]:
        """Yield the agents of all of the caller's sandboxes, then those of each sandbox that
        changes. With `after`, begin with the sandboxes that changed after that position, unless
        the log no longer says which. Never returns."""
        position = after
        with self._bus.listen() as listener:
            while True:
                changes = None if position is None else await self._changes(caller, position)
                if changes is None:
                    whole = await self._read_full_update(caller)
                    position = whole.position
                    yield whole
                    continue
                for update in changes.updates:
                    yield update
                position = changes.position
                if not changes.more:
                    await listener.wait()

    async def _read_full_update(self, caller: Principal) -> AgentsUpdate:
        """Return all agents of the caller, with the position they were read at."""
        async with self._store.read() as rows:
            position = await _derived_up_to(rows)
            return AgentsUpdate(position, None, tuple(await _list_agents(rows, caller)))

    async def _changes(self, caller: Principal, after: int) -> "_Changes | None":
        """Return what changed after a position; None where events after it were removed."""
        query = EventQuery(caller.org_id, caller.id, None, after, PAGE)
        async with self._store.read() as rows:
            derived = await _derived_up_to(rows)
            page = await rows.events.page(query)
            if await rows.events.gap(query) is not None:
                return None
            there = [event for event in page if event.position <= derived]
            updates = [
                await _update(rows, caller, SandboxId(sandbox_id), position)
                for sandbox_id, position in _find_changed_sandboxes(there).items()
            ]
        last = there[-1].position if there else after
        return _Changes(updates, last, more=len(there) == PAGE)


@dataclass(frozen=True, slots=True)
class _Changes:
    """The updates up to a position; `more` may follow at once."""

    updates: list[AgentsUpdate]
    position: int
    more: bool


async def _list_agents(rows: Transaction, caller: Principal) -> list[PlacedAgent]:
    """Return the agents of the caller's sandboxes, the most urgent first."""
    query = SandboxQuery(caller.org_id, caller.id, (), None, MAX_SANDBOXES)
    sandboxes = await rows.sandboxes.page(query)
    states = await rows.projections.owned(AGENTS.name, caller.org_id, caller.id)
    by_sandbox = [_place_agents(sandbox, states) for sandbox in sandboxes]
    return sorted(
        (placed for own in by_sandbox for placed in own),
        key=lambda placed: urgency(placed.agent.status),
    )


async def _update(
    rows: Transaction, caller: Principal, sandbox_id: SandboxId, position: int
) -> AgentsUpdate:
    """Return the agents of one sandbox; none of one that is not the caller's any more."""
    sandbox = await rows.sandboxes.get(sandbox_id)
    states = await rows.projections.states(AGENTS.name, (sandbox_stream(sandbox_id),))
    own = sandbox is not None and (sandbox.org_id, sandbox.owner) == (caller.org_id, caller.id)
    agents = _place_agents(sandbox, states) if sandbox is not None and own else ()
    return AgentsUpdate(position, sandbox_id, agents)


def _place_agents(sandbox: Sandbox, states: Mapping[str, ModelState]) -> tuple[PlacedAgent, ...]:
    """Return each agent of a sandbox, paired with the sandbox."""
    return tuple(PlacedAgent(sandbox, agent) for agent in agents_in(sandbox, states))


def _find_changed_sandboxes(events: Sequence[Event]) -> dict[str, int]:
    """Return the sandboxes whose agents an event may have changed, and the last one's position, in
    the order of these."""
    positions: dict[str, int] = {}
    for event in events:
        kind = event.event_type
        if event.stream.startswith(SANDBOX_STREAMS) and (
            kind in AGENTS.kinds or kind.startswith(_STATES)
        ):
            sandbox_id = event.stream.removeprefix(SANDBOX_STREAMS)
            positions.pop(sandbox_id, None)
            positions[sandbox_id] = event.position
    return positions


async def _derived_up_to(rows: Transaction) -> int:
    """Return the position before the first event that is not in the read model yet."""
    newest = await rows.events.last_position()
    position = await rows.projections.position(AGENTS.name)
    missing = await rows.events.after(position, 1, kinds=AGENTS.kinds)
    return missing[0].position - 1 if missing else max(position, newest)
