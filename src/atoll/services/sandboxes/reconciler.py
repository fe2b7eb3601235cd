"""Reconciler: performs the work that the lifecycle decided, and applies what results from it.

Work is queued by sandbox and runs in the task runner. Deadlines are watched here.
"""

from collections.abc import Sequence
from datetime import timedelta

import structlog

from atoll.domain.errors import AtollError
from atoll.domain.event import sandbox_stream
from atoll.domain.ids import SandboxId
from atoll.domain.people.principal import SYSTEM, Principal
from atoll.domain.sandboxes.instruction import Provision, Relocate, Teardown
from atoll.domain.sandboxes.lifetime import deadline, idle_deadline
from atoll.domain.sandboxes.owed import owed_work
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.sandboxes.steps.in_time import TOUCH_SECONDS
from atoll.domain.sandboxes.stimulus import (
    Due,
    Relocated,
    Stimulus,
    Touched,
)
from atoll.ports import LogLine, StoreUnavailable
from atoll.services.ground import Ground
from atoll.services.lifecycle.deadlines import Deadlines
from atoll.services.lifecycle.transitions import Also, Stored, Transitions, Work
from atoll.services.provisioning.outcomes import Act
from atoll.services.provisioning.provisioning import Provisioning
from atoll.services.provisioning.relocation import Relocations
from atoll.services.provisioning.startups import Startups
from atoll.services.provisioning.teardowns import Teardowns
from atoll.services.routes.rerouting import Rerouting
from atoll.services.sandboxes.maintenance import Maintenance
from atoll.services.sandboxes.owed_work import OwedWork
from atoll.services.sandboxes.work_queues import WorkQueues
from atoll.services.task_runner import TaskRunner
from atoll.wire.words.sandboxes import State

RETRY_SECONDS = 5.0
"""Until work that was interrupted is taken up again."""

LOOK_AGAIN_SECONDS = 30.0
"""When a runtime could not be asked how idle it is."""


def unfinished_work(sandbox: Sandbox) -> tuple[Work, ...]:
    """Return the work that the state of a stored sandbox asks for."""
    return tuple(work for _, work in owed_work(sandbox, ending=False))


_log = structlog.get_logger(__name__)


