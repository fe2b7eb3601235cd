"""Waits for what an act on a sandbox began, here or in another replica."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from atoll.domain.event import sandbox_stream
from atoll.domain.ids import SandboxId
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.sandboxes.task_queue import is_queued
from atoll.services.ground import Ground
from atoll.services.lifecycle.directory import SandboxLookup
from atoll.wire.words.sandboxes import State

POLL_SECONDS = 0.25
"""Between two looks at the store while a request waits for what another replica does."""


class SandboxWaits:
    """Waits for sandboxes. `settled` returns whether no work for one is queued or under way."""

    def __init__(
        self,
        ground: Ground,
        lookup: SandboxLookup,
        settled: Callable[[SandboxId], Awaitable[bool]],
    ) -> None:
        self._bus = ground.bus
        self._leadership = ground.leadership
        self._lookup = lookup
        self._settled = settled

    async def wait(
        self, sandbox: Sandbox, *, settled: bool = False, timeout_seconds: float = 60.0
    ) -> Sandbox:
        """Wait until a sandbox is `ready` (or is queued, or can no longer become so); with
        `settled` until what the last act began is done. Returns the sandbox as it then is, also
        after the timeout."""

        async def is_over(now: Sandbox) -> bool:
            return await self._is_wait_over(now, settled)

        return await self.until(sandbox, is_over, timeout_seconds=timeout_seconds)

    async def until(
        self,
        sandbox: Sandbox,
        holds: Callable[[Sandbox], Awaitable[bool]],
        *,
        timeout_seconds: float,
    ) -> Sandbox:
        """Wait until this holds of a sandbox. Returns the sandbox as it then is, also after the
        timeout."""
        look = self._lookup.refresh
        # What another replica announces may not be heard here.
        patience = POLL_SECONDS if self._leadership.shared else None
        with self._bus.listen(sandbox_stream(sandbox.id)) as listener:
            try:
                async with asyncio.timeout(timeout_seconds):
                    while not await holds(sandbox := await look(sandbox)):
                        with contextlib.suppress(TimeoutError):
                            async with asyncio.timeout(patience):
                                await listener.wait()
            except TimeoutError:
                return await look(sandbox)
        return sandbox

    async def _is_wait_over(self, sandbox: Sandbox, settled: bool) -> bool:
        """Report whether a wait for a sandbox is over."""
        if sandbox.state in (State.REQUESTED, State.PROVISIONING):
            return is_queued(sandbox)
        if not settled:
            return True
        if sandbox.state is State.DESTROYING and not sandbox.leftovers:
            return False
        return await self._settled(sandbox.id)
