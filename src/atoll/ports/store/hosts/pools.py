"""Pools, and the environments in them."""

from typing import Protocol

from atoll.domain.ids import OrgId, SandboxId
from atoll.domain.pools.pool import Pool, PooledSandbox, PooledState
from atoll.ports.store.records import Records


class PoolRows(Records[Pool, OrgId, str], Protocol):
    """Pools, by organization and profile."""

    async def everything(self) -> list[Pool]:
        """Return every pool, by organization and profile."""
        ...

    async def of_organization(self, org_id: OrgId) -> list[Pool]:
        """Return the pools of an organization, by profile."""
        ...


class PooledRows(Records[PooledSandbox, SandboxId], Protocol):
    """Environments in pools, in every state."""

    async def everything(self) -> list[PooledSandbox]:
        """Return all of them, oldest first."""
        ...

    async def of_pool(self, org_id: OrgId, profile: str) -> list[PooledSandbox]:
        """Return those of one pool, oldest first."""
        ...

    async def states(self, org_id: OrgId, profile: str) -> list[PooledState]:
        """Return the state of each of one pool."""
        ...

    async def oldest_ready(
        self, org_id: OrgId, profile: str, host: str, wall: str
    ) -> PooledSandbox | None:
        """Return the oldest of a pool that is ready on a host and was built for this wall."""
        ...
