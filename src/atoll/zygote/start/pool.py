"""The pool of sandboxes built before a request needs them.

The slow parts of a start do not depend on the request: two forks, a disk, a wall. So after each
start the zygote builds another sandbox of the same shape, and the next request of that shape is
assigned to it (`assignment`). A pooled sandbox is fresh in everything: uids, disk, groups,
processes. It holds nothing of any other sandbox, has no key, no socket and no privilege, and runs
nothing but init. A request that fits none is built as usual.
"""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from secrets import token_hex

import msgspec

from atoll.domain.errors import AtollError
from atoll.wire.zygote import messages as wire
from atoll.zygote.disk.disk_space import measure_disk_space
from atoll.zygote.host.home import POOL_PREFIX
from atoll.zygote.records.entry import Phase, SandboxEntry, Shape, StartOrder
from atoll.zygote.records.reports import RendezvousReady, SandboxReady, StartFailed
from atoll.zygote.start.assignment import assign
from atoll.zygote.start.shape import fits_shape, may_wait, shape_of, template_of
from atoll.zygote.start.starts import Starts
from atoll.zygote.stop.stopping import begin_stop
from atoll.zygote.stop.teardown import TeardownResult, end_session

NAME_BYTES = 8
POOL_SIZE = 2
REFILL_SECONDS = 0.02
"""Delay after a start, so that a refill does not compete with the new sandbox."""

RETIRE_SECONDS = 300.0
"""Time without a start after which the pool is emptied: an idle machine does not need it."""


@dataclass(slots=True)
class PooledSandbox:
    """Sandbox of the pool. Once assigned, its child belongs to `entry`, and `ended` receives the
    child's exit status."""

    shape: Shape
    entry: SandboxEntry
    ended: Callable[[SandboxEntry, int], None] | None = None


