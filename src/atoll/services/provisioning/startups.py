"""Startups: the work of bringing a sandbox up, with its log, its metrics and the next candidate.

The steps are `services.provisioning.steps`; whatever they end by is stored as an outcome. Where
several control planes share the store, a startup that takes a while stores its lines at intervals,
so that each of them shows the same.
"""

import asyncio
from dataclasses import replace
from datetime import timedelta

import structlog

from atoll.domain.errors import AtollError, Conflict
from atoll.domain.ids import SandboxId
from atoll.domain.routes.decision import place
from atoll.domain.sandboxes.instruction import Provision
from atoll.domain.sandboxes.sandbox import RUNNING, Sandbox
from atoll.domain.sandboxes.stimulus import Broke, Renewed, Rerouted
from atoll.ports import LogLine, StoreUnavailable
from atoll.ports.telemetry.metrics import Metric
from atoll.services.contents.disk_returns import DiskReturns
from atoll.services.ground import Ground
from atoll.services.lifecycle.transitions import Also
from atoll.services.provisioning.bring_up import BringUp, BringUpSteps
from atoll.services.provisioning.outcomes import Outcomes
from atoll.services.provisioning.provisioning import BackendFailed, Ending, Provisioning
from atoll.services.routes.rerouting import Rerouting, Tried

LOG_INTERVAL = timedelta(seconds=1)
"""A quick startup stores its lines once, with the outcome."""

MAX_LINE = 2000
"""Characters of a line."""

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

_log = structlog.get_logger(__name__)


class LiveLog:
    """The lines of one startup. Bounded by what it reports."""

    def __init__(self, ground: Ground, sandbox: Sandbox) -> None:
        self._ground = ground
        self._sandbox = sandbox
        self._lines: list[LogLine] = []
        self._storing = asyncio.Lock()
        self._over = False

    @property
    def lines(self) -> tuple[LogLine, ...]:
        """The lines that are not stored yet."""
        return tuple(self._lines)

    def report(self, text: str) -> None:
        """Add a line."""
        self._lines.append(self._make_line(text))

    def _make_line(self, text: str) -> LogLine:
        return LogLine(self._ground.clock.now(), text[:MAX_LINE])

    async def run(self) -> None:
        """Store lines at intervals until the end. Raises `Conflict` when another process leads,
        and what the store raises; the rest is stored with the outcome then."""
        while True:
            await self._ground.clock.sleep_until(self._ground.clock.now() + LOG_INTERVAL)
            async with self._storing:
                if self._over:
                    return
                await self._store()

    async def take_rest(self, *last: str) -> tuple[LogLine, ...]:
        """End, and return the lines that are left to be stored; then those of `last`, which count
        only once they are stored."""
        self.close()
        async with self._storing:
            return (*self.lines, *map(self._make_line, last))

    def close(self) -> None:
        """Store no more lines."""
        self._over = True

    async def _store(self) -> None:
        seen = self.lines
        if not seen:
            return
        async with self._ground.store.begin() as rows:
            await self._ground.leadership.check(rows)
            await rows.logs.append(self._sandbox, seen)
        del self._lines[: len(seen)]


