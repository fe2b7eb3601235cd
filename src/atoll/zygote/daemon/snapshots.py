"""The snapshots of a home: each is made and removed in a child process.

A sandbox does not start while its disk is kept, and one disk is kept once at a time: whoever comes
meanwhile waits.
"""

import os
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from atoll.domain.errors import AtollError, Conflict, Invalid, Unavailable
from atoll.wire.zygote import messages as wire
from atoll.wire.zygote.snapshots import (
    MAX_STILL_MS,
    AdmitSnapshot,
    FindSnapshot,
    KeepSnapshot,
    SnapshotDropped,
    SnapshotFound,
    SnapshotKept,
    SnapshotLent,
    SnapshotReturned,
)
from atoll.zygote.disk import snapshot_loans, snapshots
from atoll.zygote.disk.disk_space import check_disk_space, measure_disk_space
from atoll.zygote.host.children import Loop, detach
from atoll.zygote.host.home import SnapshotPlaces
from atoll.zygote.host_resources import HostResources
from atoll.zygote.records.entry import Reply
from atoll.zygote.records.record import SandboxRecord, same_process
from atoll.zygote.records.reports import refusal

_NO_IMAGE = (
    "its files lie in a plain folder, of which no snapshot can be taken: that needs an Atoll that "
    "runs as root, with loop devices, and a sandbox that was made by it, or one without root, and "
    "a sandbox behind bubblewrap"
)

_NO_EXPORT = (
    "the snapshot is a copy of files in plain folders, which cannot be exported: that needs an "
    "Atoll that runs as root, with loop devices, and a snapshot that was made by it"
)
_NO_IMPORT = (
    "an exported snapshot is a disk, and here files lie in plain folders: that needs an Atoll that "
    "runs as root, with loop devices"
)

_INIT = 1
"""The place of init among the processes of a sandbox's record."""


