"""Attendance: hears at once when something inside asks for a person's word, or is refused anew.

Attended are sandboxes that can ask, and those where something went on lately: each by one
request that its runtime answers when there is something urgent. All the others' journals are
collected now and then, as ever.
"""

import asyncio
from datetime import timedelta

import structlog

from atoll.domain.errors import AtollError
from atoll.domain.ids import SandboxId
from atoll.domain.sandbox.sandbox import RUNNING, Sandbox, State
from atoll.services.journals.journals import Journals
from atoll.services.sandboxes.provisioning import Provisioning
from atoll.services.sandboxes.transitions import Transitions
from atoll.services.secrets.policies import Policies

POLL_SECONDS = 0.5
"""Between two looks at who is to be attended."""

PAUSE_SECONDS = 0.25
"""Between two requests to one runtime: a flood of questions costs no more than this."""

WAIT_SECONDS = 45
"""How long a runtime holds a request without news; below the client's limit of a minute."""

LATELY = timedelta(minutes=10)
"""A sandbox in which nothing went on for longer costs no request."""

AFTER_SILENCE_SECONDS = 5.0
"""Before a runtime that did not answer is asked again."""

_log = structlog.get_logger(__name__)


class Attendance:
    """Bounded by the number of running sandboxes."""

    def __init__(
        self,
        transitions: Transitions,
        provisioning: Provisioning,
        *,
        policies: Policies,
        journals: Journals,
    ) -> None:
        self._transitions = transitions
        self._provisioning = provisioning
        self._policies = policies
        self._journals = journals
        self._attended: set[SandboxId] = set()

    async def run(self, tasks: asyncio.TaskGroup) -> None:
        """Attend whoever can ask, for ever."""
        while True:
            for sandbox_id in self._wanted():
                sandbox = self._transitions.directory.known_by(sandbox_id)
                if sandbox is None or sandbox.state not in RUNNING | {State.PROVISIONING}:
                    self._policies.askers.discard(sandbox_id)
                elif sandbox.state in RUNNING and sandbox_id not in self._attended:
                    self._attended.add(sandbox_id)
                    tasks.create_task(self._attend(sandbox_id))
            await self._pause(POLL_SECONDS)

    def _wanted(self) -> set[SandboxId]:
        return self._policies.askers.union(self._journals.stirred(LATELY))

    async def _attend(self, sandbox_id: SandboxId) -> None:
        try:
            while sandbox_id in self._wanted():
                sandbox = self._transitions.directory.known_by(sandbox_id)
                if sandbox is None or sandbox.state not in RUNNING:
                    return
                await self._hear(sandbox)
        except Exception:  # noqa: BLE001 - the task's root
            _log.exception("attendance_broke", sandbox=sandbox_id)
        finally:
            self._attended.discard(sandbox_id)

    async def _hear(self, sandbox: Sandbox) -> None:
        try:
            client = self._provisioning.client(sandbox)
            if await self._journals.wait(sandbox, client, WAIT_SECONDS):
                await self._journals.collect(sandbox, client)
        except AtollError as err:
            _log.info("attendance_paused", sandbox=sandbox.id, reason=err.message)
            await self._pause(AFTER_SILENCE_SECONDS)
        await self._pause(PAUSE_SECONDS)

    async def _pause(self, seconds: float) -> None:
        clock = self._transitions.clock
        await clock.sleep_until(clock.now() + timedelta(seconds=seconds))
