"""Every sandbox of this home: who lives, who is being born or buried, whose files are kept.

Decides and keeps the books; children do the work. One sandbox does one thing at a time:
a request that meets a burial waits for its end.
"""

import os
import signal
from collections import deque
from collections.abc import Callable
from dataclasses import InitVar, dataclass, field, replace

import msgspec

from atoll.domain.errors import AtollError, Conflict, Failed, Unavailable
from atoll.wire.zygote import messages as wire
from atoll.zygote.daemon.answers import awaited, ending, kind_of, refusal, shown
from atoll.zygote.daemon.children import Loop
from atoll.zygote.disk.disk_space import check_room
from atoll.zygote.disk.host_mounts import check_host_mounts
from atoll.zygote.records import record
from atoll.zygote.records.entry import Live, Order, Phase, Reply
from atoll.zygote.start.host_resources import Born, Laid, Nursery, Stillborn
from atoll.zygote.start.pool import SPARES, Spares
from atoll.zygote.start.starts import Births
from atoll.zygote.stop.stopping import begin_funeral
from atoll.zygote.stop.teardown import Buried, end_session, send
from atoll.zygote.wall import runtime_group
from atoll.zygote.wall.views import checked_tree, checked_views

MAX_BIRTHS = 16
"""Births at a time; more wait in line, so that none misses its deadline for the others."""

MAX_WAITING = 1024
WALL_GRACE_SECONDS = 3.0
"""For a runtime whose sandbox fell, to write its journal and go."""

INIT_GONE = 3
"""How a runtime exits when the sandbox ended under it."""


