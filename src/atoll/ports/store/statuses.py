"""Statuses of agents, as runtimes reported them, and tallies over all that are monitored."""

from collections.abc import Mapping
from typing import Protocol

from atoll.domain.ids import OrgId, PrincipalId, SandboxId
from atoll.domain.sandbox.reported import ReportedAgent
from atoll.domain.sandbox.sandbox import Sandbox


class StatusRows(Protocol):
    """The last status of each agent. A sandbox keeps those of its present life, at most
    `MAX_REPORTED_AGENTS`; the ones that changed longest ago go first."""

    async def put(self, sandbox: Sandbox, agent: ReportedAgent) -> None:
        """Store an agent's status; replaces the one before."""
        ...

    async def of(self, sandbox_id: SandboxId) -> list[ReportedAgent]:
        """Return the agents of a sandbox, in no order."""
        ...

    async def owned(
        self, org_id: OrgId, owner: PrincipalId
    ) -> dict[SandboxId, list[ReportedAgent]]:
        """Return the agents of all sandboxes of an owner."""
        ...

    async def give(self, sandbox_id: SandboxId, owner: PrincipalId) -> None:
        """Make the statuses of a sandbox's agents another owner's."""
        ...

    async def clear(self, sandbox_id: SandboxId) -> None:
        """Remove all of a sandbox: its runtime began anew, or it is destroyed."""
        ...


class TallyRows(Protocol):
    """Tallies of the whole installation, for monitoring: how many of what, and never whose. Each
    is one statement that reads an index or a small table."""

    async def sandboxes(self) -> Mapping[str, int]:
        """Return how many sandboxes there are by state, without those that are destroyed. A state
        of none is missing."""
        ...

    async def agents(self) -> Mapping[str, int]:
        """Return how many agents of running sandboxes there are by status. A status of none is
        missing."""
        ...

    async def approvals(self) -> int:
        """Return how many requests wait for a person's decision."""
        ...
