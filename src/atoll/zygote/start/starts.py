"""A birth as the zygote sees it: a record, a forked child, and what it reports.

Who waits for it, and what follows, is its caller's business (`boxes`, `spares`).
"""

import os
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import msgspec

from atoll.domain.errors import AtollError, Failed
from atoll.zygote.daemon.children import Loop
from atoll.zygote.jobs.sudo import Sudo
from atoll.zygote.records import record
from atoll.zygote.records.entry import Live, Order, Phase
from atoll.zygote.records.home import passage_mode
from atoll.zygote.start.child import be_born
from atoll.zygote.start.host_resources import Born, Laid, Nursery, Parentage, Stillborn

_REPORTS = msgspec.json.Decoder(Born | Laid | Stillborn)

Heard = Callable[[Born | Laid | Stillborn, list[int]], None]
"""Called with each report and the descriptors that came with it."""


@dataclass(frozen=True, slots=True)
class Births:
    """How children are made. `take_uids` gives the first of two uids that nobody ever had."""

    loop: Loop
    nursery: Nursery
    take_uids: Callable[[], int]

    def expect(self, order: Order, known: record.Record | None) -> Live:
        """Return a sandbox's parts that exist before its start; `known` is what was kept of it.
        Raises `Failed` when what was kept belongs to a uid that cannot be had now."""
        request = order.start
        runtime_uid, sandbox_uid = self._uids(order, known)
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
        return Live(fresh, Phase.BIRTH, keep=known is not None, start=request)

    def begin(
        self, box: Live, order: Order, heard: Heard, *, ended: Callable[[int], None], spare: bool
    ) -> None:
        """Fork the child that builds it. All reports come before `ended`."""
        nursery = self.nursery
        places = nursery.home.box(box.record.sandbox_id)
        places.folder.mkdir(exist_ok=True)
        places.folder.chmod(passage_mode())
        record.save(places.record, box.record)
        parentage = partial(
            Parentage,
            order.start,
            box.record.sandbox_uid,
            box.record.runtime_uid,
            wait_seconds=order.wait_seconds,
            spare=spare,
        )
        box.child = self.loop.fork(
            lambda talk: be_born(nursery, parentage(talk)),
            lambda packet, fds: self._heard(box, packet, fds, heard=heard),
            ended,
        )
        found = record.process(box.child.pid)
        box.record = msgspec.structs.replace(
            box.record, processes=() if found is None else (found,)
        )
        record.save(places.record, box.record)

    def _heard(self, box: Live, packet: bytes, fds: list[int], *, heard: Heard) -> None:
        if not box.born:
            report = _REPORTS.decode(packet)
            box.born = isinstance(report, Born)
            heard(report, fds)
            return
        # From here on whoever took over that process may be speaking.
        for fd in fds:
            os.close(fd)
        Sudo(self.loop, self.nursery).heard(box, packet)

    def stands(self, box: Live, report: Born, fds: list[int]) -> None:
        """Write down what came up; it is for the caller to say that it lives."""
        box.inside = tuple(fds[: report.inside])
        box.doors = tuple(socket.socket(fileno=fd) for fd in fds[report.inside :])
        if box.phase is not Phase.BIRTH:
            return  # it was stopped meanwhile; its burial ends what came up
        box.record = msgspec.structs.replace(
            box.record,
            processes=report.processes,
            degraded=(
                *self.nursery.degraded(
                    box.record.wall, shared=self.nursery.is_shared(box.record.sandbox_uid)
                ),
                *report.degraded,
            ),
        )
        record.save(self.nursery.home.box(box.record.sandbox_id).record, box.record)

    def _uids(self, order: Order, known: record.Record | None) -> tuple[int, int]:
        """The runtime's and the sandbox's."""
        if known is not None:
            self._check_kept(order, known)
            return known.runtime_uid, known.sandbox_uid
        if not self.nursery.root:
            return os.geteuid(), self._rootless_uid(order)
        first = self.take_uids()
        return first, first + 1

    def _rootless_uid(self, order: Order) -> int:
        """A subordinate uid, or the caller's where a sandbox needs that or there is none left."""
        subordinates = self.nursery.subordinates
        if subordinates is None or order.wall == "container" or _needs_caller(order):
            return os.geteuid()
        try:
            return subordinates.take()
        except AtollError as err:
            print(f"zygote: a sandbox shares the caller's uid: {err}", file=sys.stderr, flush=True)
            return os.geteuid()

    def _check_kept(self, order: Order, known: record.Record) -> None:
        if self.nursery.root or self.nursery.is_shared(known.sandbox_uid):
            return
        if self.nursery.subordinates is None:
            raise Failed(
                f"the files of sandbox {known.sandbox_id} belong to the subordinate uid "
                f"{known.sandbox_uid}, which cannot be had now: `atoll doctor` says why"
            )
        self.nursery.subordinates.inside(known.sandbox_uid)
        if _needs_caller(order):
            raise Failed(
                f"sandbox {known.sandbox_id} was made with a uid of its own, which reaches no "
                "folder of the host's and has no root to write to: recreate it"
            )


def _needs_caller(order: Order) -> bool:
    """Return whether it writes to the caller's files: folders of the host, a root's own layer."""
    return bool(order.start.mounts) or order.start.overlay
