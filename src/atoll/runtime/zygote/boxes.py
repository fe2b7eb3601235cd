"""Every sandbox of this home: who lives, who is being born or buried, whose files are kept.

Decides and keeps the books; children do the work. One sandbox does one thing at a time:
a request that meets a burial waits for its end.
"""

import os
import signal
import socket
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from typing import cast, get_args

import msgspec

from atoll.domain.errors import AtollError, Conflict, Failed, Unavailable
from atoll.runtime.zygote import record
from atoll.runtime.zygote.birth import Born, Laid, Nursery, Parentage, Stillborn, be_born
from atoll.runtime.zygote.burial import Buried, Grave, bury, end_session, send
from atoll.runtime.zygote.children import Loop, detach
from atoll.runtime.zygote.host_mounts import check_host_mounts
from atoll.runtime.zygote.views import checked_tree, checked_views
from atoll.wire import zygote as wire

MAX_BIRTHS = 16
"""Births at a time; more wait in line, so that none misses its deadline for the others."""

MAX_WAITING = 1024
WALL_GRACE_SECONDS = 3.0
"""For a runtime whose sandbox fell, to write its journal and go."""

INIT_GONE = 3
"""How a runtime exits when the sandbox ended under it."""

Reply = Callable[[wire.Answer], None]
_REPORTS = msgspec.json.Decoder(Born | Laid | Stillborn)


class Phase(Enum):
    """What a sandbox is doing."""

    BIRTH = "birth"
    ALIVE = "alive"
    BURIAL = "burial"


@dataclass(frozen=True, slots=True)
class Order:
    """A sandbox to be brought up; with `wait_seconds` somebody else builds its wall."""

    start: wire.Start
    wait_seconds: int | None = None

    @property
    def wall(self) -> wire.Wall:
        """Who builds it."""
        return "bubblewrap" if self.wait_seconds is None else "container"


@dataclass(slots=True)
class Live:
    """A sandbox that is not just files. `asked` are the starts it will answer, `mourners` the
    stops, `after` what happens once it is buried. While a wall of somebody else's is awaited,
    `builders` wait to hear that all is `laid`; then its birth is `unhurried`: it takes nobody's
    turn."""

    record: record.Record
    phase: Phase
    pid: int = 0
    pidfd: int | None = None
    inside: tuple[int, ...] = ()
    doors: tuple[socket.socket, ...] = ()
    asked: list[Reply] = field(default_factory=list)
    builders: list[Reply] = field(default_factory=list)
    laid: Laid | None = None
    unhurried: bool = False
    mourners: list[Reply] = field(default_factory=list)
    after: list[Callable[[], None]] = field(default_factory=list)
    keep: bool = True
    failure: wire.Refused | None = None


