"""The child process that builds a sandbox and becomes its runtime.

The zygote forks it with full privilege: it makes mounts, control groups, the wall and the PTY
limit, or waits for a container engine to build the wall. Then it gives up every privilege and
serves for the rest of its life. It reports to the zygote once, in one packet, what it made or why
it failed.
"""

import contextlib
import os
import socket
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from atoll.domain.errors import AtollError, Failed
from atoll.domain.wall.proxy_settings import HOME_FILES
from atoll.inside.program import INSIDE_INIT
from atoll.ports.runtime_boot import Agent, LinkBoot, RuntimeBoot, Stand
from atoll.wire.zygote.messages import Link, Start
from atoll.zygote.disk.disk_space import measure_disk_space
from atoll.zygote.disk.engine_folders import check_container_folders, mount_engine_folders
from atoll.zygote.disk.engine_mounts import check_container_files
from atoll.zygote.disk.host_mounts import attach_host_mounts, check_contents, host_mounts
from atoll.zygote.disk.host_root import etc_tree
from atoll.zygote.disk.image import DEFAULT_BYTES
from atoll.zygote.disk.roots import Root, mount_root, plan_root
from atoll.zygote.disk.safe_open import open_below
from atoll.zygote.disk.storage import DiskOrder, enter_private_mounts
from atoll.zygote.host import kernel
from atoll.zygote.host.children import detach
from atoll.zygote.host.growth import favour_counting
from atoll.zygote.host.home import BoxPlaces
from atoll.zygote.host.title import set_title
from atoll.zygote.host_resources import HostResources
from atoll.zygote.records.record import process
from atoll.zygote.records.reports import RendezvousReady, SandboxReady, StartFailed
from atoll.zygote.start.assignment import await_assignment
from atoll.zygote.start.endpoint import open_endpoint, open_link
from atoll.zygote.start.identity import write_generation, write_names
from atoll.zygote.start.rendezvous import accept_init, open_rendezvous, write_etc
from atoll.zygote.wall import devpts, network_settings, runtime_group
from atoll.zygote.wall.bwrap_argv import WallOptions, wall_argv
from atoll.zygote.wall.cgroups import UNBOUNDED, caps
from atoll.zygote.wall.container_sockets import bound_sockets
from atoll.zygote.wall.shared_uid import OWN_FILES, bound_inotify, most_files
from atoll.zygote.wall.subordinate_uids import UidSwitch
from atoll.zygote.wall.wall import WallPlan, start_wall


@dataclass(frozen=True, slots=True)
class _BuiltWall:
    """A wall in place, of either kind: the listeners of its doors, its processes (init first) and
    their pidfds."""

    doors: tuple[socket.socket, ...]
    processes: tuple[int, ...]
    pidfds: tuple[int, ...]
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _PendingWall:
    """A wall under construction: our end of init's socket, or what the link to init needs, and a
    function that waits until it is in place."""

    control: socket.socket | LinkBoot
    wait: Callable[[], _BuiltWall]


@dataclass(frozen=True, slots=True)
class StartRequest:
    """Request to one child: the sandbox to start, and the two uids that belong to it for ever; its
    files have `disk_uid` on the disk, where that is not 0. With `wait_seconds` a container engine
    builds the wall, and the child waits that long for its init. With `link` there is no wall
    here."""

    start: Start
    sandbox_uid: int
    runtime_uid: int
    report: socket.socket
    wait_seconds: int | None = None
    link: Link | None = None
    for_pool: bool = False
    disk_uid: int = 0


