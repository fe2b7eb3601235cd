"""The child that builds a sandbox (or waits for who does) and becomes its runtime.

Forked from the zygote with its privilege: mounts, groups, the wall, the PTY limit; then it
gives every privilege up and serves for the rest of its life. It tells the zygote once, by
one packet, what it made or why not.
"""

import contextlib
import os
import socket
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from atoll.domain.errors import AtollError, Failed
from atoll.ports.runtime_boot import Agent, RuntimeBoot, Stand
from atoll.wire.zygote.messages import Start
from atoll.zygote.daemon import kernel
from atoll.zygote.daemon.children import detach
from atoll.zygote.daemon.title import entitle
from atoll.zygote.disk.engine_folders import check_folders, lend_folders
from atoll.zygote.disk.engine_mounts import check_taken
from atoll.zygote.disk.host_mounts import attach_host_mounts, check_contents, host_mounts
from atoll.zygote.disk.host_root import etc_tree, hosts_text
from atoll.zygote.disk.image import DEFAULT_BYTES
from atoll.zygote.disk.roots import Root, lay_root, planned_root
from atoll.zygote.disk.safe_open import reach
from atoll.zygote.disk.storage import private_mounts
from atoll.zygote.records.home import BoxPlaces
from atoll.zygote.records.record import process
from atoll.zygote.records.subordinate_uids import Passage
from atoll.zygote.start.assignment import await_adoption
from atoll.zygote.start.endpoint import lay_doorstep
from atoll.zygote.start.host_resources import Born, Laid, Nursery, Parentage, Stillborn
from atoll.zygote.start.rendezvous import open_rendezvous, receive_guest, write_etc
from atoll.zygote.wall import devpts, runtime_group
from atoll.zygote.wall.bwrap_argv import Wall, wall_argv
from atoll.zygote.wall.cgroups import UNBOUNDED, caps
from atoll.zygote.wall.container_sockets import bound_sockets
from atoll.zygote.wall.shared_uid import OWN_FILES, bound_inotify, most_files
from atoll.zygote.wall.wall import Site, break_ground


@dataclass(frozen=True, slots=True)
class _Standing:
    """A wall that stands, whoever built it: the doors, its processes with init the first, and
    descriptors of those."""

    doors: tuple[socket.socket, ...]
    processes: tuple[int, ...]
    pidfds: tuple[int, ...]
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Building:
    """A wall that rises: our end of init's socket, and what waits until it stands."""

    control: socket.socket
    stand: Callable[[], _Standing]


def be_born(nursery: Nursery, parentage: Parentage) -> None:
    """Runs in the forked child and never returns."""
    code = 1
    try:
        foreign = parentage.wait_seconds is not None
        lent = nursery.storage.lender.descriptors if foreign else set()
        detach({parentage.report.fileno(), *lent, *nursery.namespaces})
        entitle("spare" if parentage.spare else "birth")
        nursery.become(_build(nursery, parentage))
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except AtollError as err:
        _confess(parentage.report, Stillborn(err.default_code, err.message))
    except OSError as err:
        _confess(parentage.report, Stillborn("failed", f"building the sandbox failed: {err}"))
    except Exception as err:  # noqa: BLE001  the root of this process: say why, then end
        traceback.print_exc()
        _confess(parentage.report, Stillborn("failed", f"the runtime broke: {err!r}"))
    finally:
        os._exit(code)


def _confess(report: socket.socket, why: Stillborn) -> None:
    with contextlib.suppress(OSError):
        report.send(msgspec.json.encode(why))