class Startups:
    """Startups of sandboxes; `ending` is called before the runtime of a renewed one ends. `disks`
    brings what they begin as."""

    def __init__(
        self,
        ground: Ground,
        provisioning: Provisioning,
        steps: BringUpSteps,
        *,
        rerouting: Rerouting,
        ending: Ending,
        disks: DiskReturns,
    ) -> None:
        self._ground = ground
        self._provisioning = provisioning
        self._steps = steps
        self._rerouting = rerouting
        self._ending = ending
        self._disks = disks
        self._live_logs: dict[SandboxId, LiveLog] = {}

    def live_lines(self, sandbox_id: SandboxId) -> tuple[LogLine, ...]:
        """Return the lines of a startup under way that are not stored yet."""
        log = self._live_logs.get(sandbox_id)
        return () if log is None else log.lines

    def drop_log(self, sandbox_id: SandboxId) -> None:
        """Drop the lines of a startup that is over."""
        self._live_logs.pop(sandbox_id, None)

    async def run(self, sandbox: Sandbox, work: Provision, outcomes: Outcomes) -> None:
        """Bring a sandbox up, and store what came of it. Raises `StoreUnavailable`, and what
        storing the outcome raises."""
        with self._ground.telemetry.tracer.span("sandbox.provision") as span:
            span.note("atoll.sandbox", sandbox.id)
            live = self._live_logs[sandbox.id] = LiveLog(self._ground, sandbox)
            if self._ground.leadership.shared:
                outcomes.begin_act(lambda _: live.run(), sandbox.id)
            try:
                await self._bring_up(sandbox, work, live, outcomes)
            finally:
                live.close()

    async def _bring_up(
        self, sandbox: Sandbox, work: Provision, live: LiveLog, outcomes: Outcomes
    ) -> None:
        began = self._rerouting.began()
        try:
            sandbox = await self._with_agents(sandbox)
            if work.renew or sandbox.ready_at is None:
                # Before anything is dropped for it: one that does not come leaves all as it was.
                await self._disks.bring_for(sandbox, live.report)
            if work.renew:
                await self._provisioning.renew(sandbox, live.report, ending=self._ending)
                sandbox = await outcomes.outcome(sandbox.id, Renewed(work.generation))
            up = await self._steps.run(sandbox, live.report, fresh=work.renew)
        except StoreUnavailable:
            raise  # nothing is wrong with the sandbox: it is taken up again
        except BackendFailed as err:
            await self._try_elsewhere(Tried(sandbox, began, err.reason), live, outcomes)
        except AtollError as err:
            await self._report_failure(sandbox, err.reason, live, outcomes)
        except Exception as err:  # noqa: BLE001 - the task's root
            _log.exception("provisioning_broke", sandbox=sandbox.id)
            reason = f"Provisioning broke unexpectedly ({type(err).__name__}); the log says more."
            await self._report_failure(sandbox, reason, live, outcomes)
        else:
            noted = self._rerouting.noted(Tried(sandbox, began))
            reached, lines = up.reached(work.generation), await live.take_rest()
            ready = await outcomes.outcome(sandbox.id, reached, lines, also=noted)
            self._count(sandbox, "ready")
            self._follow(sandbox, ready, up, outcomes)

    def _follow(self, before: Sandbox, ready: Sandbox, up: BringUp, outcomes: Outcomes) -> None:
        """Begin what may happen once a sandbox is ready."""
        if ready.state in RUNNING:
            outcomes.begin_act(lambda _: self._provisioning.settle(ready), ready.id)
            if up.task is not None and up.task != before.task:
                outcomes.touch(ready)

    async def _with_agents(self, sandbox: Sandbox) -> Sandbox:
        """With the agents it had at last: a stop just before this took in their last words."""
        if not sandbox.resuming:
            return sandbox
        async with self._ground.store.read() as rows:
            known = await rows.sandboxes.get(sandbox.id)
        return sandbox if known is None else replace(sandbox, agents=known.agents)

    async def _try_elsewhere(self, tried: Tried, live: LiveLog, outcomes: Outcomes) -> None:
        """Have the next candidate try, once nothing stands at the one that failed. Two walls, and
        two bills, are never there at once."""
        sandbox, reason, also = tried.sandbox, tried.reason or "", self._rerouting.noted(tried)
        left = await self._rerouting.left(sandbox)
        standing = await self._remains(sandbox) if left else ""
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
            lines = await live.take_rest(f"{reason} {place(candidate)} tries next.")
            try:
                await outcomes.outcome(sandbox.id, stimulus, lines, also=also)
            except Conflict as err:
                # Its host changed since the decision: full, drained, or another's by now.
                reason = f"{reason} {place(candidate)} was skipped: {err.message.rstrip('.')}."
            else:
                return
        await self._report_failure(sandbox, reason, live, outcomes, also=also)

    async def _remains(self, sandbox: Sandbox) -> str:
        """Tear down what a failed attempt left. Returns what may still stand there."""
        try:
            report = await self._provisioning.tear_down(sandbox, keep_state=False)
        except StoreUnavailable:
            raise
        except AtollError as err:
            return err.message
        return "; ".join(report.leftovers)

    async def _report_failure(
        self,
        sandbox: Sandbox,
        reason: str,
        live: LiveLog,
        outcomes: Outcomes,
        *,
        also: Also | None = None,
    ) -> None:
        live.report(reason)
        stimulus = Broke(sandbox.generation, reason)
        await outcomes.outcome(sandbox.id, stimulus, await live.take_rest(), also=also)
        self._count(sandbox, "failed")

    def _count(self, before: Sandbox, outcome: str) -> None:
        """Count a bring-up that ended, and time the first one of a sandbox from its request on."""
        metrics = self._ground.telemetry.metrics
        metrics.count(PROVISIONS, outcome)
        if outcome == "ready" and before.ready_at is None:
            waited = self._ground.clock.now() - before.created_at
            metrics.observe(CREATE_SECONDS, waited.total_seconds())
