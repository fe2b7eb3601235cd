"""Provisioning logs, and the positions up to which journals were read."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from atoll.domain.ids import SandboxId
from atoll.domain.people.principal import Principal
from atoll.domain.sandboxes.sandbox import Sandbox


@dataclass(frozen=True, slots=True)
class LogLine:
    """Line of output from provisioning."""

    at: datetime
    text: str


class LogRows(Protocol):
    """Provisioning output, the position up to which each runtime's journal was collected, and who
    began what it tells of."""

    async def append(self, sandbox: Sandbox, lines: Sequence[LogLine]) -> None:
        """Add lines, in order."""
        ...

    async def lines(self, sandbox_id: SandboxId) -> list[LogLine]:
        """Return the last 1000 lines, oldest first."""
        ...

    async def collected(self, sandbox_id: SandboxId, generation: int) -> int:
        """Return the number of the last collected journal entry, 0 for none."""
        ...

    async def set_collected(self, sandbox: Sandbox, n: int) -> None:
        """Record that entries of this generation up to `n` are in the log (same transaction)."""
        ...

    async def remember_actor(self, sandbox_id: SandboxId, thing_id: str, actor: Principal) -> None:
        """Store who began a terminal or command; never what they may do."""
        ...

    async def actor(self, sandbox_id: SandboxId, thing_id: str) -> Principal | None:
        """Return who began it, None when nobody is stored."""
        ...

    async def forget_actors(self, sandbox_id: SandboxId) -> None:
        """Remove what is stored for a sandbox."""
        ...