class Reconciler:
    """Performs instructions and feeds their outcomes back as stimuli."""

    def __init__(
        self,
        ground: Ground,
        transitions: Transitions,
        provisioning: Provisioning,
        *,
        startups: Startups,
        teardowns: Teardowns,
        maintenance: Maintenance,
        relocations: Relocations,
        work_queues: WorkQueues,
        owed_work: OwedWork,
        rerouting: Rerouting,
        deadlines: Deadlines,
        runner: TaskRunner,
    ) -> None:
        self._ground = ground
        self._transitions = transitions
        self._provisioning = provisioning
        self._startups = startups
        self._teardowns = teardowns
        self._maintenance = maintenance
        self._relocations = relocations
        self._work_queues = work_queues
        self._leadership = ground.leadership
        self._owed_work = owed_work
        self._rerouting = rerouting
        self._deadlines = deadlines
        self._runner = runner
        self._followed: set[SandboxId] = set()
        self._touching: set[SandboxId] = set()

    async def run(self) -> None:
        """Watch the deadlines until cancelled. The work itself runs in the task runner."""
        if self._leadership.shared:
            # What this process knew before it led may be outdated.
            self._followed.clear()
        await self._deadlines.run(lambda sandbox_id: self.begin_act(self._look_at, sandbox_id))

    async def apply(
        self,
        sandbox_id: SandboxId,
        stimulus: Stimulus,
        *,
        actor: Principal = SYSTEM,
        also: Also | None = None,
    ) -> Sandbox:
        """Apply a stimulus and see to what follows. Raises what `Transitions.apply` raises."""
        stored = await self._transitions.apply(sandbox_id, stimulus, actor=actor, also=also)
        return self._see_to(stored)

    async def perform_owed(self) -> None:
        """Perform what replicas decided, until cancelled."""
        await self._owed_work.run(self)

    def begin(self, sandbox: Sandbox, work: Sequence[Work]) -> None:
        """Announce a sandbox that was just stored, and see to `work`."""
        self._transitions.publish(sandbox)
        self._follow_stored_work(sandbox, work)

    def follow(self, sandbox: Sandbox, work: Sequence[Work]) -> None:
        """See to `work`, and to the next deadline, if this process leads."""
        if not self._leadership.leads:
            return
        if sandbox.state is State.DESTROYED:
            self._followed.discard(sandbox.id)
        else:
            self._followed.add(sandbox.id)
        self._deadlines.set(sandbox.id, deadline(sandbox))
        self._work_queues.submit(sandbox, work, self)

    def _see_to(self, stored: Sequence[Stored]) -> Sandbox:
        """See to the work of all that a stimulus changed. Returns the sandbox it was applied to."""
        for sandbox, work in stored:
            self._follow_stored_work(sandbox, work)
        return stored[0][0]

    def _follow_stored_work(self, sandbox: Sandbox, work: Sequence[Work]) -> None:
        """See to work that was just stored. Where others may have stored more, the leader derives
        it from the state."""
        if self._leadership.shared:
            self.follow(sandbox, ())
            self._owed_work.wake()
        else:
            self.follow(sandbox, work)

    async def settled(self, sandbox_id: SandboxId) -> bool:
        """Return whether no work for this sandbox is queued or under way anywhere."""
        if self._leadership.shared:
            return await self._owed_work.settled(sandbox_id)
        return not self.busy(sandbox_id)

    def follows(self, sandbox_id: SandboxId) -> bool:
        """Return whether this process already follows a sandbox, which then needs no adoption."""
        return sandbox_id in self._followed

    def busy(self, sandbox_id: SandboxId) -> bool:
        """Return whether work for this sandbox is queued or under way."""
        return self._work_queues.busy(sandbox_id)

    def maintains(self, sandbox_id: SandboxId) -> bool:
        """Return whether this sandbox is up for maintenance."""
        return self._maintenance.holds(sandbox_id)

    def live_lines(self, sandbox_id: SandboxId) -> tuple[LogLine, ...]:
        """Return the lines of a provisioning under way that are not stored yet."""
        return self._startups.live_lines(sandbox_id)

    def touch(self, sandbox: Sandbox) -> None:
        """Something runs in it: mark that soon, without anybody waiting, at most once per 30 s."""
        last, now = sandbox.last_active_at, self._ground.clock.now()
        stale = last is None or (now - last).total_seconds() >= TOUCH_SECONDS
        if sandbox.id not in self._touching and (stale or sandbox.state is State.READY):
            self._touching.add(sandbox.id)
            self.begin_act(self._touch, sandbox.id)

    def begin_act(self, act: Act, sandbox_id: SandboxId) -> None:
        """Begin an act in the background; a refusal goes to the log."""
        self._runner.start(lambda: self.guard(act, sandbox_id))

    async def guard(self, act: Act, sandbox_id: SandboxId) -> None:
        """Do an act; a refusal goes to the log."""
        try:
            await act(sandbox_id)
        except AtollError as err:
            _log.info("background_act_refused", sandbox=sandbox_id, reason=err.message)
        except Exception:  # noqa: BLE001 - the task's root
            _log.exception("background_act_broke", sandbox=sandbox_id)

    async def _touch(self, sandbox_id: SandboxId) -> None:
        try:
            await self.apply(sandbox_id, Touched())
        finally:
            self._touching.discard(sandbox_id)

    async def _look_at(self, sandbox_id: SandboxId) -> None:
        """Apply a deadline that came: time to live, the warning before, retention, or idleness."""
        try:
            sandbox = await self.apply(sandbox_id, Due())
        except StoreUnavailable:
            again = self._ground.clock.now() + timedelta(seconds=RETRY_SECONDS)
            self._deadlines.set(sandbox_id, again)
            raise
        idle = idle_deadline(sandbox)
        now = self._ground.clock.now()
        if idle is None or idle > now:
            return
        try:
            idleness = await self._provisioning.idleness(sandbox)
        except AtollError as err:
            _log.warning("idleness_unknown", sandbox=sandbox_id, reason=err.message)
            again = now + timedelta(seconds=LOOK_AGAIN_SECONDS)
            self._deadlines.set(sandbox_id, min(again, sandbox.expires_at))
            return
        await self.apply(sandbox_id, idleness)

    def ran_empty(self, sandbox_id: SandboxId) -> None:
        """Drop the lines of a provisioning that is over, and announce it."""
        self._startups.drop_log(sandbox_id)
        if self._leadership.shared:
            self._owed_work.ran_empty(sandbox_id)
        self._ground.bus.announce((sandbox_stream(sandbox_id),))

    async def perform(self, sandbox: Sandbox, work: Work) -> None:
        """Perform one piece of work, and apply its outcome."""
        try:
            # Who reads what it keeps goes first.
            await self._maintenance.end(sandbox.id)
            match work:
                case Provision():
                    await self._startups.run(sandbox, work, self)
                case Teardown():
                    await self._teardowns.run(sandbox, work, self)
                case Relocate():
                    await self._relocate(sandbox)
        except StoreUnavailable as err:
            _log.warning("work_interrupted", sandbox=sandbox.id, work=str(work), reason=err.message)
            await self._take_up(sandbox.id)
        except AtollError as err:
            _log.warning("work_failed", sandbox=sandbox.id, work=str(work), reason=err.message)
        except Exception:  # noqa: BLE001 - the task's root
            _log.exception("work_broke", sandbox=sandbox.id, work=str(work))

    async def _take_up(self, sandbox_id: SandboxId) -> None:
        """Continue with what is stored, as a new control plane would, once the store answers."""
        while True:
            again = self._ground.clock.now() + timedelta(seconds=RETRY_SECONDS)
            await self._ground.clock.sleep_until(again)
            try:
                sandbox = await self._read(sandbox_id)
            except StoreUnavailable as err:
                _log.warning("work_still_waits", sandbox=sandbox_id, reason=err.message)
                continue
            if sandbox is not None:
                self.follow(sandbox, unfinished_work(sandbox))
            return

    async def _read(self, sandbox_id: SandboxId) -> Sandbox | None:
        async with self._ground.store.read() as rows:
            return await rows.sandboxes.get(sandbox_id)

    async def outcome(
        self,
        sandbox_id: SandboxId,
        stimulus: Stimulus,
        lines: Sequence[LogLine] = (),
        *,
        also: Also | None = None,
    ) -> Sandbox:
        """Apply the outcome of work, unless another process leads by now and does it again."""
        stored = await self._transitions.apply(
            sandbox_id, stimulus, lines=lines, leading=True, also=also
        )
        return self._see_to(stored)

    async def _relocate(self, sandbox: Sandbox) -> None:
        """Bring the files to their new host. Who wants to read them meanwhile must wait."""

        async def apply_stimulus(stimulus: Stimulus) -> Sandbox:
            also = self._rerouting.moved(sandbox) if isinstance(stimulus, Relocated) else None
            return await self.outcome(sandbox.id, stimulus, also=also)

        with self._maintenance.barred(sandbox.id):
            await self._maintenance.end(sandbox.id)
            await self._relocations.run(sandbox, apply_stimulus)