def run_child(host: HostResources, request: StartRequest) -> None:
    """Build the sandbox and serve as its runtime, in the forked child. Never returns."""
    code = 1
    try:
        foreign = request.wait_seconds is not None
        machine = host.storage.engine_mounts.descriptors if foreign else set()
        detach({request.report.fileno(), *machine, *host.namespaces, host.growth.readable})
        set_title("pooled" if request.for_pool else "starting")
        host.serve_runtime(_build(host, request))
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except AtollError as err:
        _report_failure(request.report, StartFailed(err.default_code, err.message))
    except OSError as err:
        _report_failure(
            request.report, StartFailed("failed", f"building the sandbox failed: {err}")
        )
    except Exception as err:  # noqa: BLE001  the root of this process: say why, then end
        traceback.print_exc()
        _report_failure(request.report, StartFailed("failed", f"the runtime broke: {err!r}"))
    finally:
        os._exit(code)


def _report_failure(report: socket.socket, why: StartFailed) -> None:
    with contextlib.suppress(OSError):
        report.send(msgspec.json.encode(why))


def _build(host: HostResources, request: StartRequest) -> Stand:
    """Prepare everything up to the wall, which rises while the runtime starts. Returns the function
    that waits for the wall."""
    places = host.home.box(request.start.sandbox_id)
    check_contents(host_mounts(request.start))
    # Steps that may fail come first: after them a half-built wall would have to be cleaned up.
    keyless = request.start.maintenance_seconds is not None
    endpoint = None if request.for_pool else open_endpoint(host, places, keyless=keyless)
    pending = _start_wall(host, request, places)
    # Still with privilege, while the wall rises: on cgroup v2 it may take a grace period.
    gauge = runtime_group.enter(host.groups, request.start.sandbox_id, host.settings)
    host.confinement.prepare()
    if host.root:
        kernel.suspend_root(request.runtime_uid)

    def stand() -> RuntimeBoot:
        doors = _finish_wall(host, request, pending)
        start, own = (request.start, endpoint) if endpoint else await_assignment(request.report)
        set_title("runtime", start.hostname)
        return RuntimeBoot(
            sandbox_id=start.sandbox_id,
            generation=start.generation,
            listener=own.listener,
            control=pending.control,
            zygote=request.report,
            doors=doors,
            journal_dir=host.home.box(start.sandbox_id).journal,
            shell=start.shell,
            env=start.env,
            cwd=start.cwd,
            init=request.link.init if request.link else (INSIDE_INIT,),
            keys_fd=own.keys,
            broker=start.broker,
            agents=_agents(start),
            settle=host.shared_memory.settle,
            idle_end_seconds=start.maintenance_seconds,
            own_usage=gauge,
        )

    return stand


def _agents(start: Start) -> tuple[Agent, ...]:
    return tuple(msgspec.convert(each, Agent, from_attributes=True) for each in start.agents)


def _start_wall(host: HostResources, request: StartRequest, places: BoxPlaces) -> _PendingWall:
    if request.link is not None:
        return _expect_link(host, request, places, request.link)
    if request.wait_seconds is None:
        return _start_own_wall(host, request, places)
    return _await_container_wall(host, request, places, seconds=request.wait_seconds)


def _start_own_wall(host: HostResources, request: StartRequest, places: BoxPlaces) -> _PendingWall:
    start, uid = request.start, request.sandbox_uid if host.root else None
    root, degraded = plan_root(host.home, start, privileged=host.root)
    mounts = host_mounts(start)
    if host.storage.images or (host.root and (root is not None or mounts)):
        enter_private_mounts()
        host.storage.engine_mounts.drop_inherited()
    uid_switch = _uid_switch(host, request, places, root)
    files = None if host.root or uid_switch else most_files(start.limits.files)
    plan = WallPlan(
        host.programs.debug_seccomp if start.debug else host.programs.seccomp,
        files=caps(start.limits).files if files is None else files + OWN_FILES,
        groups=lambda: host.groups.make(
            start.sandbox_id, UNBOUNDED if request.for_pool else caps(start.limits)
        ),
        argv=lambda: _bwrap_argv(host, request, places, root, files=files),
        uid=uid,
        uid_switch=uid_switch,
    )
    pending = start_wall(plan)
    _open_storage(host, request, places, uid_switch)
    if root is not None:
        degraded += mount_root(host.home, root, places, uid=uid)
    if uid is not None:
        attach_host_mounts(mounts, places, uid=uid)
    write_names(places, start)
    write_generation(places)
    _make_journal(host, request, places)
    pending.proceed()

    def wait() -> _BuiltWall:
        wall = pending.wait()
        return _BuiltWall(
            wall.doors,
            (wall.init_pid, wall.bwrap_pid),
            (wall.init_pidfd, wall.bwrap_pidfd),
            degraded,
        )

    return _PendingWall(pending.control, wait)


