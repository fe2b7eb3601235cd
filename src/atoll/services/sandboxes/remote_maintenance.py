"""Maintenance starts between replicas: a follower asks for one in the store, the leader makes it.

Only the leader starts anything. A follower that reads what a sandbox keeps stores until when it
needs that, and finds there where the runtime answers.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

import structlog

from atoll.domain.errors import AtollError, Unavailable
from atoll.domain.ids import SandboxId
from atoll.domain.sandboxes.sandbox import Sandbox, keeps_files
from atoll.ports import RuntimeClient
from atoll.ports.extension import Reachability
from atoll.services.ground import Ground
from atoll.services.lifecycle.runtimes import SandboxRuntimes
from atoll.services.sandboxes.maintenance import Maintenance
from atoll.services.task_runner import TaskRunner

LOOK_SECONDS = 0.25
"""Between two looks at requests, and at their answer."""

HELD_SECONDS = 15.0
"""The time for which a reader asks, again and again while it reads."""

START_SECONDS = 60.0
"""The time after which a reader gives up."""

_EVER = datetime.min.replace(tzinfo=UTC)

_log = structlog.get_logger(__name__)


class RemoteMaintenance:
    """Requests of one replica, and their answers while it leads."""

    def __init__(
        self,
        ground: Ground,
        maintenance: Maintenance,
        runtimes: SandboxRuntimes,
        *,
        runner: TaskRunner,
        leading: TaskRunner,
    ) -> None:
        """Take `runner` for tasks of any replica, and `leading` for the leader's."""
        self._ground = ground
        self._maintenance = maintenance
        self._runtimes = runtimes
        self._runner = runner
        self._leading = leading
        self._wanted: set[SandboxId] = set()
        self._serving: set[SandboxId] = set()

    @asynccontextmanager
    async def opened(self, sandbox: Sandbox) -> AsyncIterator[RuntimeClient]:
        """Start a sandbox for maintenance and yield its runtime's client, as `Maintenance.opened`
        does, here or through the leader."""
        if self._ground.leadership.leads:
            async with self._maintenance.opened(sandbox) as client:
                yield client
            return
        await self._want(sandbox.id)
        done = asyncio.Event()
        self._runner.start(partial(self._renew, sandbox.id, done))
        try:
            yield self._runtimes.client_at(await self._answer(sandbox))
        finally:
            done.set()

    async def serve(self) -> None:
        """Make the starts that followers ask for, until cancelled. For the leader."""
        self._serving.clear()
        while True:
            try:
                await self._look()
            except AtollError as error:
                _log.warning("maintenance_not_read", reason=error.message)
            await self._pause()

    async def _look(self) -> None:
        async with self._ground.store.read() as rows:
            if not self._serving and not await rows.maintenance.wanted(_EVER):
                self._wanted = set()
                return
        async with self._ground.store.begin() as rows:
            self._wanted = {*await rows.maintenance.wanted(self._ground.clock.now())}
            fresh = self._wanted - self._serving
            sandboxes = [await rows.sandboxes.get(sandbox_id) for sandbox_id in sorted(fresh)]
        for sandbox in sandboxes:
            # One that was started meanwhile answers for itself.
            if sandbox is not None and keeps_files(sandbox):
                self._serving.add(sandbox.id)
                self._leading.start(partial(self._serve, sandbox))

    async def _serve(self, sandbox: Sandbox) -> None:
        answer: Reachability | str | None
        try:
            async with self._maintenance.reached(sandbox) as answer:
                await self._store(sandbox.id, answer)
                while sandbox.id in self._wanted and self._maintenance.holds(sandbox.id):
                    await self._pause()
            answer = None
        except AtollError as error:
            answer = error.message
        except Exception:  # noqa: BLE001 - the task's root
            _log.exception("maintenance_broke", sandbox=sandbox.id)
            answer = f"What {sandbox.name} keeps could not be opened."
        try:
            await self._store(sandbox.id, answer)
            if answer is not None:
                await self._pause()  # for those who wait to read why
        except AtollError as error:
            _log.warning("maintenance_not_answered", reason=error.message)
        self._serving.discard(sandbox.id)

    async def _store(self, sandbox_id: SandboxId, answer: Reachability | str | None) -> None:
        if isinstance(answer, Reachability):
            answer = replace(answer, token=self._runtimes.tokens.seal(sandbox_id, answer.token))
        async with self._ground.store.begin() as rows:
            await rows.maintenance.answer(sandbox_id, answer)

    async def _answer(self, sandbox: Sandbox) -> Reachability:
        """Return where the runtime answers, once the leader says so."""
        try:
            async with asyncio.timeout(START_SECONDS):
                while True:
                    async with self._ground.store.read() as rows:
                        answer = await rows.maintenance.answered(sandbox.id)
                    if isinstance(answer, Reachability):
                        token = self._runtimes.tokens.open_for(sandbox.id, answer.token)
                        return replace(answer, token=token)
                    if isinstance(answer, str):
                        raise Unavailable(answer)
                    await self._pause()
        except TimeoutError as error:
            raise Unavailable(
                f"What {sandbox.name} keeps could not be opened in time: try again."
            ) from error

    async def _renew(self, sandbox_id: SandboxId, done: asyncio.Event) -> None:
        while not done.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(HELD_SECONDS / 3):
                    await done.wait()
                return
            try:
                await self._want(sandbox_id)
            except AtollError as error:
                _log.info("maintenance_not_renewed", reason=error.message)

    async def _want(self, sandbox_id: SandboxId) -> None:
        until = self._ground.clock.now() + timedelta(seconds=HELD_SECONDS)
        async with self._ground.store.begin() as rows:
            await rows.maintenance.want(sandbox_id, until)

    async def _pause(self) -> None:
        clock = self._ground.clock
        await clock.sleep_until(clock.now() + timedelta(seconds=LOOK_SECONDS))
