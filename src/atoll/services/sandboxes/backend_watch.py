"""Comparison of the environments in the backends with the sandboxes in the store.

At the start it adopts what an earlier control plane left. Then it receives ends as they happen,
and collects the journals of running sandboxes at intervals.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import timedelta

import structlog

from atoll.domain.errors import AtollError, Failed, NotFound, Unavailable
from atoll.domain.ids import SandboxId
from atoll.domain.pools.pool import PooledState
from atoll.domain.sandboxes.instruction import Teardown
from atoll.domain.sandboxes.sandbox import KEPT, LIVE, RUNNING, Sandbox
from atoll.domain.sandboxes.stimulus import Broke, Requested
from atoll.domain.sandboxes.task_queue import is_queued
from atoll.ports import Ended, EndReasons, Extension, Handle
from atoll.services.ground import Ground
from atoll.services.journals.journals import Journals
from atoll.services.journals.standings import Standings
from atoll.services.lifecycle.directory import Directory
from atoll.services.lifecycle.host_room import all_hosts
from atoll.services.lifecycle.runtimes import SandboxRuntimes
from atoll.services.sandboxes.reconciler import Reconciler, unfinished_work
from atoll.wire.contract.journal import check_health
from atoll.wire.words.sandboxes import State

AGAIN_SECONDS = 1.0
"""Before a retry at a backend that did not answer; it doubles with each further failure."""

LONGEST_AGAIN_SECONDS = 60.0
"""The longest wait; a watch that lasted so long begins with the shortest again."""

MOST_WRONG_ENDS = 100
"""Reports in a row of ends that are none: then the watch is broken off, and tried later."""

SURVEY_WAIT_SECONDS = 60.0
"""For a backend to say what lives there."""

PROBE_SECONDS = 5.0
"""For a runtime to answer that its backend does not know any more."""

SOON_SECONDS = 0.5
"""Between activity in a sandbox and the collection of its journal."""

SWEEP_SECONDS = 10.0
"""Between two looks at the journals of everything that runs."""

SURVEY_SECONDS = 30.0
"""Between two comparisons with what a backend says lives there."""

AT_ONCE = 8
"""Journals read at the same time."""

_MAY_END = LIVE - {State.STOPPED}

_LOST = "Its runtime is gone, and no control plane was there to see why."

_log = structlog.get_logger(__name__)


class BackendWatch:
    """Watch over every backend for as long as `run` runs."""

    def __init__(
        self,
        ground: Ground,
        directory: Directory,
        extensions: Mapping[str, Extension],
        *,
        runtimes: SandboxRuntimes,
        reconciler: Reconciler,
        journals: Journals,
    ) -> None:
        self._ground = ground
        self._directory = directory
        self._extensions = extensions
        self._runtimes = runtimes
        self._reconciler = reconciler
        self._journals = journals
        self._active: set[SandboxId] = set()
        self._adopted = asyncio.Event()

    @property
    def standings(self) -> Standings:
        """Progress of the collection of journals."""
        return self._journals.standings

    async def run(self, tasks: asyncio.TaskGroup) -> None:
        """Adopt, then watch every backend and the journals until cancelled."""
        self._adopted.clear()
        while not self._adopted.is_set():
            try:
                await self._adopt()
                self._adopted.set()
            except Unavailable as err:
                _log.warning("not_adopted_yet", reason=err.message)
                await self._pause(AGAIN_SECONDS)
        for extension in self._extensions.values():
            tasks.create_task(self._follow_ends(extension))
            tasks.create_task(self._surveys(extension))
        await self._sweep()

    async def adopted(self) -> None:
        """Return once what an earlier control plane left is known."""
        await self._adopted.wait()

    def note_activity(self, sandbox: Sandbox) -> None:
        """Have the journal of an active sandbox collected soon."""
        self._active.add(sandbox.id)

    async def _adopt(self) -> None:
        """Load all sandboxes that are not destroyed, and continue interrupted work."""
        async with self._ground.store.read() as rows:
            sandboxes = await rows.sandboxes.unfinished()
        for sandbox in sandboxes:
            if self._reconciler.follows(sandbox.id):
                continue
            self._directory.put(sandbox)
            if sandbox.state is State.REQUESTED and not is_queued(sandbox):
                await self._reconciler.apply(sandbox.id, Requested())
            elif self._ground.leadership.shared or sandbox.leftovers:
                self._reconciler.follow(sandbox, ())  # its work is owed, or the survey's
            else:
                self._reconciler.follow(sandbox, unfinished_work(sandbox))

    async def _follow_ends(self, extension: Extension) -> None:
        """Apply ends as they happen; compare everything first after each interruption."""
        pause = AGAIN_SECONDS
        while True:
            began = self._ground.clock.now()
            try:
                await self._compare(extension)
                await self._apply_ends(extension)
            except AtollError as err:
                _log.warning("extension_unwatched", extension=extension.name, reason=err.message)
            except Exception:  # noqa: BLE001 - the task's root
                _log.exception("extension_watch_broke", extension=extension.name)
            if (self._ground.clock.now() - began).total_seconds() >= LONGEST_AGAIN_SECONDS:
                pause = AGAIN_SECONDS
            await self._pause(pause)
            pause = min(pause * 2, LONGEST_AGAIN_SECONDS)

    async def _apply_ends(self, extension: Extension) -> None:
        """Apply ends as they happen. Raises `Failed` for a flood of ends that are none."""
        wrong = 0
        async for ended in extension.ended():
            wrong = 0 if await self._end(extension, ended) else wrong + 1
            if wrong > MOST_WRONG_ENDS:
                raise Failed(f"it reported {wrong} ends in a row of what does not run")

    async def _end(self, extension: Extension, ended: Ended) -> bool:
        """Apply an end of one of the extension's own sandboxes; return whether it was one. Another
        extension's sandbox is none of its business."""
        async with self._ground.store.read() as rows:
            sandbox = await rows.sandboxes.get(ended.sandbox_id)
        if sandbox is None and await self._end_pooled(extension, ended):
            return True
        if sandbox is None:
            _log.info("stranger_ended", extension=extension.name, sandbox=ended.sandbox_id[:80])
            return False
        if sandbox.profile.extension != extension.name:
            _log.error("foreign_end", extension=extension.name, sandbox=sandbox.id)
            return False
        if sandbox.state not in _MAY_END or sandbox.generation != ended.generation:
            return False
        _log.warning("sandbox_ended", sandbox=sandbox.id, reason=ended.reason)
        await self._apply(sandbox.id, Broke(ended.generation, ended.reason))
        return True

    async def _end_pooled(self, extension: Extension, ended: Ended) -> bool:
        """Have what ended in a pool given to nobody; return whether it was in one."""
        async with self._ground.store.begin() as rows:
            pooled = await rows.pooled.get(ended.sandbox_id)
            if pooled is None or pooled.profile.extension != extension.name:
                return False
            await rows.pooled.put(replace(pooled, state=PooledState.ENDING))
        return True

    async def _surveys(self, extension: Extension) -> None:
        """Compare at intervals, because a backend may restart without an event."""
        while True:
            await self._pause(SURVEY_SECONDS)
            try:
                await self._compare(extension)
            except AtollError as err:
                _log.warning("extension_unseen", extension=extension.name, reason=err.message)
            except Exception:  # noqa: BLE001 - the task's root
                _log.exception("extension_survey_broke", extension=extension.name)

    async def _compare(self, extension: Extension) -> None:
        """Mark as failed what should run and does not; end what runs and should not."""
        async with self._ground.store.read() as rows:
            expected = await rows.sandboxes.unfinished()
            hosts = {host.name for host in await all_hosts(rows)}
        alive = {handle.sandbox_id: handle for handle in await _survey_backend(extension)}
        for sandbox in expected:
            if sandbox.profile.extension != extension.name:
                continue
            handle = alive.pop(sandbox.id, None)
            if handle is None and sandbox.state in RUNNING:
                if not self._reconciler.busy(sandbox.id) and not await self._answers(sandbox):
                    reason = await _why_ended(extension, sandbox.id)
                    await self._apply(sandbox.id, Broke(sandbox.generation, reason))
            elif handle is not None and sandbox.state in KEPT | {State.STOPPED}:
                await self._end_again(sandbox.id)
            elif sandbox.leftovers and sandbox.host in hosts:
                self._destroy_again(sandbox)
        await self._reap(extension, alive.values())

    async def _answers(self, sandbox: Sandbox) -> bool:
        """Return whether the runtime of a sandbox answers that its backend does not know: then it
        is the survey that is wrong, and what lives is not ended for it."""
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                health = await self._runtimes.client(sandbox).call(check_health())
        except (AtollError, TimeoutError):
            return False
        lives = (health.sandbox_id, health.generation) == (sandbox.id, sandbox.generation)
        if lives:
            _log.error("survey_wrong", extension=sandbox.profile.extension, sandbox=sandbox.id)
        return lives

    async def _end_again(self, sandbox_id: SandboxId) -> None:
        """End what should not run, unless it has been started meanwhile."""
        async with self._ground.store.read() as rows:
            sandbox = await rows.sandboxes.get(sandbox_id)
        if sandbox is None or self._reconciler.busy(sandbox_id):
            return
        if self._reconciler.maintains(sandbox_id):
            return
        if sandbox.state in KEPT | {State.STOPPED}:
            over = Teardown(sandbox.generation, keep_state=True)
            self._reconciler.follow(sandbox, (over,))

    def _destroy_again(self, sandbox: Sandbox) -> None:
        """Take up a destruction that rests: its host may be trusted again by now. Without its host,
        which may be added again, it rests on."""
        if not self._reconciler.busy(sandbox.id):
            self._reconciler.follow(sandbox, unfinished_work(sandbox))

    async def _reap(self, extension: Extension, strangers: Iterable[Handle]) -> None:
        """Tear down environments without a sandbox. Reads the store again, for new ones."""
        for handle in strangers:
            async with self._ground.store.read() as rows:
                sandbox = await rows.sandboxes.get(handle.sandbox_id)
                pooled = await rows.pooled.get(handle.sandbox_id)
            if pooled is None and (sandbox is None or sandbox.state is State.DESTROYED):
                _log.warning("orphan_reaped", sandbox=handle.sandbox_id)
                await extension.teardown(handle, keep_state=False)

    async def _apply(self, sandbox_id: SandboxId, stimulus: Broke) -> None:
        try:
            await self._reconciler.apply(sandbox_id, stimulus)
        except NotFound:
            _log.info("stranger_ended", sandbox=sandbox_id)

    async def collect_active(self) -> None:
        """Collect the journals of sandboxes in which something was begun here, until cancelled."""
        await self._sweep(everywhere=False)

    async def _sweep(self, *, everywhere: bool = True) -> None:
        """Take in journals: soon after activity, at intervals everywhere."""
        next_full = self._ground.clock.now()
        while True:
            now = self._ground.clock.now()
            full = everywhere and now >= next_full
            if full:
                next_full = now + timedelta(seconds=SWEEP_SECONDS)
            active, self._active = self._active, set()
            running = [
                sandbox
                for sandbox in self._directory.known()
                if sandbox.state in RUNNING and (full or sandbox.id in active)
            ]
            if full:
                self._journals.standings.keep(sandbox.id for sandbox in running)
            for start in range(0, len(running), AT_ONCE):
                async with asyncio.TaskGroup() as tasks:
                    for sandbox in running[start : start + AT_ONCE]:
                        tasks.create_task(self._collect(sandbox))
            await self._pause(SOON_SECONDS)

    async def _collect(self, sandbox: Sandbox) -> None:
        try:
            async with asyncio.timeout(10.0):
                await self._journals.collect(sandbox, self._runtimes.client(sandbox))
        except (AtollError, TimeoutError) as err:
            _log.info("journal_not_collected", sandbox=sandbox.id, reason=str(err))
        except Exception:  # noqa: BLE001 - the task's root
            _log.exception("journal_collection_broke", sandbox=sandbox.id)

    async def _pause(self, seconds: float) -> None:
        await self._ground.clock.sleep_until(self._ground.clock.now() + timedelta(seconds=seconds))


async def _survey_backend(extension: Extension) -> list[Handle]:
    """Return all handles of a backend. Raises `Unavailable` when that takes too long."""
    try:
        async with asyncio.timeout(SURVEY_WAIT_SECONDS):
            return await extension.survey()
    except TimeoutError as err:
        raise Unavailable(
            f"{extension.name} did not say within {SURVEY_WAIT_SECONDS:g} s what lives there"
        ) from err


async def _why_ended(extension: Extension, sandbox_id: SandboxId) -> str:
    """Return the backend's reason of an end while nobody watched."""
    known = isinstance(extension, EndReasons) and await extension.why_ended(sandbox_id)
    return known or _LOST