def _uid_switch(
    host: HostResources, request: StartRequest, places: BoxPlaces, root: Root | None
) -> UidSwitch | None:
    """Return the switch to a subordinate uid, for a sandbox that has one."""
    if host.subordinates is None or host.is_shared(request.sandbox_uid):
        return None
    of_home = (host.home.programs, host.home.roots)
    own = (*of_home, places.mounted, places.hosts, places.machine_id, places.own_run)
    views = tuple(Path(view.source) for view in request.start.views)
    layers = () if root is None else root.layers
    return UidSwitch(
        host.subordinates, request.sandbox_uid, lambda: dict.fromkeys((*own, *views, *layers))
    )


def _open_storage(
    host: HostResources, request: StartRequest, places: BoxPlaces, uid_switch: UidSwitch | None
) -> None:
    order = _disk_order(host, request)
    if uid_switch is None:
        host.storage.open(places, order)
        return
    order = replace(order, uid=uid_switch.subordinates.inside(uid_switch.uid))
    uid_switch.subordinates.act(lambda: host.storage.open(places, order))


def _disk_order(host: HostResources, request: StartRequest) -> DiskOrder:
    start = request.start
    return DiskOrder(
        start.limits.workspace_bytes or DEFAULT_BYTES,
        request.sandbox_uid,
        request.disk_uid,
        None if start.seed is None else host.home.snapshot(start.seed),
        measure_disk_space(host.home, host.settings.low_disk_mb).low,
    )


def _await_container_wall(
    host: HostResources, request: StartRequest, places: BoxPlaces, *, seconds: int
) -> _PendingWall:
    """Make everything ready for a container engine, report it, and wait for init to connect."""
    uid = request.sandbox_uid
    engine_mounts = host.storage.engine_mounts
    folders = mount_engine_folders(host_mounts(request.start), places, engine_mounts)
    mounted = host.storage.mount_for_engine(places, _disk_order(host, request))
    write_etc(places.etc, request.start, uid=uid)
    write_generation(places)
    _make_journal(host, request, places)
    listener = open_rendezvous(places.rendezvous, uid)
    ready = RendezvousReady(str(mounted.place), tuple(str(folder.place) for folder in folders))
    request.report.send(msgspec.json.encode(ready))
    init = accept_init(listener, uid, seconds=seconds)
    check_container_files(init.pid, mounted, uid)
    check_container_folders(init.pid, folders)
    engine_mounts.unmount(places)
    for fd in engine_mounts.descriptors:
        os.close(fd)
    degraded = mounted.degraded
    if host.root:
        memory = caps(request.start.limits).memory_bytes
        degraded += bound_sockets(init.pid, init.pidfd, memory)
    built = _BuiltWall(init.doors, (init.pid,), (init.pidfd,), degraded)
    return _PendingWall(init.control, lambda: built)


def _expect_link(
    host: HostResources, request: StartRequest, places: BoxPlaces, link: Link
) -> _PendingWall:
    """Make the socket where streams to the other machine come in. Nothing runs here but the
    runtime."""
    _make_journal(host, request, places)
    listener = open_link(host, places)
    boot = LinkBoot(listener, bytes.fromhex(link.key), link.grace_seconds)
    return _PendingWall(boot, lambda: _BuiltWall((), (), ()))


