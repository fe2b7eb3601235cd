"""The child that builds a sandbox (or waits for who does) and becomes its runtime.

Forked from the zygote with its privilege: mounts, groups, the wall, the PTY limit; then it
gives every privilege up and serves for the rest of its life. It tells the zygote once, by
one packet, what it made or why not.
"""

import contextlib
import os
import resource
import socket
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from atoll.domain.errors import AtollError, Failed
from atoll.domain.interior import DEFAULT_MEMORY_BYTES, DEFAULT_PIDS
from atoll.runtime.boot import Agent, RuntimeBoot
from atoll.runtime.zygote import devpts, kernel
from atoll.runtime.zygote.bwrap_argv import Programs, Wall, wall_argv
from atoll.runtime.zygote.cgroups import Caps, Groups
from atoll.runtime.zygote.children import detach
from atoll.runtime.zygote.home import BoxPlaces, Home
from atoll.runtime.zygote.host_mounts import attach_host_mounts, host_mounts, opened
from atoll.runtime.zygote.host_root import etc_tree, hosts_text
from atoll.runtime.zygote.image import DEFAULT_BYTES
from atoll.runtime.zygote.keys import sealed_copy
from atoll.runtime.zygote.lending import check_taken
from atoll.runtime.zygote.meeting import open_rendezvous, receive_guest, write_etc
from atoll.runtime.zygote.reach import reach
from atoll.runtime.zygote.record import Process, process
from atoll.runtime.zygote.roots import Root, lay_root, planned_root
from atoll.runtime.zygote.storage import Storage, private_mounts
from atoll.runtime.zygote.wall import Site, break_ground
from atoll.wire.zygote import Start
from atoll.wire.zygote import Wall as WallKind

SOCKET_BACKLOG = 128

Serve = Callable[[RuntimeBoot], None]


class Born(msgspec.Struct, frozen=True, tag=True):
    """The sandbox stands. Beside it travel descriptors of init (and bwrap), `inside` of them,
    then the doors."""

    processes: tuple[Process, ...]
    degraded: tuple[str, ...] = ()
    inside: int = 2


class Laid(msgspec.Struct, frozen=True, tag=True):
    """All is ready for an init whose wall somebody else builds: its files are at `files`."""

    files: str


class Stillborn(msgspec.Struct, frozen=True, tag=True):
    """It could not be built; `kind` is an error's code."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class Nursery:
    """What every birth on this host shares. `control_uid` connects to runtimes."""

    home: Home
    programs: Programs
    groups: Groups
    storage: Storage
    control_uid: int
    serve: Serve
    root: bool = field(default_factory=lambda: os.geteuid() == 0)
    """Whether sandboxes get uids of their own: a fact of the zygote, settled while it is whole. A
    child that has laid its privilege down must still know that it has one to give up."""

    def degraded(self, wall: WallKind = "bubblewrap") -> tuple[str, ...]:
        """What no sandbox here gets. A container's groups and mounts are its engine's."""
        uids = () if self.root else ("uid: rootless, all sandboxes share the caller's uid",)
        if wall == "container":
            return (*self.storage.degraded(), *uids)
        return (*self.groups.degraded(), *self.storage.degraded(), *uids)


@dataclass(frozen=True, slots=True)
class Parentage:
    """Whose child: the request, and the two uids that are this sandbox's for ever. With
    `wait_seconds` the wall is somebody else's work and its init awaited that long."""

    request: Start
    sandbox_uid: int
    runtime_uid: int
    report: socket.socket
    wait_seconds: int | None = None


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
        detach({parentage.report.fileno(), *lent})
        nursery.serve(_build(nursery, parentage))
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except AtollError as err:
        _confess(parentage.report, Stillborn(err.code, err.message))
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


def _build(nursery: Nursery, parentage: Parentage) -> RuntimeBoot:
    """Everything up to the rise of the wall, which goes on while the runtime gets ready."""
    request = parentage.request
    places = nursery.home.box(request.sandbox_id)
    # What may fail comes first: a wall that rises for nobody would have to be found again.
    listener = _listen(places, nursery.control_uid)
    keys = sealed_copy(nursery.home.keys, nursery.control_uid)
    if parentage.wait_seconds is None:
        building = _own_wall(nursery, parentage, places)
    else:
        building = _foreign_wall(nursery, parentage, places, seconds=parentage.wait_seconds)
    boot = RuntimeBoot(
        sandbox_id=request.sandbox_id,
        generation=request.generation,
        listener=listener,
        control=building.control,
        stand=lambda: _stand(nursery, parentage, building),
        journal_dir=places.journal,
        shell=request.shell,
        env=request.env,
        cwd=request.cwd,
        init=nursery.programs.init_inside,
        keys_fd=keys,
        broker=request.broker,
        agents=tuple(msgspec.convert(each, Agent, from_attributes=True) for each in request.agents),
    )
    if nursery.root:
        kernel.lay_down(parentage.runtime_uid)
    return boot