@dataclass(slots=True)
class Boxes:
    """The books. `ended` is told of deaths, `spare_count` sandboxes stand ready at most."""

    births: Births
    ended: Callable[[wire.Ended], None]
    kept: dict[str, record.Record]
    spare_count: InitVar[int] = SPARES
    loop: Loop = field(init=False)
    nursery: Nursery = field(init=False)
    spares: Spares = field(init=False)
    _live: dict[str, Live] = field(default_factory=dict)
    _line: deque[tuple[Order, Reply]] = field(default_factory=deque)
    _births: int = 0
    _closing: bool = False
    _without_spares: bool = False

    def __post_init__(self, spare_count: int) -> None:
        self.loop, self.nursery = self.births.loop, self.births.nursery
        count = spare_count if self.nursery.root else 0
        self.spares = Spares(self.births, lambda: self._births > 0, count)

    def start(self, request: wire.Start, reply: Reply) -> None:
        """Answer `Started`, now or once it stands. Raises `Conflict`, `Invalid`, `Unavailable`."""
        self._start(Order(request), reply)

    def serve(self, request: wire.Serve, reply: Reply) -> None:
        """Answer `Awaited` once its init may come in, `Started` when it did long ago. Raises
        what `start` raises."""
        self._start(Order(request.sandbox, request.seconds), reply)

    def await_guest(self, request: wire.Await, reply: Reply) -> None:
        """Answer `Started` once its init came in. Raises `Failed` when nobody waits for it."""
        box = self._live.get(request.sandbox_id)
        if box is None or box.record.generation != request.generation:
            why = self.kept.get(request.sandbox_id)
            raise Failed(
                f"the init of sandbox {request.sandbox_id} is not awaited"
                + (f": {why.reason}" if why is not None and why.reason else "; start it anew")
            )
        match box.phase:
            case Phase.BIRTH:
                box.asked.append(reply)
            case Phase.ALIVE:
                reply(wire.Started(self._shown(box.record), attached=True))
            case Phase.BURIAL:
                reply(box.failure or wire.Refused("failed", f"{request.sandbox_id} is ending"))

    def _start(self, order: Order, reply: Reply) -> None:
        request = order.start
        if self._closing:
            raise Unavailable("Atoll is going down on this machine: start it with `atoll up`")
        checked_views(self.nursery.home, request.views)
        checked_tree(self.nursery.home, request.tree)
        check_host_mounts(self.nursery.home, request)
        box = self._live.get(request.sandbox_id)
        self._check_wall(box.record if box else self.kept.get(request.sandbox_id), order)
        if box is not None:
            self._start_again(box, order, reply)
        elif request.fresh and request.sandbox_id in self.kept:
            anew = replace(order, start=msgspec.structs.replace(request, fresh=False))
            forgotten = self._funeral_of_files(request.sandbox_id)
            forgotten.after.append(lambda: self._start_or_refuse(anew, reply))
        elif self._births >= MAX_BIRTHS:
            if len(self._line) >= MAX_WAITING:
                raise Unavailable(f"{MAX_WAITING} sandboxes wait to be started: try again later")
            self._line.append((order, reply))
        else:
            self._give_birth(order, reply)

    def _check_wall(self, known: record.Record | None, order: Order) -> None:
        if known is not None and known.wall != order.wall:
            raise Conflict(
                f"the files of sandbox {known.sandbox_id} were made for a wall of {known.wall}, "
                f"not of {order.wall}: make a new sandbox"
            )

    def _start_again(self, box: Live, order: Order, reply: Reply) -> None:
        request = order.start
        if box.phase is Phase.BURIAL:
            box.after.append(lambda: self._start_or_refuse(order, reply))
            return
        if box.maintenance and request.maintenance_seconds is None:
            # Whoever reads what it kept is let go: it is to run again.
            box.after.append(lambda: self._start_or_refuse(order, reply))
            box.failure = wire.Refused("conflict", f"{request.sandbox_id} was started meanwhile")
            self._bury(box)
            return
        if not box.maintenance and request.maintenance_seconds is not None:
            raise Conflict(f"sandbox {request.sandbox_id} runs: read what it has from itself")
        if box.record.generation != request.generation:
            raise Conflict(
                f"sandbox {request.sandbox_id} lives in generation {box.record.generation}, "
                f"not {request.generation}: stop it first"
            )
        if box.phase is Phase.ALIVE:
            reply(wire.Started(self._shown(box.record), attached=True))
        elif order.wait_seconds is None:
            box.asked.append(reply)
        elif box.laid is not None:
            reply(awaited(self.nursery, box, box.laid))
        else:
            box.builders.append(reply)

    def _start_or_refuse(self, order: Order, reply: Reply) -> None:
        try:
            self._start(order, reply)
        except AtollError as err:
            reply(refusal(err))

    def _give_birth(self, order: Order, reply: Reply) -> None:
        request = order.start
        if request.maintenance_seconds is None:
            # Whoever only brings home what is kept may do so: that is how room is made.
            check_room(self.nursery.home, self.nursery.settings.low_disk_mb)
        known = self.kept.get(request.sandbox_id)
        if known is None and order.wait_seconds is None and self._adopted(request, reply):
            return
        box = self.births.expect(order, known)
        (box.asked if order.wait_seconds is None else box.builders).append(reply)
        self._live[request.sandbox_id] = box
        self._births += 1
        self.births.begin(
            box,
            order,
            lambda report, fds: self._reported(box, report, fds),
            ended=lambda status: self._runtime_ended(box, status),
            spare=False,
        )

    def _adopted(self, request: wire.Start, reply: Reply) -> bool:
        """Whether a spare became this sandbox; then it is there at once."""
        box = self.spares.take(request, self._runtime_ended)
        if box is None:
            return False
        self._live[request.sandbox_id] = box
        self.loop.watch(box.inside[0], lambda: self._wall_fell(box))
        reply(wire.Started(self._shown(box.record)))
        return True

    def _reported(self, box: Live, report: Born | Laid | Stillborn, fds: list[int]) -> None:
        match report:
            case Stillborn():
                box.failure = wire.Refused(kind_of(report.kind), report.message)
            case Laid():
                self._laid(box, report)
            case Born():
                self.births.stands(box, report, fds)
                if box.phase is Phase.BIRTH:
                    self._alive(box)

    def _alive(self, box: Live) -> None:
        box.phase = Phase.ALIVE
        box.keep = True
        self.loop.watch(box.inside[0], lambda: self._wall_fell(box))
        for reply in box.asked:
            reply(wire.Started(self._shown(box.record)))
        box.asked = []
        self._birth_over(box)

    def _laid(self, box: Live, report: Laid) -> None:
        """Its init may come in: whoever builds the wall hears it, and others are born meanwhile."""
        if box.phase is not Phase.BIRTH:
            return
        box.laid = report
        for reply in box.builders:
            reply(awaited(self.nursery, box, report))
        box.builders = []
        self._birth_over(box)
        box.unhurried = True

    def _birth_over(self, box: Live) -> None:
        if box.unhurried:
            return
        self._births -= 1
        while self._line and self._births < MAX_BIRTHS:
            self._start_or_refuse(*self._line.popleft())

    def _wall_fell(self, box: Live) -> None:
        """Init is gone and with it everything inside; the runtime hears it by its own socket."""
        self.loop.forget(box.inside[0])
        if box.phase is Phase.ALIVE:
            pidfd = box.pidfd
            self.loop.later(
                WALL_GRACE_SECONDS,
                lambda: send(pidfd, signal.SIGKILL) if box.phase is Phase.ALIVE else None,
            )

    def _runtime_ended(self, box: Live, status: int) -> None:
        match box.phase:
            case Phase.BIRTH:
                if box.failure is None:
                    box.failure = wire.Refused("failed", f"the runtime {ending(status)} at birth")
                if not self.nursery.root:
                    # Without a cgroup of ours: a bwrap whose parent fell before it was told to
                    # go on waits for ever, still in the session of the runtime that failed.
                    end_session(box.pid)
                self._bury(box)
            case Phase.ALIVE:
                reason = self._why_ended(box, status)
                box.record = msgspec.structs.replace(box.record, reason=reason)
                ended = wire.Ended(
                    box.record.sandbox_id, box.record.generation, reason, box.record.wall
                )
                self._bury(box)
                if not box.maintenance:
                    # The end of a look at what is kept changes nothing for anybody.
                    self.ended(ended)
            case Phase.BURIAL:
                pass

    def _why_ended(self, box: Live, status: int) -> str:
        if runtime_group.ran_out(self.nursery.groups, box.record.group_name):
            return runtime_group.reason(self.nursery.settings)
        if os.waitstatus_to_exitcode(status) == INIT_GONE:
            return "everything inside ended: its init was killed or gave up"
        return f"the runtime {ending(status)}"

    def stop(self, sandbox_id: str, reply: Reply, *, keep: bool) -> None:
        """End a sandbox; without `keep` forget it too. Answers `Cleaned`; idempotent."""
        box = self._live.get(sandbox_id)
        if box is None and (keep or sandbox_id not in self.kept):
            reply(wire.Cleaned())
        elif box is None:
            self._funeral_of_files(sandbox_id).mourners.append(reply)
        elif box.phase is Phase.BURIAL and box.keep and not keep:
            box.after.append(lambda: self.stop(sandbox_id, reply, keep=False))
        elif box.phase is Phase.BURIAL:
            box.mourners.append(reply)
        else:
            box.keep = keep
            box.mourners.append(reply)
            if box.asked or box.builders:
                box.failure = wire.Refused("conflict", f"{sandbox_id} was stopped while starting")
            self._bury(box)

    def _funeral_of_files(self, sandbox_id: str) -> Live:
        box = Live(self.kept[sandbox_id], Phase.ALIVE, keep=False)
        self._live[sandbox_id] = box
        self._bury(box)
        return box

    def _bury(self, box: Live) -> None:
        born = box.phase is Phase.BIRTH
        begin_funeral(self.loop, self.nursery, box, lambda report: self._buried(box, report))
        if born:
            self._birth_over(box)

    def _buried(self, box: Live, report: Buried) -> None:
        sandbox_id = box.record.sandbox_id
        del self._live[sandbox_id]
        self._rest(box, kept=box.keep or bool(report.leftovers))
        failure = box.failure or wire.Refused("failed", f"{sandbox_id} ended while starting")
        for reply in (*box.asked, *box.builders):
            reply(failure)
        for reply in box.mourners:
            reply(wire.Cleaned(report.removed, report.leftovers))
        for call in box.after:
            call()
        self._stop_when_done()

    def _rest(self, box: Live, *, kept: bool) -> None:
        """Write down what is left of a sandbox that no longer lives."""
        sandbox_id = box.record.sandbox_id
        if not kept:
            self.kept.pop(sandbox_id, None)
            return
        resting = msgspec.structs.replace(box.record, live=False, processes=(), group="")
        self.kept[sandbox_id] = resting
        places = self.nursery.home.box(sandbox_id)
        if places.folder.exists():
            record.save(places.record, resting)

    def close(self) -> None:
        """End every sandbox, keep all files, then stop the loop."""
        self._closing = True
        self._line.clear()
        for box in list(self._live.values()):
            if box.phase is not Phase.BURIAL:
                self._bury(box)
        self.spares.close(self._spares_gone)

    def _spares_gone(self) -> None:
        self._without_spares = True
        self._stop_when_done()

    def _stop_when_done(self) -> None:
        if self._without_spares and not self._live:
            self.loop.stop()

    def page(self, after: str) -> wire.Listed:
        """One page of all sandboxes by id, living and kept."""
        known = {**self.kept, **{key: box.record for key, box in self._live.items()}}
        ids = sorted(each for each in known if each > after)
        boxes = tuple(self._shown(known[each]) for each in ids[: wire.LIST_PAGE])
        return wire.Listed(boxes, more=len(ids) > wire.LIST_PAGE)

    def _shown(self, known: record.Record) -> wire.Box:
        return shown(self.nursery, known, self._live.get(known.sandbox_id))
