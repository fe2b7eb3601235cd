"""The last collection of a sandbox's journal, and of the screens of one that sleeps, before its
runtime ends.

A destroyed sandbox loses its journal, so what was not collected then is lost. The runtime first
hears that it ends, and from then on begins nothing and reports nothing as done: whatever a client
was told before is in the journal. Then the journal is read to its end.
"""

import asyncio
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import structlog

from atoll.domain.errors import AtollError, NotFound
from atoll.domain.sandboxes.farewell import farewell
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import RuntimeClient, StoreUnavailable
from atoll.services.ground import Ground
from atoll.services.journals.journals import Journals
from atoll.services.lifecycle.runtimes import SandboxRuntimes
from atoll.services.lifecycle.screens import Screens
from atoll.services.provisioning.provisioning import Provisioning, standing_generation
from atoll.wire.contract.terminals import FarewellBody, say_farewell

ATTEMPTS = 20
"""At most, so that an entry that cannot be stored does not hold a sandbox for ever. A store that
is away is waited for, and counts once."""

SILENCES = 3
"""Attempts at a runtime that lives and does not answer, each of some seconds."""

FAREWELL_SECONDS = 5.0

SCREENS_SECONDS = 10.0

PAUSE_SECONDS = 0.1
"""Between attempts at a runtime, which may be overloaded."""

STORE_SECONDS = 5.0
"""Between two looks whether the store is back."""

_log = structlog.get_logger(__name__)


class FinalCollection:
    """The collection of what a journal still holds."""

    def __init__(
        self,
        ground: Ground,
        provisioning: Provisioning,
        *,
        runtimes: SandboxRuntimes,
        journals: Journals,
        screens: Screens,
    ) -> None:
        self._ground = ground
        self._provisioning = provisioning
        self._runtimes = runtimes
        self._journals = journals
        self._screens = screens

    async def run(self, sandbox: Sandbox) -> None:
        """Collect from the runtime where it last answered, if it ever did."""
        if sandbox.attachment.address is not None:
            await self.take(sandbox, self._runtimes.client(sandbox))

    async def take(self, sandbox: Sandbox, client: RuntimeClient) -> None:
        """Send the viewers of terminals the reason of the end, and collect the rest of the journal.
        Does nothing when the runtime is gone. A store that does not answer is waited for."""
        # The journal of a workspace that is renewed is counted by itself.
        sandbox = replace(sandbox, generation=standing_generation(sandbox))
        silences = 0
        for _ in range(ATTEMPTS):
            try:
                await _say_farewell(sandbox, client)
                await self._keep_screens(sandbox, client)
                await self._journals.collect(sandbox, client)
                return
            except StoreUnavailable as err:
                _log.info("journal_not_collected", sandbox=sandbox.id, reason=err.message)
                await self._until_stored()
            except (AtollError, TimeoutError) as err:
                _log.info("journal_not_collected", sandbox=sandbox.id, reason=str(err))
                silences += 1
                if silences == SILENCES or not await self._may_be_alive(sandbox):
                    break
                await asyncio.sleep(PAUSE_SECONDS)
        if silences and await self._may_be_alive(sandbox):
            _log.warning("journal_rest_lost", sandbox=sandbox.id)

    async def _keep_screens(self, sandbox: Sandbox, client: RuntimeClient) -> None:
        """Keep the screens of one that sleeps. Whatever goes wrong costs them alone."""
        try:
            async with asyncio.timeout(SCREENS_SECONDS):
                await self._screens.keep(sandbox, client)
        except (AtollError, TimeoutError) as err:
            _log.warning("screens_not_kept", sandbox=sandbox.id, reason=str(err))

    async def _may_be_alive(self, sandbox: Sandbox) -> bool:
        """Report whether the runtime may be alive; it may when its backend does not answer."""
        try:
            return await self._provisioning.stands(sandbox)
        except AtollError as err:
            _log.info("backend_not_asked", sandbox=sandbox.id, reason=err.message)
            return True

    async def _until_stored(self) -> None:
        """Return once the store answers."""
        while True:
            try:
                async with self._ground.store.read() as rows:
                    await rows.events.last_position()
                return
            except StoreUnavailable as err:
                _log.warning("work_still_waits", reason=err.message)
            again = self._ground.clock.now() + timedelta(seconds=STORE_SECONDS)
            await self._ground.clock.sleep_until(again)


async def _say_farewell(sandbox: Sandbox, client: RuntimeClient) -> None:
    words = farewell(sandbox)
    body = FarewellBody(reason=words.reason, guest_reason=words.guest_reason)
    async with asyncio.timeout(FAREWELL_SECONDS):
        with suppress(NotFound):  # a runtime of an earlier version
            await client.call(say_farewell(body, sleeps=sandbox.asleep))
