"""Statuses of all agents: the last report of each, in the light of its sandbox's state."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from atoll.domain.ids import SandboxId
from atoll.domain.people.principal import Principal
from atoll.domain.sandbox.reported import ReportedAgent, present_agents, urgency
from atoll.domain.sandbox.sandbox import Sandbox
from atoll.ports import SandboxQuery, Store

MAX_SANDBOXES = 1000


@dataclass(frozen=True, slots=True)
class PlacedAgent:
    """An agent and its sandbox."""

    sandbox: Sandbox
    agent: ReportedAgent


class AgentStatuses:
    """The statuses of agents, which the journals' collection stores."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def all(self, caller: Principal) -> list[PlacedAgent]:
        """Return every agent of the caller's sandboxes. Those that need their person come first,
        the longest waiting one before the others."""
        query = SandboxQuery(caller.org_id, caller.id, (), None, MAX_SANDBOXES)
        async with self._store.read() as rows:
            sandboxes = await rows.sandboxes.page(query)
            reported = await rows.statuses.owned(caller.org_id, caller.id)
        found = [
            PlacedAgent(sandbox, agent)
            for sandbox in sandboxes
            for agent in present_agents(sandbox, reported.get(sandbox.id, ()))
        ]
        return sorted(found, key=lambda one: urgency(one.agent.status))

    async def of(
        self, sandboxes: Sequence[Sandbox]
    ) -> Mapping[SandboxId, tuple[ReportedAgent, ...]]:
        """Return the agents of these sandboxes, by the sandbox's id."""
        reported: dict[SandboxId, list[ReportedAgent]] = {}
        async with self._store.read() as rows:
            if len(sandboxes) == 1:
                reported[sandboxes[0].id] = await rows.statuses.of(sandboxes[0].id)
            else:
                for org_id, owner in {(one.org_id, one.owner) for one in sandboxes}:
                    reported |= await rows.statuses.owned(org_id, owner)
        return {one.id: present_agents(one, reported.get(one.id, ())) for one in sandboxes}
