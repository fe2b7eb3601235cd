"""Sleeping sandboxes: whoever uses one waits here while it starts, and then goes on.

An access is what a person or a program does inside; who watches or lists wakes nothing. Waiting is
bounded in number and in time, so that a sandbox that does not come up holds nobody for ever.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from atoll.domain.errors import Conflict, Unavailable
from atoll.domain.ids import SandboxId
from atoll.domain.people.principal import Principal
from atoll.domain.sandboxes.sandbox import RUNNING, Sandbox
from atoll.domain.sandboxes.steps.sleep import check_may_wake
from atoll.domain.sandboxes.stimulus import WakeUp
from atoll.services.lifecycle.waits import SandboxWaits
from atoll.services.sandboxes.reconciler import Reconciler
from atoll.wire.contract.journal import REST_SECONDS

WAKE_SECONDS: Final = 60.0
"""The longest wait of an access for the sandbox that it woke."""

MOST_WAITING: Final = 128
"""The accesses that wait for one sandbox."""

MOST_WAITING_IN_ALL: Final = 2048


class Sleepers:
    """Sandboxes that sleep, for those who use them."""

    def __init__(self, reconciler: Reconciler, waits: SandboxWaits) -> None:
        self._reconciler = reconciler
        self._waits = waits
        self._waiting: Counter[SandboxId] = Counter()

    async def wake(self, caller: Principal, sandbox: Sandbox) -> Sandbox:
        """Wake a sandbox that sleeps, and return it once it runs; any other one as it is. Raises
        `Conflict` when its profile keeps the caller from that, what its start raises, and
        `Unavailable` when it takes too long or too many wait for it."""
        if not (sandbox.asleep or sandbox.waking):
            return sandbox
        if sandbox.asleep:
            check_may_wake(caller, sandbox)
        with self._wait_counted(sandbox):
            if sandbox.asleep:
                sandbox = await self._reconciler.apply(sandbox.id, WakeUp(), actor=caller)
            awake = await self._waits.wait(sandbox, timeout_seconds=WAKE_SECONDS)
        if awake.waking:
            raise Unavailable(
                f"Sandbox {awake.name} slept and is not up after {WAKE_SECONDS:g} s: try again.",
                code="waking",
            )
        if awake.state not in RUNNING and awake.reason:
            raise Conflict(
                f"Sandbox {awake.name} slept and did not wake ({awake.reason})", code="not_running"
            )
        return awake

    async def wake_next(self, caller: Principal, sandbox: Sandbox) -> Sandbox:
        """Wake a sandbox whose runtime says that it falls asleep, and return it once it runs again.
        One that goes on running instead is returned as it is. Raises as `wake`."""

        async def has_left(now: Sandbox) -> bool:
            # Another access may have woken it by now.
            return now.state not in RUNNING or now.ready_at != sandbox.ready_at

        now = await self._waits.until(sandbox, has_left, timeout_seconds=REST_SECONDS)
        return await self.wake(caller, now)

    @contextmanager
    def _wait_counted(self, sandbox: Sandbox) -> Iterator[None]:
        """Count an access that waits. Raises `Unavailable` beyond the bounds."""
        waiting = self._waiting
        if waiting[sandbox.id] >= MOST_WAITING or waiting.total() >= MOST_WAITING_IN_ALL:
            raise Unavailable(
                f"Sandbox {sandbox.name} is waking, and too many wait for it: try again in a "
                "moment.",
                code="waking",
            )
        waiting[sandbox.id] += 1
        try:
            yield
        finally:
            waiting[sandbox.id] -= 1
            if not waiting[sandbox.id]:
                del waiting[sandbox.id]
