"""Hooks, and the reports that they have received."""

from datetime import datetime
from typing import Protocol

from atoll.domain.hooks.hook import Hook, HookId
from atoll.domain.ids import OrgId, PrincipalId
from atoll.ports.vault import Sealed


class HookRows(Protocol):
    """Hooks with their sealed secrets, and marks of the reports they took."""

    async def put(self, hook: Hook, sealed: Sealed) -> None:
        """Add a hook, or replace it with its secret."""
        ...

    async def all(self) -> list[tuple[Hook, Sealed]]:
        """Return every hook and its sealed secret."""
        ...

    async def of(self, org_id: OrgId, owner: PrincipalId) -> list[Hook]:
        """Return the hooks of an owner, oldest first."""
        ...

    async def get(self, hook_id: HookId) -> tuple[Hook, Sealed] | None:
        """Return a hook and its sealed secret."""
        ...

    async def remove(self, hook_id: HookId) -> None:
        """Remove a hook and what it is remembered by."""
        ...

    async def take(self, hook_id: HookId, marks: tuple[str, ...], until: datetime) -> bool:
        """Remember a report by its marks until a time. Returns False when one of them is known."""
        ...

    async def forget(self, before: datetime) -> None:
        """Forget reports that are remembered until `before` or earlier."""
        ...