@dataclass(slots=True)
class Boxes:
    """The books. `take_uids` gives the first of two new uids; `ended` is told of deaths."""

    loop: Loop
    nursery: Nursery
    take_uids: Callable[[], int]
    ended: Callable[[wire.Ended], None]
    kept: dict[str, record.Record]
    _live: dict[str, Live] = field(default_factory=dict)
    _line: deque[tuple[Order, Reply]] = field(default_factory=deque)
    _births: int = 0
    _closing: bool = False

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
            reply(self._awaited(box.record, box.laid))
        else:
            box.builders.append(reply)

    def _start_or_refuse(self, order: Order, reply: Reply) -> None:
        try:
            self._start(order, reply)
        except AtollError as err:
            reply(refusal(err))

    def _give_birth(self, order: Order, reply: Reply) -> None:
        request = order.start
        known = self.kept.get(request.sandbox_id)
        if known is None:
            runtime_uid, sandbox_uid = self._uids()
        else:
            runtime_uid, sandbox_uid = known.runtime_uid, known.sandbox_uid
        fresh = record.Record(
            sandbox_id=request.sandbox_id,
            generation=request.generation,
            hostname=request.hostname,
            sandbox_uid=sandbox_uid,
            runtime_uid=runtime_uid,
            live=True,
            boot_id=record.boot_id(),
            init=self.nursery.programs.init_kind,
            wall=order.wall,
            tree=request.tree or "",
        )
        places = self.nursery.home.box(request.sandbox_id)
        places.folder.mkdir(mode=0o711, exist_ok=True)
        record.save(places.record, fresh)
        box = Live(fresh, Phase.BIRTH, keep=known is not None)
        (box.asked if order.wait_seconds is None else box.builders).append(reply)
        self._live[request.sandbox_id] = box
        self._births += 1
        parentage = partial(
            Parentage, request, sandbox_uid, runtime_uid, wait_seconds=order.wait_seconds
        )
        box.pid, box.pidfd = self.loop.fork(
            lambda talk: be_born(self.nursery, parentage(talk)),
            lambda packet, fds: self._reported(box, packet, fds),
            lambda status: self._runtime_ended(box, status),
        )
        box.record = msgspec.structs.replace(fresh, processes=_known(box.pid))
        record.save(places.record, box.record)

    def _uids(self) -> tuple[int, int]:
        if not self.nursery.root:
            return os.geteuid(), os.geteuid()
        first = self.take_uids()
        return first, first + 1

    def _reported(self, box: Live, packet: bytes, fds: list[int]) -> None:
        report = _REPORTS.decode(packet)
        if isinstance(report, Stillborn):
            box.failure = wire.Refused(_kind(report.kind), report.message)
            return
        if isinstance(report, Laid):
            self._laid(box, report)
            return
        box.inside = tuple(fds[: report.inside])
        box.doors = tuple(socket.socket(fileno=fd) for fd in fds[report.inside :])
        if box.phase is not Phase.BIRTH:
            return  # it was stopped meanwhile; its burial ends what came up
        box.record = msgspec.structs.replace(
            box.record,
            processes=report.processes,
            degraded=(*self.nursery.degraded(box.record.wall), *report.degraded),
        )
        record.save(self.nursery.home.box(box.record.sandbox_id).record, box.record)
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
            reply(self._awaited(box.record, report))
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
                    box.failure = wire.Refused("failed", f"the runtime {_ending(status)} at birth")
                if not self.nursery.root:
                    # Without a cgroup of ours: a bwrap whose parent fell before it was told to
                    # go on waits for ever, still in the session of the runtime that failed.
                    end_session(box.pid)
                self._bury(box)
            case Phase.ALIVE:
                reason = f"the runtime {_ending(status)}"
                if os.waitstatus_to_exitcode(status) == INIT_GONE:
                    reason = "everything inside ended: its init was killed or gave up"
                box.record = msgspec.structs.replace(box.record, reason=reason)
                ended = wire.Ended(
                    box.record.sandbox_id, box.record.generation, reason, box.record.wall
                )
                self._bury(box)
                self.ended(ended)
            case Phase.BURIAL:
                pass

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
        """Begin the end. The doors refuse at once, yet stay owned until all inside is dead."""
        born = box.phase is Phase.BIRTH
        box.phase = Phase.BURIAL
        for door in box.doors:
            refuse(door)
        for fd in box.inside[:1]:
            self.loop.forget(fd)
        grave = Grave(
            places=self.nursery.home.box(box.record.sandbox_id),
            groups=self.nursery.groups.paths(box.record.sandbox_id),
            runtime=box.pidfd,
            inside=box.inside,
            keep=box.keep,
            lender=self.nursery.storage.lender,
        )
        found: list[Buried] = []

        def dig(talk: socket.socket) -> None:
            fds = {fd for fd in (talk.fileno(), grave.runtime, *grave.inside) if fd is not None}
            fds |= grave.lender.descriptors
            detach(fds)
            talk.send(msgspec.json.encode(bury(grave)))

        _pid, pidfd = self.loop.fork(
            dig,
            lambda packet, _fds: found.append(msgspec.json.decode(packet, type=Buried)),
            lambda _status: self._buried(box, found),
        )
        os.close(pidfd)
        if born:
            self._birth_over(box)

    def _buried(self, box: Live, found: list[Buried]) -> None:
        sandbox_id = box.record.sandbox_id
        report = found[0] if found else Buried(leftovers=(f"the burial of {sandbox_id} broke off",))
        for door in box.doors:
            door.close()
        for fd in (*box.inside, *([] if box.pidfd is None else [box.pidfd])):
            os.close(fd)
        del self._live[sandbox_id]
        self._rest(box, kept=box.keep or bool(report.leftovers))
        failure = box.failure or wire.Refused("failed", f"{sandbox_id} ended while starting")
        for reply in (*box.asked, *box.builders):
            reply(failure)
        for reply in box.mourners:
            reply(wire.Cleaned(report.removed, report.leftovers))
        for call in box.after:
            call()
        if self._closing and not self._live:
            self.loop.stop()

    def _rest(self, box: Live, *, kept: bool) -> None:
        """Write down what is left of a sandbox that no longer lives."""
        sandbox_id = box.record.sandbox_id
        if not kept:
            self.kept.pop(sandbox_id, None)
            return
        resting = msgspec.structs.replace(box.record, live=False, processes=())
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
        if not self._live:
            self.loop.stop()

    def page(self, after: str) -> wire.Listed:
        """One page of all sandboxes by id, living and kept."""
        known = {**self.kept, **{key: box.record for key, box in self._live.items()}}
        ids = sorted(each for each in known if each > after)
        shown = tuple(self._shown(known[each]) for each in ids[: wire.LIST_PAGE])
        return wire.Listed(shown, more=len(ids) > wire.LIST_PAGE)

    def _shown(self, known: record.Record) -> wire.Box:
        box = self._live.get(known.sandbox_id)
        return wire.Box(
            sandbox_id=known.sandbox_id,
            generation=known.generation,
            live=box is not None and box.phase is not Phase.BURIAL,
            socket=str(self.nursery.home.box(known.sandbox_id).socket),
            host_uid=known.sandbox_uid,
            runtime_pid=box.pid if box is not None else 0,
            init=known.init,
            degraded=known.degraded,
            reason=known.reason,
            wall=known.wall,
        )

    def _awaited(self, known: record.Record, laid: Laid) -> wire.Awaited:
        places, programs = self.nursery.home.box(known.sandbox_id), self.nursery.programs
        return wire.Awaited(
            box=self._shown(known),
            rendezvous=str(places.rendezvous),
            init_file=str(programs.init_file),
            init=programs.init_inside,
            workspace=f"{laid.files}/workspace",
            state=f"{laid.files}/state",
            etc=str(places.etc),
        )


def refusal(error: AtollError) -> wire.Refused:
    """An error as it goes over the wire."""
    return wire.Refused(_kind(error.default_code), error.message)


def _kind(code: str) -> wire.Kind:
    """An error's code as the wire knows it."""
    for kind in get_args(wire.Kind):
        if kind == code:
            return cast(wire.Kind, kind)
    return "failed"


def refuse(listener: socket.socket) -> None:
    """Connections are refused from now on, while the port stays owned."""
    try:
        listener.shutdown(socket.SHUT_RD)
    except OSError:
        return  # its network is gone already


def _known(pid: int) -> tuple[record.Process, ...]:
    found = record.process(pid)
    return () if found is None else (found,)


def _ending(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return f"exited with status {code}"
