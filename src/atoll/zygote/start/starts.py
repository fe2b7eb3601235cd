"""The start of a sandbox as the zygote performs it: a record, a forked child, and the child's
reports.

Its callers (`boxes`, `pool`) decide who waits for a start and what follows it.
"""

import os
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import msgspec

from atoll.domain.errors import AtollError, Failed, Invalid
from atoll.inside.program import INIT_KIND
from atoll.wire.zygote.messages import Link
from atoll.zygote.disk.snapshots import load
from atoll.zygote.host.children import Loop
from atoll.zygote.host.home import traversal_mode
from atoll.zygote.host_resources import HostResources
from atoll.zygote.jobs.sudo import SudoCommands
from atoll.zygote.records import record
from atoll.zygote.records.entry import Phase, SandboxEntry, StartOrder
from atoll.zygote.records.reports import RendezvousReady, SandboxReady, StartFailed
from atoll.zygote.start.child import StartRequest, run_child

_REPORTS = msgspec.json.Decoder(SandboxReady | RendezvousReady | StartFailed)

ReportHandler = Callable[[SandboxReady | RendezvousReady | StartFailed, list[int]], None]
"""Called with each report and the descriptors that came with it."""


@dataclass(frozen=True, slots=True)
class Starts:
    """Starts of sandboxes. `take_uids` returns the first of two uids that were never used."""

    loop: Loop
    host: HostResources
    take_uids: Callable[[], int]

    def prepare(self, order: StartOrder, known: record.SandboxRecord | None) -> SandboxEntry:
        """Return the entry of a sandbox before its start; `known` is the record kept from earlier.
        Raises `Failed` when kept files belong to a uid that is not available now."""
        request = order.start
        runtime_uid, sandbox_uid = self._uids(order, known)
        fresh = record.SandboxRecord(
            sandbox_id=request.sandbox_id,
            generation=request.generation,
            hostname=request.hostname,
            sandbox_uid=sandbox_uid,
            runtime_uid=runtime_uid,
            live=True,
            boot_id=record.boot_id(),
            init=INIT_KIND,
            wall=order.wall,
            tree=request.tree or "",
            disk_uid=self._disk_uid(order, known),
            pooled=request.pooled,
        )
        if order.link is not None:
            fresh = _with_link(fresh, order.link, known)
        return SandboxEntry(fresh, Phase.STARTING, keep=known is not None, start=request)

    def begin(
        self,
        entry: SandboxEntry,
        order: StartOrder,
        handle_report: ReportHandler,
        *,
        ended: Callable[[int], None],
        for_pool: bool,
    ) -> None:
        """Fork the child that builds the sandbox. All reports are delivered before `ended` is
        called."""
        host = self.host
        places = host.home.box(entry.record.sandbox_id)
        places.folder.mkdir(exist_ok=True)
        places.folder.chmod(traversal_mode())
        record.save(places.record, entry.record)
        start_request = partial(
            StartRequest,
            order.start,
            entry.record.sandbox_uid,
            entry.record.runtime_uid,
            wait_seconds=order.wait_seconds,
            link=_with_key(order.link, entry.record),
            for_pool=for_pool,
            disk_uid=entry.record.disk_uid,
        )
        host.growth.join(self.loop, self.take_uids if host.root else None)

        def finish(status: int) -> None:
            host.growth.leave()
            ended(status)

        entry.child = self.loop.fork(
            lambda channel: run_child(host, start_request(channel)),
            lambda packet, fds: self._handle_packet(
                entry, packet, fds, handle_report=handle_report
            ),
            finish,
        )
        found = record.process(entry.child.pid)
        entry.record = msgspec.structs.replace(
            entry.record, processes=() if found is None else (found,)
        )
        record.save(places.record, entry.record)

    def _handle_packet(
        self, entry: SandboxEntry, packet: bytes, fds: list[int], *, handle_report: ReportHandler
    ) -> None:
        if not entry.is_ready:
            report = _REPORTS.decode(packet)
            entry.is_ready = isinstance(report, SandboxReady)
            handle_report(report, fds)
            return
        # From here on an attacker who took over that process may be the sender.
        for fd in fds:
            os.close(fd)
        SudoCommands(self.loop, self.host).handle_packet(entry, packet)

    def record_ready(self, entry: SandboxEntry, report: SandboxReady, fds: list[int]) -> None:
        """Record what the child built. The caller changes the phase."""
        entry.inside_pidfds = tuple(fds[: report.inside_count])
        entry.doors = tuple(socket.socket(fileno=fd) for fd in fds[report.inside_count :])
        if entry.phase is not Phase.STARTING:
            return  # it was stopped meanwhile; its teardown ends these processes
        entry.record = msgspec.structs.replace(
            entry.record,
            processes=report.processes,
            degraded=(
                *self.host.degraded(
                    entry.record.wall, shared=self.host.is_shared(entry.record.sandbox_uid)
                ),
                *report.degraded,
            ),
        )
        record.save(self.host.home.box(entry.record.sandbox_id).record, entry.record)

    def _uids(self, order: StartOrder, known: record.SandboxRecord | None) -> tuple[int, int]:
        """Return the runtime's uid and the sandbox's."""
        if known is not None:
            self._check_kept(order, known)
            return known.runtime_uid, known.sandbox_uid
        if not self.host.root:
            return os.geteuid(), self._rootless_uid(order)
        first = self.take_uids()
        return first, first + 1

    def _disk_uid(self, order: StartOrder, known: record.SandboxRecord | None) -> int:
        """Return the uid that its files have on the disk, 0 for its own. Raises `NotFound` for a
        snapshot that is not here, `Invalid` for one that no sandbox can begin as here."""
        if known is not None:
            return known.disk_uid
        seed = order.start.seed
        if seed is None:
            return 0
        places = self.host.home.snapshot(seed)
        uid = load(places).uid
        if places.image.exists() != self.host.storage.images:
            raise Invalid(
                f"the snapshot {seed} was kept by an Atoll with other rights: one that runs as "
                "root keeps disks, any other the files in folders"
            )
        return uid

    def _rootless_uid(self, order: StartOrder) -> int:
        """Return a subordinate uid, or the caller's uid where the sandbox needs that or none is
        left."""
        subordinates = self.host.subordinates
        if subordinates is None or order.wall != "bubblewrap" or _needs_caller_uid(order):
            return os.geteuid()
        try:
            return subordinates.take()
        except AtollError as err:
            print(f"zygote: a sandbox shares the caller's uid: {err}", file=sys.stderr, flush=True)
            return os.geteuid()

    def _check_kept(self, order: StartOrder, known: record.SandboxRecord) -> None:
        if self.host.root or self.host.is_shared(known.sandbox_uid):
            return
        if self.host.subordinates is None:
            raise Failed(
                f"the files of sandbox {known.sandbox_id} belong to the subordinate uid "
                f"{known.sandbox_uid}, which cannot be had now: `atoll doctor` says why"
            )
        self.host.subordinates.inside(known.sandbox_uid)
        if _needs_caller_uid(order):
            raise Failed(
                f"sandbox {known.sandbox_id} was made with a uid of its own, which reaches no "
                "folder of the host's and has no root to write to: recreate it"
            )


def _with_key(link: Link | None, known: record.SandboxRecord) -> Link | None:
    """Return the link with the key of a sandbox's record."""
    return None if link is None else msgspec.structs.replace(link, key=known.link_key)


def _with_link(
    fresh: record.SandboxRecord, link: Link, known: record.SandboxRecord | None
) -> record.SandboxRecord:
    """Return the record of a sandbox of another machine. Raises `Failed` when the key of its last
    start is asked for and none is kept."""
    key = link.key or (known.link_key if known is not None else "")
    if not key:
        raise Failed("no link key is kept for this sandbox: start its far end anew")
    return msgspec.structs.replace(fresh, backend=link.backend, link_key=key, data=link.data)


def _needs_caller_uid(order: StartOrder) -> bool:
    """Return whether the sandbox writes to files of the caller: host folders, or a writable root
    layer."""
    return bool(order.start.mounts) or order.start.overlay
