"""The sandboxes of a home: running, starting, stopping, or kept as files only.

This module decides and keeps the records; child processes do the work. A sandbox does one thing at
a time: a request that meets a stop waits for its end.
"""

import os
import signal
from collections import deque
from collections.abc import Callable
from dataclasses import InitVar, dataclass, field, replace
from functools import partial

import msgspec

from atoll.domain.errors import AtollError, Conflict, Failed, NotFound, Unavailable
from atoll.domain.wall.runtime_end import END_REASONS
from atoll.wire.zygote import messages as wire
from atoll.wire.zygote.snapshots import KeepSnapshot
from atoll.zygote.daemon.answers import awaited_answer, box_answer
from atoll.zygote.daemon.snapshots import SnapshotKeeper
from atoll.zygote.disk.disk_space import check_disk_space
from atoll.zygote.disk.host_mounts import check_host_mounts
from atoll.zygote.host.children import Loop, describe_end
from atoll.zygote.host_resources import HostResources
from atoll.zygote.records import record
from atoll.zygote.records.entry import Phase, Reply, SandboxEntry, Shape, StartOrder
from atoll.zygote.records.reports import (
    RendezvousReady,
    SandboxReady,
    StartFailed,
    kind_of,
    refusal,
)
from atoll.zygote.start.assignment import assign
from atoll.zygote.start.pool import POOL_SIZE, Pool
from atoll.zygote.start.shape import fits_shape, pooled_order
from atoll.zygote.start.starts import Starts
from atoll.zygote.stop.stopping import begin_stop
from atoll.zygote.stop.teardown import TeardownResult, end_session, send_signal
from atoll.zygote.wall import runtime_group
from atoll.zygote.wall.views import check_tree, check_views

MAX_STARTS = 16
"""Concurrent starts; more wait in a queue, so that none misses its deadline."""

MAX_WAITING = 1024
ENDED_HERE = (
    "Atoll was ended on this machine while the sandbox ran, as when it is shut down; start it again"
)
"""The reason of sandboxes that nobody stopped before the zygote was told to end."""

WALL_GRACE_SECONDS = 3.0
"""Time for a runtime whose sandbox ended to write its journal and exit."""


