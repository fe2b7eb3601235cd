"""The snapshots of a home: each is made and removed in a child process.

A sandbox does not start while its disk is kept, and one disk is kept once at a time: whoever comes
meanwhile waits.
"""

import os
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from atoll.domain.errors import AtollError, Invalid
from atoll.wire.zygote import messages as wire
from atoll.wire.zygote.snapshots import (
    AdmitSnapshot,
    SnapshotDropped,
    SnapshotKept,
    SnapshotLent,
    SnapshotReturned,
)
from atoll.zygote.disk import snapshot_loans, snapshots
from atoll.zygote.disk.disk_space import check_disk_space
from atoll.zygote.host.children import Loop, detach
from atoll.zygote.host_resources import HostResources
from atoll.zygote.records.entry import Reply
from atoll.zygote.records.record import SandboxRecord
from atoll.zygote.records.reports import refusal

_NO_IMAGE = (
    "its files lie in a plain folder, of which no snapshot can be taken: that needs an Atoll that "
    "runs as root, with loop devices, and a sandbox that was made by it"
)


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

    def keep(self, known: SandboxRecord, name: str, reply: Reply) -> None:
        """Keep the disk of a sandbox that neither starts nor stops, and answer `SnapshotKept`.
        Raises `Invalid` for one without an image, `LimitReached` on a full disk."""
        if self.wait(name, lambda: self._keep_or_refuse(known, name, reply)):
            return
        source = self.host.home.box(known.sandbox_id).image
        places = self.host.home.snapshot(name)
        if places.folder.exists():
            reply(SnapshotKept(snapshots.load(places).size))
            return
        if not source.exists():
            raise Invalid(_NO_IMAGE)
        check_disk_space(self.host.home, self.host.settings.low_disk_mb)
        uid = known.disk_uid or known.sandbox_uid

        def work() -> wire.Answer:
            still = snapshots.keep(source, places, uid)
            return SnapshotKept(snapshots.load(places).size, round(still.seconds * 1000))

        names = (known.sandbox_id, name)
        self._under_way |= {each: [] for each in names}
        self._fork(work, reply, lambda: self._call_waiting(names))

    def drop(self, name: str, reply: Reply) -> None:
        """Remove a snapshot, and answer `SnapshotDropped`. One that is being kept is whole
        first."""
        if self.wait(name, lambda: self.drop(name, reply)):
            return
        places = self.host.home.snapshot(name)
        self._fork(lambda: SnapshotDropped(snapshots.drop(places)), reply, lambda: None)

    def lend(self, name: str, reply: Reply) -> None:
        """Copy a snapshot for the control plane, and answer `SnapshotLent`. Raises `NotFound`,
        `LimitReached` on a full disk."""
        home, reader = self.host.home, self.host.control_uid
        snapshots.load(home.snapshot(name))
        check_disk_space(home, self.host.settings.low_disk_mb)
        copy = home.loans / name

        def work() -> wire.Answer:
            return SnapshotLent(str(copy), snapshot_loans.lend(home.snapshot(name), copy, reader))

        self._do_alone(name, work, reply)

    def end_loan(self, name: str, reply: Reply) -> None:
        """Remove the copy, and answer `SnapshotReturned`."""
        copy = self.host.home.loans / name
        self._do_alone(name, lambda: SnapshotReturned(snapshot_loans.end_loan(copy)), reply)

    def admit(self, request: AdmitSnapshot, reply: Reply) -> None:
        """Keep an image of the control plane's as a snapshot, and answer `SnapshotKept`. Raises
        `LimitReached` on a full disk."""
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
        self._fork(work, reply, lambda: self._call_waiting((name,)))

    def _keep_or_refuse(self, known: SandboxRecord, name: str, reply: Reply) -> None:
        try:
            self.keep(known, name, reply)
        except AtollError as err:
            reply(refusal(err))

    def _call_waiting(self, names: tuple[str, ...]) -> None:
        for call in [call for name in names for call in self._under_way.pop(name)]:
            call()

    def _fork(
        self, work: Callable[[], wire.Answer], reply: Reply, after: Callable[[], None]
    ) -> None:
        """Answer with what `work` returns in a child, and call `after` then."""
        answers: list[wire.Answer] = []

        def run(channel: socket.socket) -> None:
            detach({channel.fileno()})
            channel.send(wire.encode_answer(0, _outcome(work)))

        def finish(_status: int) -> None:
            broke = wire.Refused("failed", "keeping the disk broke off; see the zygote's log")
            reply(answers[0] if answers else broke)
            after()

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
