"""Review threads of sandboxes."""

from typing import Protocol

from atoll.domain.ids import SandboxId
from atoll.domain.work.thread import ReviewThread, ThreadId
from atoll.ports.store.records import Records


class ReviewThreadRows(Records[ReviewThread, SandboxId, ThreadId], Protocol):
    """Review threads; they go with their sandbox. Whoever reads one decides who may see it."""

    async def of_sandbox(self, sandbox_id: SandboxId) -> list[ReviewThread]:
        """Return all threads of a sandbox, oldest first."""
        ...

    async def count(self, sandbox_id: SandboxId) -> int:
        """Return how many threads a sandbox has."""
        ...

    async def remove_of(self, sandbox_id: SandboxId) -> None:
        """Remove all threads of a sandbox."""
        ...