@dataclass(slots=True)
class Boxes:
    """Sandboxes of a home. `ended` is called when one ends by itself; the pool holds at most
    `pool_size`."""

    starts: Starts
    ended: Callable[[wire.Ended], None]
    kept: dict[str, record.SandboxRecord]
    pool_size: InitVar[int] = POOL_SIZE
    loop: Loop = field(init=False)
    host: HostResources = field(init=False)
    pool: Pool = field(init=False)
    snapshots: SnapshotKeeper = field(init=False)
    _entries: dict[str, SandboxEntry] = field(default_factory=dict)
    _unheard: dict[str, tuple[int, wire.Refused]] = field(default_factory=dict)
    """Starts that failed before their `Await` came, by sandbox: the generation and the reason."""
    _queue: deque[tuple[StartOrder, Reply]] = field(default_factory=deque)
    _starting: int = 0
    _closing: bool = False
    _pool_closed: bool = False

    def __post_init__(self, pool_size: int) -> None:
        self.loop, self.host = self.starts.loop, self.starts.host
        self.snapshots = SnapshotKeeper(self.loop, self.host)
        count = pool_size if self.host.root else 0
        self.pool = Pool(self.starts, lambda: self._starting > 0, count)

    def start(self, request: wire.Start, reply: Reply) -> None:
        """Answer `Started`, at once or when the sandbox runs. Raises `Conflict`, `Invalid`,
        `Unavailable`."""
        self._start(StartOrder(request), reply)

    def serve(self, request: wire.Serve, reply: Reply) -> None:
        """Answer `Awaited` once init may connect, or `Started` when the sandbox runs already.
        Raises the errors of `start`."""
        self._start(StartOrder(request.sandbox, request.seconds), reply)

    def link(self, request: wire.Link, reply: Reply) -> None:
        """Answer `Started` once the runtime runs, whose link is expected. Raises the errors of
        `start`."""
        self._start(StartOrder(request.sandbox, link=request), reply)

    def await_init(self, request: wire.Await, reply: Reply) -> None:
        """Answer `Started` once init connected, or why the start failed, also when it did before
        this was asked. Raises `Failed` when no init is expected."""
        entry = self._entries.get(request.sandbox_id)
        if entry is None or entry.record.generation != request.generation:
            generation, failure = self._unheard.get(request.sandbox_id, (0, None))
            if failure is not None and generation == request.generation:
                del self._unheard[request.sandbox_id]
                reply(failure)
                return
            why = self.kept.get(request.sandbox_id)
            raise Failed(
                f"the init of sandbox {request.sandbox_id} is not awaited"
                + (f": {why.reason}" if why is not None and why.reason else "; start it anew")
            )
        match entry.phase:
            case Phase.STARTING:
                entry.start_waiters.append(reply)
            case Phase.RUNNING:
                reply(wire.Started(self._answer(entry.record), attached=True))
            case Phase.STOPPING:
                reply(entry.failure or wire.Refused("failed", f"{request.sandbox_id} is ending"))

    def _start(self, order: StartOrder, reply: Reply) -> None:
        request = order.start
        if self._closing:
            raise Unavailable("Atoll is going down on this machine: start it with `atoll up`")
        check_views(self.host.home, request.views)
        check_tree(self.host.home, request.tree)
        check_host_mounts(self.host.home, request)
        if self.snapshots.wait(request.sandbox_id, lambda: self._start_or_refuse(order, reply)):
            return
        entry = self._entries.get(request.sandbox_id)
        self._check_wall(entry.record if entry else self.kept.get(request.sandbox_id), order)
        if entry is not None and entry.shape is not None:
            self._join_pooled(entry, entry.shape, order, reply)
        elif entry is not None:
            self._join_start(entry, order, reply)
        elif request.fresh and request.sandbox_id in self.kept:
            anew = replace(order, start=msgspec.structs.replace(request, fresh=False))
            removal = self._remove_files(request.sandbox_id)
            removal.after_stop.append(lambda: self._start_or_refuse(anew, reply))
        elif self._starting >= MAX_STARTS:
            if len(self._queue) >= MAX_WAITING:
                raise Unavailable(f"{MAX_WAITING} sandboxes wait to be started: try again later")
            self._queue.append((order, reply))
        else:
            self._begin_start(order, reply)

    def _check_wall(self, known: record.SandboxRecord | None, order: StartOrder) -> None:
        if known is not None and known.wall != order.wall:
            raise Conflict(
                f"the files of sandbox {known.sandbox_id} were made for a wall of {known.wall}, "
                f"not of {order.wall}: make a new sandbox"
            )

    def _join_start(self, entry: SandboxEntry, order: StartOrder, reply: Reply) -> None:
        request = order.start
        if entry.phase is Phase.STOPPING:
            entry.after_stop.append(lambda: self._start_or_refuse(order, reply))
            return
        if entry.maintenance and request.maintenance_seconds is None:
            # A start takes precedence over a maintenance start, which only reads files.
            entry.after_stop.append(lambda: self._start_or_refuse(order, reply))
            entry.failure = wire.Refused("conflict", f"{request.sandbox_id} was started meanwhile")
            self._begin_stop(entry)
            return
        if not entry.maintenance and request.maintenance_seconds is not None:
            raise Conflict(f"sandbox {request.sandbox_id} runs: read what it has from itself")
        if entry.record.generation != request.generation:
            raise Conflict(
                f"sandbox {request.sandbox_id} lives in generation {entry.record.generation}, "
                f"not {request.generation}: stop it first"
            )
        if entry.phase is Phase.RUNNING:
            reply(wire.Started(self._answer(entry.record), attached=True))
        elif order.wait_seconds is None:
            entry.start_waiters.append(reply)
        elif entry.rendezvous is not None:
            reply(awaited_answer(self.host, entry, entry.rendezvous))
        else:
            entry.rendezvous_waiters.append(reply)

    def _join_pooled(
        self, entry: SandboxEntry, shape: Shape, order: StartOrder, reply: Reply
    ) -> None:
        """Assign a pooled sandbox that fits to a start; one of another shape is built anew, and one
        that is asked for again is left as it is."""
        request = order.start
        fits = fits_shape(self.host, request, shape)
        if entry.phase is Phase.STOPPING:
            entry.after_stop.append(lambda: self._start_or_refuse(order, reply))
        elif fits and request.pooled:
            self._join_start(entry, order, reply)
        elif entry.phase is Phase.STARTING:
            entry.start_waiters.append(lambda _answer: self._start_or_refuse(order, reply))
        elif fits and self._assign(entry, request):
            reply(wire.Started(self._answer(entry.record)))
        else:
            entry.keep = False
            entry.after_stop.append(lambda: self._start_or_refuse(order, reply))
            self._begin_stop(entry)

    def _assign(self, entry: SandboxEntry, request: wire.Start) -> bool:
        """Assign a pooled sandbox; returns whether that succeeded. Otherwise an ordinary start will
        find the error and report it."""
        try:
            entry.record = assign(self.host, entry, request)
        except (AtollError, OSError):
            return False
        entry.start, entry.shape, entry.keep = request, None, True
        return True

    def _start_or_refuse(self, order: StartOrder, reply: Reply) -> None:
        try:
            self._start(order, reply)
        except AtollError as err:
            reply(refusal(err))

    def _begin_start(self, order: StartOrder, reply: Reply) -> None:
        request = order.start
        if request.maintenance_seconds is None:
            # A maintenance start is allowed on a full disk: pulling files lets a person make space.
            check_disk_space(self.host.home, self.host.settings.low_disk_mb)
        known = self.kept.get(request.sandbox_id)
        shape = None
        if request.pooled:
            order, shape = pooled_order(self.host, order, known)
        elif known is None and order.wall == "bubblewrap" and self._start_from_pool(request, reply):
            return
        entry = self.starts.prepare(order, known)
        entry.shape = shape
        self._unheard.pop(request.sandbox_id, None)
        (entry.start_waiters if order.wait_seconds is None else entry.rendezvous_waiters).append(
            reply
        )
        self._entries[request.sandbox_id] = entry
        self._starting += 1
        self.starts.begin(
            entry,
            order,
            lambda report, fds: self._handle_report(entry, report, fds),
            ended=lambda status: self._handle_runtime_end(entry, status),
            for_pool=shape is not None,
        )

    def _start_from_pool(self, request: wire.Start, reply: Reply) -> bool:
        """Start from the pool, if a pooled sandbox fits; the answer is sent at once. Returns
        whether one did."""
        entry = self.pool.take(request, self._handle_runtime_end)
        if entry is None:
            return False
        self._entries[request.sandbox_id] = entry
        self.loop.watch(entry.inside_pidfds[0], lambda: self._handle_wall_end(entry))
        reply(wire.Started(self._answer(entry.record)))
        return True

    def _handle_report(
        self,
        entry: SandboxEntry,
        report: SandboxReady | RendezvousReady | StartFailed,
        fds: list[int],
    ) -> None:
        match report:
            case StartFailed():
                entry.failure = wire.Refused(kind_of(report.kind), report.message)
            case RendezvousReady():
                self._mark_rendezvous_ready(entry, report)
            case SandboxReady():
                self.starts.record_ready(entry, report, fds)
                if entry.phase is Phase.STARTING:
                    self._mark_running(entry)

    def _mark_running(self, entry: SandboxEntry) -> None:
        entry.phase = Phase.RUNNING
        entry.keep = entry.shape is None
        if entry.inside_pidfds:
            self.loop.watch(entry.inside_pidfds[0], lambda: self._handle_wall_end(entry))
        for reply in entry.start_waiters:
            reply(wire.Started(self._answer(entry.record)))
        entry.start_waiters = []
        self._release_slot(entry)

    def _mark_rendezvous_ready(self, entry: SandboxEntry, report: RendezvousReady) -> None:
        """Answer the engines that wait to build the wall, and free the slot for other starts
        meanwhile."""
        if entry.phase is not Phase.STARTING:
            return
        entry.rendezvous = report
        for reply in entry.rendezvous_waiters:
            reply(awaited_answer(self.host, entry, report))
        entry.rendezvous_waiters = []
        self._release_slot(entry)
        entry.slot_released = True

    def _release_slot(self, entry: SandboxEntry) -> None:
        if entry.slot_released:
            return
        self._starting -= 1
        while self._queue and self._starting < MAX_STARTS:
            self._start_or_refuse(*self._queue.popleft())

    def _handle_wall_end(self, entry: SandboxEntry) -> None:
        """Give the runtime time to end after init and everything inside did. It notices by its own
        socket."""
        self.loop.unwatch(entry.inside_pidfds[0])
        if entry.phase is Phase.RUNNING:
            pidfd = entry.pidfd
            self.loop.call_later(
                WALL_GRACE_SECONDS,
                lambda: (
                    send_signal(pidfd, signal.SIGKILL) if entry.phase is Phase.RUNNING else None
                ),
            )

    def _handle_runtime_end(self, entry: SandboxEntry, status: int) -> None:
        match entry.phase:
            case Phase.STARTING:
                if entry.failure is None:
                    entry.failure = wire.Refused(
                        "failed", f"the runtime {describe_end(status)} while starting"
                    )
                if not self.host.root:
                    # Without a cgroup of ours: a bwrap whose parent died before it was asked to
                    # continue waits for ever, still in the session of the runtime that failed.
                    end_session(entry.pid)
                self._begin_stop(entry)
            case Phase.RUNNING:
                reason = self._end_reason(entry, status)
                entry.record = msgspec.structs.replace(entry.record, reason=reason)
                # What waited in a pool was no generation of the sandbox that may have its id now.
                generation = entry.record.generation if entry.shape is None else 0
                ended = wire.Ended(entry.record.sandbox_id, generation, reason, entry.record.wall)
                self._begin_stop(entry)
                if not entry.maintenance:
                    # The end of a maintenance start changes no state.
                    self.ended(ended)
            case Phase.STOPPING:
                pass

    def _end_reason(self, entry: SandboxEntry, status: int) -> str:
        if runtime_group.ran_out(self.host.groups, entry.record.group_name):
            return runtime_group.reason(self.host.settings)
        known = END_REASONS.get(os.waitstatus_to_exitcode(status))
        return known or f"the runtime {describe_end(status)}"

    def stop(self, sandbox_id: str, reply: Reply, *, keep: bool) -> None:
        """Stop a sandbox; without `keep` remove it, too. Answers `Cleaned`. Idempotent."""
        self._unheard.pop(sandbox_id, None)
        entry = self._entries.get(sandbox_id)
        if entry is None and (keep or sandbox_id not in self.kept):
            reply(wire.Cleaned())
        elif entry is None:
            self._remove_files(sandbox_id).stop_waiters.append(reply)
        elif entry.phase is Phase.STOPPING and entry.keep and not keep:
            entry.after_stop.append(lambda: self.stop(sandbox_id, reply, keep=False))
        elif entry.phase is Phase.STOPPING:
            entry.stop_waiters.append(reply)
        else:
            entry.keep = keep and entry.shape is None
            entry.stop_waiters.append(reply)
            if entry.start_waiters or entry.rendezvous_waiters:
                entry.failure = wire.Refused("conflict", f"{sandbox_id} was stopped while starting")
            self._begin_stop(entry)

    def keep_snapshot(self, request: KeepSnapshot, reply: Reply) -> None:
        """Answer `SnapshotKept` once the sandbox's disk is kept as it is now; a start or a stop
        under way ends first. Raises `NotFound`, `Unavailable`, `Invalid`."""
        sandbox_id = request.sandbox_id
        entry = self._entries.get(sandbox_id)
        known = self.kept.get(sandbox_id) if entry is None else entry.record
        if known is None:
            raise NotFound(f"nothing is kept of sandbox {sandbox_id} on this machine")
        runs = entry is not None and entry.phase is Phase.RUNNING
        if request.still_ms is not None and not runs:
            raise Unavailable(f"sandbox {sandbox_id} does not run any more")
        again = partial(self._keep_or_refuse, request, reply)
        if self.snapshots.wait(sandbox_id, again):
            return
        if entry is not None and entry.phase is Phase.STOPPING:
            entry.after_stop.append(again)
        elif entry is not None and entry.phase is Phase.STARTING:
            # It may be a maintenance start, of which who keeps a snapshot knows nothing.
            entry.start_waiters.append(lambda _answer: again())
        else:
            self.snapshots.keep(known, request, reply)

    def _keep_or_refuse(self, request: KeepSnapshot, reply: Reply) -> None:
        try:
            self.keep_snapshot(request, reply)
        except AtollError as err:
            reply(refusal(err))

    def _remove_files(self, sandbox_id: str) -> SandboxEntry:
        entry = SandboxEntry(self.kept[sandbox_id], Phase.RUNNING, keep=False)
        self._entries[sandbox_id] = entry
        self._begin_stop(entry)
        return entry

    def _begin_stop(self, entry: SandboxEntry) -> None:
        was_starting = entry.phase is Phase.STARTING
        begin_stop(self.loop, self.host, entry, lambda report: self._finish_stop(entry, report))
        if was_starting:
            self._release_slot(entry)

    def _finish_stop(self, entry: SandboxEntry, report: TeardownResult) -> None:
        sandbox_id = entry.record.sandbox_id
        del self._entries[sandbox_id]
        self._save_stopped(entry, kept=entry.keep or bool(report.leftovers))
        failure = entry.failure or wire.Refused("failed", f"{sandbox_id} ended while starting")
        for reply in (*entry.start_waiters, *entry.rendezvous_waiters):
            reply(failure)
        self._keep_unheard(entry)
        for reply in entry.stop_waiters:
            reply(wire.Cleaned(report.removed, report.leftovers))
        for call in entry.after_stop:
            call()
        self._stop_when_done()

    def _keep_unheard(self, entry: SandboxEntry) -> None:
        """Keep the reason of a failed start whose engine builds the wall and has not asked yet: a
        wall may come up and be refused before that."""
        asked = entry.start_waiters or entry.stop_waiters
        if entry.rendezvous is None or entry.failure is None or asked:
            return
        known = entry.record
        self._unheard[known.sandbox_id] = (known.generation, entry.failure)
        if len(self._unheard) > MAX_WAITING:
            del self._unheard[next(iter(self._unheard))]

    def _save_stopped(self, entry: SandboxEntry, *, kept: bool) -> None:
        """Save the record of a sandbox that stopped, or drop it without `kept`."""
        sandbox_id = entry.record.sandbox_id
        if not kept:
            self.kept.pop(sandbox_id, None)
            return
        stopped = msgspec.structs.replace(entry.record, live=False, processes=(), group="")
        self.kept[sandbox_id] = stopped
        places = self.host.home.box(sandbox_id)
        if places.folder.exists():
            record.save(places.record, stopped)

    def close(self) -> None:
        """End every sandbox, keep all files, then stop the loop."""
        self._closing = True
        self._queue.clear()
        for entry in list(self._entries.values()):
            if entry.phase is Phase.RUNNING and not entry.maintenance:
                entry.record = msgspec.structs.replace(entry.record, reason=ENDED_HERE)
            if entry.phase is not Phase.STOPPING:
                self._begin_stop(entry)
        self.pool.close(self._on_pool_closed)

    def _on_pool_closed(self) -> None:
        self._pool_closed = True
        self._stop_when_done()

    def _stop_when_done(self) -> None:
        if self._pool_closed and not self._entries:
            self.loop.stop()

    def page(self, after: str) -> wire.Listed:
        """Return one page of all sandboxes by id, running and kept."""
        known = {**self.kept, **{key: entry.record for key, entry in self._entries.items()}}
        ids = sorted(each for each in known if each > after)
        boxes = tuple(self._answer(known[each]) for each in ids[: wire.LIST_PAGE])
        return wire.Listed(boxes, more=len(ids) > wire.LIST_PAGE)

    def _answer(self, known: record.SandboxRecord) -> wire.Box:
        return box_answer(self.host, known, self._entries.get(known.sandbox_id))
