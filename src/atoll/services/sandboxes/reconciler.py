"""Reconciler: performs the work that the lifecycle decided, and applies what results from it.

Work is queued by sandbox and runs in the task runner. Deadlines are watched here.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta

import structlog

from atoll.domain.errors import AtollError, Conflict
from atoll.domain.event import sandbox_stream
from atoll.domain.host.host import NOT_TRUSTED
from atoll.domain.ids import SandboxId
from atoll.domain.people.principal import SYSTEM, Principal
from atoll.domain.route.decision import place
from atoll.domain.sandbox.instruction import Provision, Relocate, Teardown
from atoll.domain.sandbox.lifetime import deadline, idle_deadline
from atoll.domain.sandbox.owed import owed_work
from atoll.domain.sandbox.sandbox import RUNNING, Sandbox
from atoll.domain.sandbox.steps.in_time import TOUCH_SECONDS
from atoll.domain.sandbox.stimulus import (
    Broke,
    Due,
    Reached,
    Relocated,
    Renewed,
    Rerouted,
    Stimulus,
    TeardownFailed,
    TornDown,
    Touched,
)
from atoll.ports import CleanupReport, LogLine, StoreUnavailable
from atoll.ports.telemetry.metrics import Metric
from atoll.services.ground import Ground
from atoll.services.lifecycle.deadlines import Deadlines
from atoll.services.lifecycle.live_log import LiveLog
from atoll.services.lifecycle.transitions import Also, Stored, Transitions, Work
from atoll.services.provisioning.provisioning import BackendFailed, Provisioning
from atoll.services.provisioning.relocation import Relocations
from atoll.services.routes.rerouting import Rerouting, Tried
from atoll.services.sandboxes.final_collection import FinalCollection
from atoll.services.sandboxes.maintenance import Maintenance
from atoll.services.sandboxes.owed_work import OwedWork
from atoll.services.sandboxes.work_queues import WorkQueues
from atoll.services.task_runner import TaskRunner
from atoll.wire.words.sandboxes import State

RETRY_SECONDS = 5.0
"""Between attempts of a teardown that did not work out; it doubles with each further one."""

LONGEST_RETRY_SECONDS = 60.0

SLOW_SECONDS = 45.0
"""For a teardown, before it is said that it takes long."""

LOOK_AGAIN_SECONDS = 30.0
"""When a runtime could not be asked how idle it is."""

PROVISIONS = Metric(
    "atoll_sandbox_provisions_total",
    "Bring-ups of sandboxes that ended, by outcome (ready, failed).",
    ("outcome",),
)
CREATE_SECONDS = Metric(
    "atoll_sandbox_create_seconds",
    "Time from the request for a sandbox until it is ready for the first time.",
    (),
    (0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0),
)


def unfinished_work(sandbox: Sandbox) -> tuple[Work, ...]:
    """Return the work that the state of a stored sandbox asks for."""
    return tuple(work for _, work in owed_work(sandbox, ending=False))


_Act = Callable[[SandboxId], Awaitable[object]]

_log = structlog.get_logger(__name__)


class Reconciler:
    """Performs instructions and feeds their outcomes back as stimuli."""

    def __init__(
        self,
        ground: Ground,
        transitions: Transitions,
        provisioning: Provisioning,
        *,
        final_collection: FinalCollection,
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
        self._final_collection = final_collection
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
        self._live_logs: dict[SandboxId, LiveLog] = {}

    async def run(self) -> None:
        """Watch the deadlines until cancelled. The work itself runs in the task runner."""
        if self._leadership.shared:
            # What this process knew before it led may be outdated.
            self._followed.clear()
        await self._deadlines.run(lambda sandbox_id: self._begin(self._look_at, sandbox_id))

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
        self._stored(sandbox, work)

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
            self._stored(sandbox, work)
        return stored[0][0]

    def _stored(self, sandbox: Sandbox, work: Sequence[Work]) -> None:
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
        log = self._live_logs.get(sandbox_id)
        return () if log is None else log.lines

    def touch(self, sandbox: Sandbox) -> None:
        """Something runs in it: mark that soon, without anybody waiting, at most once per 30 s."""
        last, now = sandbox.last_active_at, self._ground.clock.now()
        stale = last is None or (now - last).total_seconds() >= TOUCH_SECONDS
        if sandbox.id not in self._touching and (stale or sandbox.state is State.READY):
            self._touching.add(sandbox.id)
            self._begin(self._touch, sandbox.id)

    def _begin(self, act: _Act, sandbox_id: SandboxId) -> None:
        self._runner.start(lambda: self._guarded(act, sandbox_id))

    async def _guarded(self, act: _Act, sandbox_id: SandboxId) -> None:
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
        self._live_logs.pop(sandbox_id, None)
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
                    with self._ground.telemetry.tracer.span("sandbox.provision") as span:
                        span.note("atoll.sandbox", sandbox.id)
                        await self._provision(sandbox, work)
                case Teardown():
                    await self._tear_down(sandbox, work)
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

    async def _provision(self, sandbox: Sandbox, work: Provision) -> None:
        live = self._live_logs[sandbox.id] = LiveLog(self._ground, sandbox)
        if self._leadership.shared:
            self._begin(lambda _: live.run(), sandbox.id)
        try:
            await self._bring_up(sandbox, work, live)
        finally:
            live.close()

    async def _bring_up(self, sandbox: Sandbox, work: Provision, live: LiveLog) -> None:
        report, began = live.report, self._rerouting.began()
        try:
            sandbox = await self._with_agents(sandbox)
            if work.renew:
                await self._provisioning.renew(sandbox, report, ending=self._final_collection.take)
                sandbox = await self._outcome(sandbox.id, Renewed(work.generation))
            brought = await self._provisioning.bring_up(sandbox, report, fresh=work.renew)
        except StoreUnavailable:
            raise  # nothing is wrong with the sandbox: it is taken up again
        except BackendFailed as err:
            await self._elsewhere(Tried(sandbox, began, err.reason), live)
            return
        except AtollError as err:
            await self._broke(sandbox, err.reason, live)
            return
        except Exception as err:  # noqa: BLE001 - the task's root
            _log.exception("provisioning_broke", sandbox=sandbox.id)
            reason = f"Provisioning broke unexpectedly ({type(err).__name__}); the log says more."
            await self._broke(sandbox, reason, live)
            return
        stimulus = Reached(
            work.generation,
            brought.attachment,
            brought.repos,
            brought.instructions,
            brought.task,
            brought.project,
        )
        noted = self._rerouting.noted(Tried(sandbox, began))
        ready = await self._outcome(sandbox.id, stimulus, await live.taken(), also=noted)
        self._count(sandbox, "ready")
        if ready.state in RUNNING:
            self._begin(lambda _: self._provisioning.settle(ready), sandbox.id)
            if brought.task is not None and brought.task != sandbox.task:
                self.touch(ready)

    async def _with_agents(self, sandbox: Sandbox) -> Sandbox:
        """With the agents it had at last: a stop just before this took in their last words."""
        if not sandbox.resuming:
            return sandbox
        known = await self._read(sandbox.id)
        return sandbox if known is None else replace(sandbox, agents=known.agents)

    async def _outcome(
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

    async def _elsewhere(self, tried: Tried, live: LiveLog) -> None:
        """Have the next candidate try, once nothing stands at the one that failed. Two walls, and
        two bills, are never there at once."""
        sandbox, reason, also = tried.sandbox, tried.reason or "", self._rerouting.noted(tried)
        left = await self._rerouting.left(sandbox)
        standing = await self._standing(sandbox) if left else ""
        if standing:
            reason = f"{reason} It was tried nowhere else, as this may still stand: {standing}"
        for candidate in () if standing else left:
            stimulus = Rerouted(
                sandbox.generation,
                candidate.extension,
                candidate.host,
                reason,
                candidate.rented_in,
            )
            lines = await live.taken(f"{reason} {place(candidate)} tries next.")
            try:
                await self._outcome(sandbox.id, stimulus, lines, also=also)
            except Conflict as err:
                # Its host changed since the decision: full, drained, or another's by now.
                reason = f"{reason} {place(candidate)} was skipped: {err.message.rstrip('.')}."
            else:
                return
        await self._broke(sandbox, reason, live, also=also)

    async def _standing(self, sandbox: Sandbox) -> str:
        """Tear down what a failed attempt left. Returns what may still stand there."""
        try:
            report = await self._provisioning.tear_down(sandbox, keep_state=False)
        except StoreUnavailable:
            raise
        except AtollError as err:
            return err.message
        return "; ".join(report.leftovers)

    async def _broke(
        self, sandbox: Sandbox, reason: str, live: LiveLog, *, also: Also | None = None
    ) -> None:
        live.report(reason)
        stimulus = Broke(sandbox.generation, reason)
        await self._outcome(sandbox.id, stimulus, await live.taken(), also=also)
        self._count(sandbox, "failed")

    async def _relocate(self, sandbox: Sandbox) -> None:
        """Bring the files to their new host. Who wants to read them meanwhile must wait."""

        async def told(stimulus: Stimulus) -> Sandbox:
            also = self._rerouting.moved(sandbox) if isinstance(stimulus, Relocated) else None
            return await self._outcome(sandbox.id, stimulus, also=also)

        with self._maintenance.barred(sandbox.id):
            await self._maintenance.end(sandbox.id)
            await self._relocations.run(sandbox, told)

    def _count(self, before: Sandbox, outcome: str) -> None:
        """Count a bring-up that ended, and time the first one of a sandbox from its request on."""
        metrics = self._ground.telemetry.metrics
        metrics.count(PROVISIONS, outcome)
        if outcome == "ready" and before.ready_at is None:
            waited = self._ground.clock.now() - before.created_at
            metrics.observe(CREATE_SECONDS, waited.total_seconds())

    async def _tear_down(self, sandbox: Sandbox, work: Teardown) -> None:
        """Tear down, again and again until it works out: nothing may be left running. Why it does
        not is the sandbox's reason meanwhile. A destruction on a host that is not trusted rests:
        the survey takes it up again. A stop gives way to a destruction."""
        pause = RETRY_SECONDS
        while isinstance(done := await self._attempt(sandbox, work), TeardownFailed):
            _log.warning("teardown_failed", sandbox=sandbox.id, reason=done.reason)
            await self._outcome(sandbox.id, done)
            if done.leftovers or await self._ends_within(pause, sandbox.id):
                return
            pause = min(2 * pause, LONGEST_RETRY_SECONDS)
        known = await self._read(sandbox.id)
        if not work.keep_state or (known is not None and known.reason is not None):
            told = TornDown(work.generation, done.removed, done.leftovers, work.keep_state)
            await self._outcome(sandbox.id, told)

    async def _ends_within(self, seconds: float, sandbox_id: SandboxId) -> bool:
        """Wait before the next attempt. Returns True as soon as a destruction waits for this one's
        end."""
        again = self._ground.clock.now() + timedelta(seconds=seconds)
        async with asyncio.TaskGroup() as tasks:
            ending = tasks.create_task(self._work_queues.ending(sandbox_id))
            pause = tasks.create_task(self._ground.clock.sleep_until(again))
            await asyncio.wait({ending, pause}, return_when=asyncio.FIRST_COMPLETED)
            ended = ending.done()
            ending.cancel()
            pause.cancel()
        return ended

    async def _attempt(self, sandbox: Sandbox, work: Teardown) -> CleanupReport | TeardownFailed:
        """Return the result of one attempt, and say meanwhile when it takes long."""
        async with asyncio.TaskGroup() as tasks:
            attempt = tasks.create_task(self._torn(sandbox, work))
            await asyncio.wait({attempt}, timeout=SLOW_SECONDS)
            if not attempt.done():
                reason = f"{sandbox.profile.extension} has been ending it for {SLOW_SECONDS:g} s."
                slow = TeardownFailed(work.generation, reason)
                await self._guarded(lambda one: self._outcome(one, slow), sandbox.id)
        return attempt.result()

    async def _torn(self, sandbox: Sandbox, work: Teardown) -> CleanupReport | TeardownFailed:
        """Return what was removed, or why nothing could be."""
        await self._final_collection.run(sandbox)
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
