"""Provisioning logs, and the positions up to which journals were read."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from atoll.domain.ids import SandboxId
from atoll.domain.sandbox.sandbox import Sandbox


@dataclass(frozen=True, slots=True)
class LogLine:
    """Line of output from provisioning."""

    at: datetime
    text: str


class LogRows(Protocol):
    """Provisioning output, and the position up to which each runtime's journal was collected."""

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