@dataclass(slots=True)
class Pool:
    """Pool of at most `count` sandboxes, shaped like the latest requests. `busy` returns whether to
    postpone building."""

    starts: Starts
    busy: Callable[[], bool]
    count: int = POOL_SIZE
    _wanted: deque[wire.Start] = field(default_factory=deque)
    _sandboxes: list[PooledSandbox] = field(default_factory=list)
    _stopping: int = 0
    _last_start: float = 0.0
    _refill_scheduled: bool = False
    _retirement_scheduled: bool = False
    _closed: Callable[[], None] | None = None

    def take(
        self, request: wire.Start, ended: Callable[[SandboxEntry, int], None]
    ) -> SandboxEntry | None:
        """Return a running sandbox, now assigned to `request`; None when none fits. `ended` is
        called when its runtime ends."""
        if self.count == 0 or not may_wait(request):
            return None
        self._note_demand(request)
        found = next(
            (pooled for pooled in self._sandboxes if self._can_serve(pooled, request)), None
        )
        if found is None:
            return None
        self._sandboxes.remove(found)
        entry = found.entry
        try:
            entry.record = assign(self.starts.host, entry, request)
        except (AtollError, OSError):
            # An ordinary start will find the error and report it.
            self._stop(found)
            return None
        found.ended = ended
        entry.start = request
        self.starts.loop.unwatch(entry.inside_pidfds[0])
        entry.keep = True
        return entry

    def _note_demand(self, request: wire.Start) -> None:
        self._last_start = time.monotonic()
        self._wanted.append(template_of(self.starts.host, request))
        if len(self._wanted) > self.count:
            self._wanted.popleft()
        self._schedule_refill()

    def _schedule_refill(self) -> None:
        if not self._refill_scheduled:
            self._refill_scheduled = True
            self.starts.loop.call_later(REFILL_SECONDS, self._refill)

    def _can_serve(self, pooled: PooledSandbox, request: wire.Start) -> bool:
        """Report whether a pooled sandbox can serve a request."""
        running = pooled.entry.phase is Phase.RUNNING
        return running and fits_shape(self.starts.host, request, pooled.shape)

    def _refill(self) -> None:
        """Build one missing sandbox; the next follows when it runs. Stop unwanted ones first."""
        self._refill_scheduled = False
        if self._closed is not None or not self._wanted:
            return
        if self.busy():
            self._schedule_refill()
            return
        if any(pooled.entry.phase is Phase.STARTING for pooled in self._sandboxes):
            return
        missing, unwanted = list(self._wanted), []
        for pooled in self._sandboxes:
            if pooled.shape.request in missing:
                missing.remove(pooled.shape.request)
            else:
                unwanted.append(pooled)
        for pooled in unwanted:
            self._sandboxes.remove(pooled)
            self._stop(pooled)
        if missing:
            self._build(missing[-1])

    def _build(self, template: wire.Start) -> None:
        try:
            shape = shape_of(self.starts.host, template)
            if measure_disk_space(
                self.starts.host.home, self.starts.host.settings.low_disk_mb
            ).is_low:
                return
        except OSError:
            return
        named = msgspec.structs.replace(template, sandbox_id=POOL_PREFIX + token_hex(NAME_BYTES))
        order = StartOrder(named)
        entry = self.starts.prepare(order, None)
        pooled = PooledSandbox(shape, entry)
        self._sandboxes.append(pooled)
        self.starts.begin(
            entry,
            order,
            lambda report, fds: self._handle_report(pooled, report, fds),
            ended=lambda status: self._handle_runtime_end(pooled, status),
            for_pool=True,
        )
        self._schedule_retirement()

    def _handle_report(
        self,
        pooled: PooledSandbox,
        report: SandboxReady | RendezvousReady | StartFailed,
        fds: list[int],
    ) -> None:
        match report:
            case SandboxReady():
                entry = pooled.entry
                self.starts.record_ready(entry, report, fds)
                if entry.phase is Phase.STARTING:
                    entry.phase = Phase.RUNNING
                    self.starts.loop.watch(
                        entry.inside_pidfds[0], lambda: self._handle_wall_end(pooled)
                    )
                    self._refill()
            case RendezvousReady() | StartFailed():
                pass  # an ordinary start will report the error

    def _handle_wall_end(self, pooled: PooledSandbox) -> None:
        if pooled in self._sandboxes:
            self._sandboxes.remove(pooled)
            self._stop(pooled)

    def _handle_runtime_end(self, pooled: PooledSandbox, status: int) -> None:
        if pooled.ended is not None:
            pooled.ended(pooled.entry, status)
        elif pooled in self._sandboxes:
            self._sandboxes.remove(pooled)
            if not self.starts.host.root:
                end_session(pooled.entry.pid)
            # A sandbox that cannot be built would fail the next time, too.
            self._wanted.clear()
            self._stop(pooled)

    def _stop(self, pooled: PooledSandbox) -> None:
        pooled.entry.keep = False
        self._stopping += 1
        begin_stop(self.starts.loop, self.starts.host, pooled.entry, self._finish_stop)

    def _finish_stop(self, _report: TeardownResult) -> None:
        self._stopping -= 1
        self._report_closed()

    def _schedule_retirement(self) -> None:
        if not self._retirement_scheduled:
            self._retirement_scheduled = True
            self.starts.loop.call_later(RETIRE_SECONDS, self._retire)

    def _retire(self) -> None:
        self._retirement_scheduled = False
        if time.monotonic() - self._last_start < RETIRE_SECONDS:
            self._schedule_retirement()
        else:
            self._wanted.clear()
            self._stop_all()

    def _stop_all(self) -> None:
        for pooled in self._sandboxes:
            self._stop(pooled)
        self._sandboxes.clear()

    def close(self, closed: Callable[[], None]) -> None:
        """End all pooled sandboxes and build no more; call `closed` once none is left."""
        self._closed = closed
        self._stop_all()
        self._report_closed()

    def _report_closed(self) -> None:
        if self._closed is not None and self._stopping == 0:
            self._closed()
