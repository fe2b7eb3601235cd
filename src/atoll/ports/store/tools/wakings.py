"""Wakings: what sandboxes watch, and what of it their agents have yet to learn."""

from collections.abc import Mapping
from typing import Protocol

from atoll.domain.ids import OrgId, SandboxId
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.tools.waking import Waking


class WakingRows(Protocol):
    """Wakings, by sandbox, and how far the log was read for them."""

    async def put(self, sandbox: Sandbox, waking: Waking) -> None:
        """Store the waking of a sandbox, in the place of the one before."""
        ...

    async def get(self, sandbox_id: SandboxId) -> Waking | None:
        """Return the waking of a sandbox, None for one that watches nothing."""
        ...

    async def of(self, org_id: OrgId) -> Mapping[SandboxId, Waking]:
        """Return the wakings of an organization."""
        ...

    async def waiting(self) -> list[SandboxId]:
        """Return the sandboxes of all organizations of which `Waking.waits` is true."""
        ...

    async def remove(self, sandbox_id: SandboxId) -> None:
        """Remove a waking; a missing one is not an error."""
        ...

    async def position(self) -> int | None:
        """Return the position up to which the log was read, None before the first time."""
        ...

    async def set_position(self, position: int) -> None:
        """Store that position."""
        ...