def _own_wall(nursery: Nursery, parentage: Parentage, places: BoxPlaces) -> _Building:
    request, uid = parentage.request, parentage.sandbox_uid if nursery.root else None
    root, degraded = planned_root(nursery.home, request, privileged=nursery.root)
    mounts = host_mounts(request)
    if nursery.storage.images or (nursery.root and (root is not None or mounts)):
        private_mounts()
        nursery.storage.lender.close_eyes()
    site = Site(
        nursery.programs.seccomp,
        groups=lambda: nursery.groups.make(request.sandbox_id, _caps(request)),
        argv=lambda: _wall(nursery, request, places, root),
        uid=uid,
    )
    rising = break_ground(site)
    size = request.limits.workspace_bytes or DEFAULT_BYTES
    nursery.storage.open(places, size=size, uid=parentage.sandbox_uid)
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


def _foreign_wall(
    nursery: Nursery, parentage: Parentage, places: BoxPlaces, *, seconds: int
) -> _Building:
    """Make everything ready, say so, and wait for the init to come in."""
    uid = parentage.sandbox_uid
    for mount in host_mounts(parentage.request):
        # The engine mounts by name: no link may lie on the way now.
        os.close(opened(mount))
    size = parentage.request.limits.workspace_bytes or DEFAULT_BYTES
    lender = nursery.storage.lender
    loan = nursery.storage.lend(places, size=size, uid=uid)
    write_etc(places.etc, hostname=parentage.request.hostname, uid=uid)
    _own_journal(nursery, parentage, places)
    listener = open_rendezvous(places.rendezvous, uid)
    parentage.report.send(msgspec.json.encode(Laid(str(loan.place))))
    guest = receive_guest(listener, uid, seconds=seconds)
    check_taken(guest.pid, loan)
    lender.take_back(places)
    for fd in lender.descriptors:
        os.close(fd)
    standing = _Standing(guest.doors, (guest.pid,), (guest.pidfd,), loan.degraded)
    return _Building(guest.control, lambda: standing)


def _wall(nursery: Nursery, request: Start, places: BoxPlaces, root: Root | None) -> list[str]:
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
        nproc=None if nursery.groups.has("pids") else _caps(request).pids,
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
    pids = (os.getpid(), *standing.processes)
    known = tuple(found for pid in pids if (found := process(pid)) is not None)
    fds = [*standing.pidfds, *(door.fileno() for door in standing.doors)]
    born = Born(known, degraded, len(standing.pidfds))
    _give_up_privilege(nursery, parentage.runtime_uid)
    socket.send_fds(parentage.report, [msgspec.json.encode(born)], fds)
    parentage.report.close()
    for fd in standing.pidfds:
        os.close(fd)
    return standing.doors


def _own_journal(nursery: Nursery, parentage: Parentage, places: BoxPlaces) -> None:
    places.journal.mkdir(mode=0o700, exist_ok=True)
    if nursery.root:
        os.chown(places.journal, parentage.runtime_uid, parentage.runtime_uid)


def _caps(request: Start) -> Caps:
    limits = request.limits
    return Caps(
        memory_bytes=limits.memory_bytes or DEFAULT_MEMORY_BYTES,
        pids=limits.pids or DEFAULT_PIDS,
        cpu_millis=limits.cpu_millis,
    )


def _listen(places: BoxPlaces, control_uid: int) -> socket.socket:
    """The runtime's socket: bound by us, reachable only for the control plane's uid."""
    places.run.mkdir(mode=0o711, parents=True, exist_ok=True)
    path: Path = places.socket
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        old = os.umask(0o177)
        try:
            listener.bind(str(path))
        finally:
            os.umask(old)
        if os.geteuid() == 0:
            os.chown(path, control_uid, control_uid)
    except OSError as err:
        raise Failed(f"the runtime's socket {path} cannot be made: {err}") from err
    listener.listen(SOCKET_BACKLOG)
    listener.setblocking(False)
    return listener


def _limit_terminals(init_pid: int, ptys: int) -> tuple[str, ...]:
    try:
        devpts.limit_ptys(init_pid, ptys)
    except OSError as err:
        return (f"ptys: {err}",)
    return ()


def _give_up_privilege(nursery: Nursery, uid: int) -> None:
    kernel.name_process("atoll-runtime")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if nursery.root:
        kernel.drop_to(uid)
    if nursery.root and 0 in (*os.getresuid(), *os.getresgid()):
        raise Failed("a runtime would have kept a way back to root: it does not start")
    kernel.set_no_new_privileges()
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