def _build(nursery: Nursery, parentage: Parentage) -> Stand:
    """Everything up to the rise of the wall, which goes on while the runtime gets ready."""
    places = nursery.home.box(parentage.request.sandbox_id)
    check_contents(host_mounts(parentage.request))
    # What may fail comes first: a wall that rises for nobody would have to be found again.
    keyless = parentage.request.maintenance_seconds is not None
    doorstep = None if parentage.spare else lay_doorstep(nursery, places, keyless=keyless)
    building = _building(nursery, parentage, places)
    # With privilege still, while the wall rises: on cgroup v2 it may take a grace period.
    gauge = runtime_group.enter(nursery.groups, parentage.request.sandbox_id, nursery.settings)
    nursery.confinement.prepare()
    if nursery.root:
        kernel.lay_down(parentage.runtime_uid)

    def stand() -> RuntimeBoot:
        doors = _stand(nursery, parentage, building)
        request, ends = (
            (parentage.request, doorstep) if doorstep else await_adoption(parentage.report)
        )
        entitle("runtime", request.hostname)
        return RuntimeBoot(
            sandbox_id=request.sandbox_id,
            generation=request.generation,
            listener=ends.listener,
            control=building.control,
            zygote=parentage.report,
            doors=doors,
            journal_dir=nursery.home.box(request.sandbox_id).journal,
            shell=request.shell,
            env=request.env,
            cwd=request.cwd,
            init=nursery.programs.init_inside,
            keys_fd=ends.keys,
            broker=request.broker,
            agents=_agents(request),
            settle=nursery.mould.settle,
            idle_end_seconds=request.maintenance_seconds,
            own_usage=gauge,
        )

    return stand


def _agents(request: Start) -> tuple[Agent, ...]:
    return tuple(msgspec.convert(each, Agent, from_attributes=True) for each in request.agents)


def _building(nursery: Nursery, parentage: Parentage, places: BoxPlaces) -> _Building:
    if parentage.wait_seconds is None:
        return _own_wall(nursery, parentage, places)
    return _foreign_wall(nursery, parentage, places, seconds=parentage.wait_seconds)


def _own_wall(nursery: Nursery, parentage: Parentage, places: BoxPlaces) -> _Building:
    request, uid = parentage.request, parentage.sandbox_uid if nursery.root else None
    root, degraded = planned_root(nursery.home, request, privileged=nursery.root)
    mounts = host_mounts(request)
    if nursery.storage.images or (nursery.root and (root is not None or mounts)):
        private_mounts()
        nursery.storage.lender.close_eyes()
    passage = _passage(nursery, parentage, places, root)
    files = None if nursery.root or passage else most_files(request.limits.files)
    site = Site(
        nursery.programs.debug_seccomp if request.debug else nursery.programs.seccomp,
        files=caps(request.limits).files if files is None else files + OWN_FILES,
        groups=lambda: nursery.groups.make(
            request.sandbox_id, UNBOUNDED if parentage.spare else caps(request.limits)
        ),
        argv=lambda: _wall(nursery, request, places, root, files=files),
        uid=uid,
        passage=passage,
    )
    rising = break_ground(site)
    _open_storage(nursery, parentage, places, passage)
    if root is not None:
        degraded += lay_root(nursery.home, root, places, uid=uid)
    if uid is not None:
        attach_host_mounts(mounts, places, uid=uid)
    places.hosts.write_text(hosts_text(request.hostname))
    places.hosts.chmod(0o644)
    _own_journal(nursery, parentage, places)
    rising.build()

    def stand() -> _Standing:
        raised = rising.stand()
        return _Standing(
            raised.doors,
            (raised.init_pid, raised.bwrap_pid),
            (raised.init_pidfd, raised.bwrap_pidfd),
            degraded,
        )

    return _Building(rising.control, stand)


def _passage(
    nursery: Nursery, parentage: Parentage, places: BoxPlaces, root: Root | None
) -> Passage | None:
    """The way to a subordinate uid, for a sandbox that has one."""
    if nursery.subordinates is None or nursery.is_shared(parentage.sandbox_uid):
        return None
    own = (nursery.home.programs, nursery.home.roots, places.mounted, places.hosts)
    views = tuple(Path(view.source) for view in parentage.request.views)
    layers = () if root is None else root.layers
    return Passage(
        nursery.subordinates, parentage.sandbox_uid, lambda: dict.fromkeys((*own, *views, *layers))
    )


def _open_storage(
    nursery: Nursery, parentage: Parentage, places: BoxPlaces, passage: Passage | None
) -> None:
    size = parentage.request.limits.workspace_bytes or DEFAULT_BYTES
    if passage is None:
        nursery.storage.open(places, size=size, uid=parentage.sandbox_uid)
        return
    number = passage.subordinates.inside(passage.uid)
    passage.subordinates.act(lambda: nursery.storage.open(places, size=size, uid=number))


