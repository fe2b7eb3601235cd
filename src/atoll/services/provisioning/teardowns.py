"""Teardowns: a sandbox's environment is ended, again and again until nothing is left running."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from datetime import timedelta

import structlog

from atoll.domain.errors import AtollError
from atoll.domain.hosts.host import NOT_TRUSTED
from atoll.domain.ids import SandboxId
from atoll.domain.sandboxes.instruction import Teardown
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.sandboxes.stimulus import TeardownFailed, TornDown
from atoll.ports import CleanupReport
from atoll.services.ground import Ground
from atoll.services.provisioning.outcomes import Outcomes
from atoll.services.provisioning.provisioning import Provisioning
from atoll.services.provisioning.relocation import Relocations

RETRY_SECONDS = 5.0
"""Between attempts of a teardown that did not work out; it doubles with each further one."""

LONGEST_RETRY_SECONDS = 60.0

SLOW_SECONDS = 45.0
"""For a teardown, before it is said that it takes long."""

_log = structlog.get_logger(__name__)


class Teardowns:
    """Teardowns of sandboxes. `collect` takes in the last words of one before it ends;
    `destruction` returns as soon as a destruction waits for the work under way."""

    def __init__(
        self,
        ground: Ground,
        provisioning: Provisioning,
        relocations: Relocations,
        *,
        collect: Callable[[Sandbox], Awaitable[None]],
        destruction: Callable[[SandboxId], Coroutine[None, None, None]],
    ) -> None:
        self._ground = ground
        self._provisioning = provisioning
        self._relocations = relocations
        self._collect = collect
        self._destruction = destruction

    async def run(self, sandbox: Sandbox, work: Teardown, outcomes: Outcomes) -> None:
        """Tear down, again and again until it works out: nothing may be left running. Why it does
        not is the sandbox's reason meanwhile. A destruction on a host that is not trusted rests:
        the survey takes it up again. A stop gives way to a destruction."""
        pause = RETRY_SECONDS
        while isinstance(done := await self._attempt(sandbox, work, outcomes), TeardownFailed):
            _log.warning("teardown_failed", sandbox=sandbox.id, reason=done.reason)
            await outcomes.outcome(sandbox.id, done)
            if done.leftovers or await self._ends_within(pause, sandbox.id):
                return
            pause = min(2 * pause, LONGEST_RETRY_SECONDS)
        async with self._ground.store.read() as rows:
            known = await rows.sandboxes.get(sandbox.id)
        if not work.keep_state or (known is not None and known.reason is not None):
            torn = TornDown(work.generation, done.removed, done.leftovers, work.keep_state)
            await outcomes.outcome(sandbox.id, torn)

    async def _ends_within(self, seconds: float, sandbox_id: SandboxId) -> bool:
        """Wait before the next attempt. Returns True as soon as a destruction waits for this one's
        end."""
        again = self._ground.clock.now() + timedelta(seconds=seconds)
        async with asyncio.TaskGroup() as tasks:
            ending = tasks.create_task(self._destruction(sandbox_id))
            pause = tasks.create_task(self._ground.clock.sleep_until(again))
            await asyncio.wait({ending, pause}, return_when=asyncio.FIRST_COMPLETED)
            ended = ending.done()
            ending.cancel()
            pause.cancel()
        return ended

    async def _attempt(
        self, sandbox: Sandbox, work: Teardown, outcomes: Outcomes
    ) -> CleanupReport | TeardownFailed:
        """Return the result of one attempt, and say meanwhile when it takes long."""
        async with asyncio.TaskGroup() as tasks:
            attempt = tasks.create_task(self._tear_down(sandbox, work))
            await asyncio.wait({attempt}, timeout=SLOW_SECONDS)
            if not attempt.done():
                reason = f"{sandbox.profile.extension} has been ending it for {SLOW_SECONDS:g} s."
                slow = TeardownFailed(work.generation, reason)
                await outcomes.guard(lambda current: outcomes.outcome(current, slow), sandbox.id)
        return attempt.result()

    async def _tear_down(self, sandbox: Sandbox, work: Teardown) -> CleanupReport | TeardownFailed:
        """Return what was removed, or why nothing could be."""
        await self._collect(sandbox)
        try:
            done = await self._provisioning.tear_down(sandbox, keep_state=work.keep_state)
            if work.keep_state:
                return done
            left = await self._relocations.clear(sandbox)
            return CleanupReport(done.removed, done.leftovers + left)
        except AtollError as err:
            reason = f"It could not be taken away yet: {err.message}"
            rests = err.code == NOT_TRUSTED and not work.keep_state
            return TeardownFailed(work.generation, reason, (_left_there(sandbox),) if rests else ())
        except Exception as err:  # noqa: BLE001 - a backend's mistake must not end the attempts
            _log.exception("teardown_broke", sandbox=sandbox.id)
            reason = f"It could not be taken away yet ({type(err).__name__}); the log says more."
            return TeardownFailed(work.generation, reason)


def _left_there(sandbox: Sandbox) -> str:
    named = f"{sandbox.name} ({sandbox.id})"
    return f"the files of {named} on host {sandbox.host}, and what may still run of it there"