@dataclass(slots=True)
class SnapshotKeeper:
    """Keeper of the home's snapshots."""

    loop: Loop
    host: HostResources
    _under_way: dict[str, list[Callable[[], None]]] = field(default_factory=dict)

    def wait(self, name: str, then: Callable[[], None]) -> bool:
        """Have `then` called once the disk of a sandbox is kept, or a snapshot of this name;
        returns whether that is under way."""
        waiting = self._under_way.get(name)
        if waiting is None:
            return False
        waiting.append(then)
        return True

    def keep(self, known: SandboxRecord, request: KeepSnapshot, reply: Reply) -> None:
        """Keep the disk of a sandbox that neither starts nor stops, and answer `SnapshotKept`.
        Raises `Invalid` for one without an image, `LimitReached` on a full disk."""
        name, still = request.snapshot, (request.still_ms or MAX_STILL_MS) / 1000
        if self.wait(name, lambda: self._keep_or_refuse(known, request, reply)):
            return
        source = self.host.home.box(known.sandbox_id).image
        places = self.host.home.snapshot(name)
        if places.folder.exists():
            reply(SnapshotKept(snapshots.load(places).size))
            return
        check_disk_space(self.host.home, self.host.settings.low_disk_mb)
        uid = known.disk_uid or known.sandbox_uid
        keep = (
            partial(snapshots.keep, source, places, uid, still_seconds=still)
            if source.exists()
            else self._keep_folder(known, places, still)
        )

        def work() -> wire.Answer:
            stood = keep()
            return SnapshotKept(snapshots.load(places).size, round(stood.seconds * 1000))

        names = (known.sandbox_id, name)
        self._under_way |= {each: [] for each in names}
        self._fork(work, reply, lambda answered: self._end(names, places, whole=answered))

    def drop(self, name: str, reply: Reply) -> None:
        """Remove a snapshot, and answer `SnapshotDropped`. One that is being kept is whole
        first."""
        if self.wait(name, lambda: self.drop(name, reply)):
            return
        places = self.host.home.snapshot(name)
        self._fork(lambda: SnapshotDropped(snapshots.drop(places)), reply, lambda _answered: None)

    def _keep_folder(
        self, known: SandboxRecord, places: SnapshotPlaces, still: float
    ) -> Callable[[], snapshots.Stillness]:
        """Return a function that keeps the files of a sandbox in a plain folder. Call it in a
        child: programs stand still for `still` seconds at most. Raises `Invalid` where that is not
        done, `Failed`, `Unavailable`."""
        host = self.host
        source = host.home.box(known.sandbox_id).mounted
        if host.root or known.wall != "bubblewrap" or not source.exists():
            raise Invalid(_NO_IMAGE)
        enter = host.root_of(known.sandbox_uid)
        init = known.processes[_INIT] if len(known.processes) > _INIT else None
        if init is not None and not same_process(init):
            raise Unavailable(f"sandbox {known.sandbox_id} is ending: try again in a moment")
        low = measure_disk_space(host.home, host.settings.low_disk_mb).low

        def keep() -> snapshots.Stillness:
            enter()
            top = None if init is None else init.pid
            return snapshots.keep_tree(source, places, low, top, still_seconds=still)

        return keep

    def find(self, request: FindSnapshot, reply: Reply) -> None:
        """Answer `SnapshotFound`. Where it is not here, and room is asked for, raises `Conflict`
        where sandboxes have no images, `LimitReached` on a full disk."""
        home = self.host.home
        here = home.snapshot(request.snapshot).folder.exists()
        if request.room and not here:
            if not self.host.storage.images:
                raise Conflict(_NO_IMPORT)
            check_disk_space(home, self.host.settings.low_disk_mb, request.room)
        reply(SnapshotFound(here))

    def lend(self, name: str, reply: Reply) -> None:
        """Copy a snapshot's image for the control plane, and answer `SnapshotLent`. Raises
        `NotFound`, `Conflict` for files in folders, `LimitReached` on a full disk."""
        home, reader = self.host.home, self.host.control_uid
        places = home.snapshot(name)
        snapshots.load(places)
        if not places.image.exists():
            raise Conflict(_NO_EXPORT)
        check_disk_space(home, self.host.settings.low_disk_mb)
        copy = home.loans / name

        def work() -> wire.Answer:
            return SnapshotLent(str(copy), snapshot_loans.lend(places, copy, reader))

        self._do_alone(name, work, reply)

    def end_loan(self, name: str, reply: Reply) -> None:
        """Remove the copy, and answer `SnapshotReturned`."""
        copy = self.host.home.loans / name
        self._do_alone(name, lambda: SnapshotReturned(snapshot_loans.end_loan(copy)), reply)

    def admit(self, request: AdmitSnapshot, reply: Reply) -> None:
        """Keep an image of the control plane's as a snapshot, and answer `SnapshotKept`. Raises
        `Conflict` where sandboxes have no images, `LimitReached` on a full disk."""
        if not self.host.storage.images:
            raise Conflict(_NO_IMPORT)
        home, owner = self.host.home, self.host.control_uid
        check_disk_space(home, self.host.settings.low_disk_mb)
        places = home.snapshot(request.snapshot)

        def work() -> wire.Answer:
            if places.folder.exists():
                return SnapshotKept(snapshots.load(places).size)
            size = snapshot_loans.admit(Path(request.path), places, request.uid, owner)
            return SnapshotKept(size)

        self._do_alone(request.snapshot, work, reply)

    def _do_alone(self, name: str, work: Callable[[], wire.Answer], reply: Reply) -> None:
        """Answer with what `work` returns, once nothing else is done with this snapshot."""
        if self.wait(name, lambda: self._do_alone(name, work, reply)):
            return
        self._under_way[name] = []
        self._fork(work, reply, lambda _answered: self._call_waiting((name,)))

    def _keep_or_refuse(self, known: SandboxRecord, request: KeepSnapshot, reply: Reply) -> None:
        try:
            self.keep(known, request, reply)
        except AtollError as err:
            reply(refusal(err))

    def _end(self, names: tuple[str, ...], places: SnapshotPlaces, *, whole: bool) -> None:
        """Call those that waited, once nothing is left of a child that broke off."""
        if whole:
            self._call_waiting(names)
            return
        self._fork(
            lambda: SnapshotDropped(snapshots.drop(places)),
            lambda _answer: None,
            lambda _answered: self._call_waiting(names),
        )

    def _call_waiting(self, names: tuple[str, ...]) -> None:
        for call in [call for name in names for call in self._under_way.pop(name)]:
            call()

    def _fork(
        self, work: Callable[[], wire.Answer], reply: Reply, after: Callable[[bool], None]
    ) -> None:
        """Answer with what `work` returns in a child, and call `after` then, with whether it
        answered."""
        answers: list[wire.Answer] = []

        def run(channel: socket.socket) -> None:
            detach({channel.fileno(), *self.host.namespaces})
            channel.send(wire.encode_answer(0, _outcome(work)))

        def finish(_status: int) -> None:
            broke = wire.Refused("failed", "keeping the disk broke off; see the zygote's log")
            reply(answers[0] if answers else broke)
            after(bool(answers))

        child = self.loop.fork(
            run, lambda packet, _fds: answers.append(wire.decode_answer(packet).answer), finish
        )
        os.close(child.pidfd)


def _outcome(work: Callable[[], wire.Answer]) -> wire.Answer:
    try:
        return work()
    except AtollError as err:
        return refusal(err)
    except OSError as err:
        return wire.Refused("failed", f"the disk could not be kept: {err}")
