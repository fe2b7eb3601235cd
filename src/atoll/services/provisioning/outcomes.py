"""Outcomes of work on sandboxes, handed to the reconciler, which stores them."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from atoll.domain.ids import SandboxId
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.sandboxes.stimulus import Stimulus
from atoll.ports import LogLine
from atoll.services.lifecycle.transitions import Also

Act = Callable[[SandboxId], Awaitable[object]]
"""Do something for a sandbox, which nobody waits for."""


class Outcomes(Protocol):
    """Outcomes of work on sandboxes, as the reconciler takes them."""

    async def outcome(
        self,
        sandbox_id: SandboxId,
        stimulus: Stimulus,
        lines: Sequence[LogLine] = (),
        *,
        also: Also | None = None,
    ) -> Sandbox:
        """Apply the outcome of work, unless another process leads by now and does it again: then
        raise `Conflict`. Raises what `Transitions.apply` raises."""
        ...

    def begin_act(self, act: Act, sandbox_id: SandboxId) -> None:
        """Begin an act in the background; a refusal goes to the log."""
        ...

    async def guard(self, act: Act, sandbox_id: SandboxId) -> None:
        """Do an act; a refusal goes to the log."""
        ...

    def touch(self, sandbox: Sandbox) -> None:
        """Mark soon that something runs in a sandbox."""
        ...