def _bwrap_argv(
    host: HostResources,
    request: StartRequest,
    places: BoxPlaces,
    root: Root | None,
    *,
    files: int | None,
) -> list[str]:
    """Return bwrap's argv for this sandbox. Called in the process that becomes bwrap, because it
    opens the views."""
    start, top = request.start, host.home.root
    views = tuple((open_below(top, view.source), view.target) for view in start.views)
    for fd, _target in views:
        os.set_inheritable(fd, True)
    wall = WallOptions(
        hostname=start.hostname,
        places=places,
        etc=etc_tree(host.home.roots),
        views=views,
        home_files=tuple((_held_in_memory(text), name) for name, text in HOME_FILES.items()),
        writable=start.writable,
        nproc=None if host.groups.has("pids") else caps(start.limits).pids,
        files=files,
        netlink=caps(start.limits).netlink,
        bare=start.bare,
        root=root,
        mounts=host_mounts(start),
        privileged=host.root,
        late_views=request.for_pool,
    )
    return wall_argv(host.programs, wall)


def _held_in_memory(text: str) -> int:
    """Return an inheritable descriptor from which `text` can be read."""
    fd = os.memfd_create("file", 0)
    os.write(fd, text.encode())
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _finish_wall(
    host: HostResources, request: StartRequest, pending: _PendingWall
) -> tuple[socket.socket, ...]:
    """Wait for the wall, limit its terminals, report to the zygote and give up every privilege.
    Returns the listeners of the doors. Raises `Failed`, `OSError`."""
    if host.root:
        kernel.resume_root()
    built = pending.wait()
    degraded = built.degraded
    if not isinstance(pending.control, LinkBoot):
        host.growth.share(pending.control)
    os.close(host.growth.readable)
    if built.processes:
        ptys = request.start.limits.ptys or devpts.DEFAULT_PTYS
        degraded += _limit_terminals(built.processes[0], ptys)
        degraded += _bound_network(built.processes[0])
        if host.root:
            degraded += _favour_counting(built.processes[0])
    if built.processes and not host.root and request.wait_seconds is None:
        degraded += bound_inotify(built.processes[0])
    pids = (os.getpid(), *built.processes)
    known = tuple(found for pid in pids if (found := process(pid)) is not None)
    fds = [*built.pidfds, *(door.fileno() for door in built.doors)]
    ready = SandboxReady(known, degraded, len(built.pidfds))
    _give_up_privilege(host, request)
    socket.send_fds(request.report, [msgspec.json.encode(ready)], fds)
    for fd in built.pidfds:
        os.close(fd)
    return built.doors


def _make_journal(host: HostResources, request: StartRequest, places: BoxPlaces) -> None:
    places.journal.mkdir(mode=0o700, exist_ok=True)
    if host.root:
        os.chown(places.journal, request.runtime_uid, request.runtime_uid)


def _limit_terminals(init_pid: int, ptys: int) -> tuple[str, ...]:
    try:
        devpts.limit_ptys(init_pid, ptys)
    except OSError as err:
        return (f"ptys: {err}",)
    return ()


def _bound_network(init_pid: int) -> tuple[str, ...]:
    try:
        network_settings.bound_network(init_pid)
    except OSError as err:
        return (f"network: {err}",)
    return ()


def _favour_counting(init_pid: int) -> tuple[str, ...]:
    try:
        favour_counting(init_pid)
    except OSError as err:
        return (f"kernel memory: init counts it late beside busy programs: {err}",)
    return ()


def _give_up_privilege(host: HostResources, request: StartRequest) -> None:
    for fd in host.namespaces:
        os.close(fd)
    if host.root:
        kernel.drop_to(request.runtime_uid)
    if host.root and 0 in (*os.getresuid(), *os.getresgid()):
        raise Failed("a runtime would have kept a way back to root: it does not start")
    with kernel.own_files_in_proc():
        host.shared_memory.open_pagemap()
    kernel.forbid_cores()
    host.confinement.enter(host.home.box(request.start.sandbox_id).journal)