def _foreign_wall(
    nursery: Nursery, parentage: Parentage, places: BoxPlaces, *, seconds: int
) -> _Building:
    """Make everything ready, say so, and wait for the init to come in."""
    uid = parentage.sandbox_uid
    size = parentage.request.limits.workspace_bytes or DEFAULT_BYTES
    lender = nursery.storage.lender
    folders = lend_folders(host_mounts(parentage.request), places, lender)
    loan = nursery.storage.lend(places, size=size, uid=uid)
    write_etc(places.etc, hostname=parentage.request.hostname, uid=uid)
    _own_journal(nursery, parentage, places)
    listener = open_rendezvous(places.rendezvous, uid)
    laid = Laid(str(loan.place), tuple(str(folder.place) for folder in folders))
    parentage.report.send(msgspec.json.encode(laid))
    guest = receive_guest(listener, uid, seconds=seconds)
    check_taken(guest.pid, loan, uid)
    check_folders(guest.pid, folders)
    lender.take_back(places)
    for fd in lender.descriptors:
        os.close(fd)
    degraded = loan.degraded
    if nursery.root:
        memory = caps(parentage.request.limits).memory_bytes
        degraded += bound_sockets(guest.pid, guest.pidfd, memory)
    standing = _Standing(guest.doors, (guest.pid,), (guest.pidfd,), degraded)
    return _Building(guest.control, lambda: standing)


def _wall(
    nursery: Nursery, request: Start, places: BoxPlaces, root: Root | None, *, files: int | None
) -> list[str]:
    """bwrap's argv for this sandbox, for the process that will be bwrap: it opens the views."""
    top = nursery.home.root
    views = tuple((reach(top, view.source), view.target) for view in request.views)
    for fd, _target in views:
        os.set_inheritable(fd, True)
    wall = Wall(
        hostname=request.hostname,
        places=places,
        etc=etc_tree(nursery.home.roots),
        views=views,
        writable=request.writable,
        nproc=None if nursery.groups.has("pids") else caps(request.limits).pids,
        files=files,
        netlink=caps(request.limits).netlink,
        bare=request.bare,
        root=root,
        mounts=host_mounts(request),
        privileged=nursery.root,
    )
    return wall_argv(nursery.programs, wall)


def _stand(
    nursery: Nursery, parentage: Parentage, building: _Building
) -> tuple[socket.socket, ...]:
    """Wait for the wall, limit its terminals, tell the zygote, give every privilege up; the
    doors. Raises `Failed`, `OSError`."""
    if nursery.root:
        kernel.take_up()
    standing = building.stand()
    ptys = parentage.request.limits.ptys or devpts.DEFAULT_PTYS
    degraded = standing.degraded + _limit_terminals(standing.processes[0], ptys)
    if not nursery.root and parentage.wait_seconds is None:
        degraded += bound_inotify(standing.processes[0])
    pids = (os.getpid(), *standing.processes)
    known = tuple(found for pid in pids if (found := process(pid)) is not None)
    fds = [*standing.pidfds, *(door.fileno() for door in standing.doors)]
    born = Born(known, degraded, len(standing.pidfds))
    _give_up_privilege(nursery, parentage)
    socket.send_fds(parentage.report, [msgspec.json.encode(born)], fds)
    for fd in standing.pidfds:
        os.close(fd)
    return standing.doors


def _own_journal(nursery: Nursery, parentage: Parentage, places: BoxPlaces) -> None:
    places.journal.mkdir(mode=0o700, exist_ok=True)
    if nursery.root:
        os.chown(places.journal, parentage.runtime_uid, parentage.runtime_uid)


def _limit_terminals(init_pid: int, ptys: int) -> tuple[str, ...]:
    try:
        devpts.limit_ptys(init_pid, ptys)
    except OSError as err:
        return (f"ptys: {err}",)
    return ()


def _give_up_privilege(nursery: Nursery, parentage: Parentage) -> None:
    for fd in nursery.namespaces:
        os.close(fd)
    if nursery.root:
        kernel.drop_to(parentage.runtime_uid)
    if nursery.root and 0 in (*os.getresuid(), *os.getresgid()):
        raise Failed("a runtime would have kept a way back to root: it does not start")
    with kernel.own_files_in_proc():
        nursery.mould.open_eyes()
    kernel.forbid_cores()
    nursery.confinement.enter(nursery.home.box(parentage.request.sandbox_id).journal)
