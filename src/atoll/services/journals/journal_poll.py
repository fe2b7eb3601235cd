"""Long polling of journals, so that approval requests and refusals arrive at once.

It polls sandboxes that can request approvals, those in which an agent or a set-up runs, and those
with recent activity: each with one request that its runtime answers when an entry is urgent.
`services.sandboxes.backend_watch` collects all other journals at intervals.
"""

import asyncio
from datetime import datetime, timedelta

import structlog

from atoll.domain.errors import AtollError
from atoll.domain.ids import SandboxId
from atoll.domain.sandboxes.sandbox import RUNNING, Sandbox
from atoll.ports import Clock
from atoll.services.journals.journals import Journals
from atoll.services.lifecycle.directory import Directory
from atoll.services.lifecycle.runtimes import SandboxRuntimes
from atoll.services.policies.policies import Policies
from atoll.wire.words.sandboxes import SetupState, State, TaskState

POLL_SECONDS = 0.5
"""Between two decisions about which sandboxes to poll."""

PAUSE_SECONDS = 0.25
"""Between two requests to one runtime: a flood of approval requests costs no more than this."""

WAIT_SECONDS = 45
"""Time for which a runtime holds a request without an urgent entry; below the client's limit of a
minute."""

LATELY = timedelta(minutes=10)
"""A sandbox without activity for longer is not polled."""

AFTER_SILENCE_SECONDS = 5.0
"""Before a retry at a runtime that did not answer."""

_log = structlog.get_logger(__name__)


class JournalPoll:
    """Long polls, with one task for each polled sandbox."""

    def __init__(
        self,
        directory: Directory,
        clock: Clock,
        runtimes: SandboxRuntimes,
        *,
        policies: Policies,
        journals: Journals,
    ) -> None:
        self._directory = directory
        self._clock = clock
        self._runtimes = runtimes
        self._policies = policies
        self._journals = journals
        self._polled: set[SandboxId] = set()

    async def run(self, tasks: asyncio.TaskGroup) -> None:
        """Poll until cancelled."""
        self._polled.clear()  # a task that was cancelled before it began removed nothing
        while True:
            for sandbox_id in self._sandboxes_to_poll():
                sandbox = self._directory.known_by(sandbox_id)
                if sandbox is None or sandbox.state not in RUNNING | {State.PROVISIONING}:
                    self._policies.drop_requester(sandbox_id)
                elif sandbox.state in RUNNING and sandbox_id not in self._polled:
                    self._polled.add(sandbox_id)
                    tasks.create_task(self._poll(sandbox_id))
            await self._pause(POLL_SECONDS)

    def _sandboxes_to_poll(self) -> frozenset[SandboxId]:
        """Return the sandboxes that are busy, lately active, or able to request approvals."""
        now = self._clock.now()
        busy = (sandbox.id for sandbox in self._directory.known() if _is_busy(sandbox, now))
        return self._policies.requesters.union(self._journals.active_within(LATELY), busy)

    async def _poll(self, sandbox_id: SandboxId) -> None:
        try:
            while sandbox_id in self._sandboxes_to_poll():
                sandbox = self._directory.known_by(sandbox_id)
                if sandbox is None or sandbox.state not in RUNNING:
                    return
                await self._wait_and_collect(sandbox)
        except Exception:  # noqa: BLE001 - the task's root
            _log.exception("journal_poll_broke", sandbox=sandbox_id)
        finally:
            self._polled.discard(sandbox_id)

    async def _wait_and_collect(self, sandbox: Sandbox) -> None:
        try:
            client = self._runtimes.client(sandbox)
            if await self._journals.wait(sandbox, client, WAIT_SECONDS):
                await self._journals.collect(sandbox, client)
        except AtollError as err:
            _log.info("journal_poll_paused", sandbox=sandbox.id, reason=err.message)
            await self._pause(AFTER_SILENCE_SECONDS)
        await self._pause(PAUSE_SECONDS)

    async def _pause(self, seconds: float) -> None:
        clock = self._clock
        await clock.sleep_until(clock.now() + timedelta(seconds=seconds))


def _is_busy(sandbox: Sandbox, now: datetime) -> bool:
    """Report whether an agent or a set-up runs. An agent that was just given its task is in the
    journal only."""
    if sandbox.agents:
        return True
    project, task, ready_at = sandbox.project, sandbox.task, sandbox.ready_at
    if project is not None and project.state is SetupState.RUNNING:
        return True
    given = task is not None and task.state is TaskState.GIVEN
    return given and ready_at is not None and ready_at > now - LATELY
