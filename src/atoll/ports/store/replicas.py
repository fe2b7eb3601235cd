"""Rows by which replicas agree: who leads, which work is owed, and who is logged in."""

from collections.abc import Collection
from datetime import datetime
from typing import Protocol

from atoll.domain.ids import SandboxId
from atoll.domain.people.login import LoginBook
from atoll.domain.sandboxes.owed import Owed
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports.extension import Reachability


class ReplicaRows(Protocol):
    """The leader of an installation, and the sandboxes whose work is not done."""

    async def elect(self, holder: str) -> tuple[int, str]:
        """Make `holder` the leader. Returns its epoch, higher than each before, and the name of the
        leader before, empty when that one resigned or there was none."""
        ...

    async def resign(self, epoch: int) -> None:
        """End the leadership of this epoch; a later one stays."""
        ...

    async def epoch(self) -> int:
        """Return the epoch of the newest leader, 0 when there was none."""
        ...

    async def owe(self, sandbox_id: SandboxId, *, ending: bool) -> None:
        """Store that work is owed. `ending` stays true until all of it is settled."""
        ...

    async def owed(self) -> dict[SandboxId, int]:
        """Return the number of each sandbox for which work is owed."""
        ...

    async def owing(self, sandbox_ids: Collection[SandboxId]) -> list[tuple[Owed, Sandbox]]:
        """Return what is owed for these, each with its sandbox of the same moment."""
        ...

    async def settle(self, sandbox_id: SandboxId, number: int) -> bool:
        """Store that the work up to `number` is done. Returns whether nothing more is owed."""
        ...


class MaintenanceRows(Protocol):
    """Maintenance starts that followers ask for: a request for each sandbox, and its answer."""

    async def want(self, sandbox_id: SandboxId, until: datetime) -> None:
        """Ask that the sandbox be up for maintenance until then; never shortens a request."""
        ...

    async def wanted(self, now: datetime) -> list[SandboxId]:
        """Return the sandboxes that are wanted now; forgets requests that are over."""
        ...

    async def answer(self, sandbox_id: SandboxId, answer: Reachability | str | None) -> None:
        """Store where its runtime answers, or why it does not; None takes an answer back."""
        ...

    async def answered(self, sandbox_id: SandboxId) -> Reachability | str | None:
        """Return what the leader answered; None while it has not."""
        ...


class LoginRows(Protocol):
    """The one login book of an installation, and the number of its changes."""

    async def newer(self, version: int) -> tuple[int, LoginBook] | None:
        """Return the book with its version, None unless it is newer than `version`. The first one
        has the version 1."""
        ...

    async def put(self, book: LoginBook) -> int:
        """Replace the book, and return its version."""
        ...
