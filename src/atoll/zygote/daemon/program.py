"""The zygote as a program: claim the home, clean up, install the wall's programs, serve.

`wiring.zygote` calls `run` with the runtime to become. Nothing of the control plane is loaded in
this process.
"""

import fcntl
import os
import resource
import signal
import socket
import stat
import struct
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from atoll.domain.errors import Conflict, Failed
from atoll.domain.size import MIB
from atoll.inside.program import INIT_KIND
from atoll.wire.zygote import messages as wire
from atoll.zygote.daemon.boxes import Boxes
from atoll.zygote.daemon.server import ZygoteServer, bind
from atoll.zygote.disk import image
from atoll.zygote.disk.disk_space import measure_disk_space
from atoll.zygote.disk.engine_mounts import EngineMounts
from atoll.zygote.disk.host_root import etc_tree
from atoll.zygote.disk.roots import unprivileged_overlays
from atoll.zygote.disk.snapshot_loans import end_loans
from atoll.zygote.disk.snapshots import remove_unfinished
from atoll.zygote.disk.storage import Storage
from atoll.zygote.host.children import TERMINATIONS, Loop
from atoll.zygote.host.growth import GrowthTeller
from atoll.zygote.host.home import TRAVERSABLE_MODE, Home, traversal_mode
from atoll.zygote.host.own_settings import read_own_settings
from atoll.zygote.host.shared_memory import SharedMemory
from atoll.zygote.host_resources import HostResources, ServeRuntime
from atoll.zygote.jobs.imports import BundleImporter
from atoll.zygote.jobs.programs import install
from atoll.zygote.records.uids import Counter, Reserve
from atoll.zygote.start.keys import keyed_providers
from atoll.zygote.start.pool import POOL_SIZE
from atoll.zygote.start.starts import Starts
from atoll.zygote.stop.sweep import sweep
from atoll.zygote.stop.teardown import unlink_socket
from atoll.zygote.wall import cgroups, runtime_group
from atoll.zygote.wall.confinement import plan_confinement
from atoll.zygote.wall.subordinate_uids import (
    MissingSubordinates,
    Subordinates,
    open_subordinates,
)

MAX_FILES = 65536
CLAIM_SECONDS = 15.0

_CREDENTIALS = struct.Struct("iII")
"""Process, user and group of a socket's other end (unix(7))."""


def run(
    root: Path,
    serve_runtime: ServeRuntime,
    *,
    ready: Callable[[], None] = lambda: None,
    machine: int | None = None,
    starter: int | None = None,
    pool_size: int = POOL_SIZE,
) -> None:
    """Run the zygote of the home at `root` until SIGTERM; call `ready` once it listens.

    `machine` is a descriptor of the machine's mount namespace, when this process has another.
    `starter` is a pipe to the process that started this one: its end without a byte ends the
    zygote, too. As root a pool of up to `pool_size` sandboxes waits for the next starts.

    Raises `Conflict` when the home has a zygote already, `Failed` with what the host lacks.
    """
    home = Home(root.resolve())
    control_uid = home.root.stat().st_gid if os.geteuid() == 0 else os.geteuid()
    _raise_file_limit()
    _make_folders(home)
    lock = _claim(home)
    # From here on there is something to clean up: a signal to end waits until the loop runs.
    signal.pthread_sigmask(signal.SIG_BLOCK, TERMINATIONS)
    programs = install(home)
    etc_tree(home.roots)
    groups = cgroups.prepare(home.tag)
    engine_mounts = EngineMounts(home, machine)
    kept = sweep(home, groups, engine_mounts)
    _clean_snapshots(home)
    storage = Storage(home, os.geteuid() == 0 and image.can_mount(), engine_mounts)
    settings = read_own_settings(home)
    shared_memory = SharedMemory(wanted=settings.share_memory)
    confined, growth = plan_confinement(home.root), GrowthTeller(programs.init_file)
    parts = (programs, groups, storage, control_uid, serve_runtime, confined, growth)
    host = HostResources(home, *parts, shared_memory, settings, subordinates=_subordinates(home))
    uids = Reserve(Counter(home.boxes / "next-uid"))
    loop = Loop()
    server: ZygoteServer

    def broadcast_end(death: wire.Ended) -> None:
        server.broadcast(death)

    boxes = Boxes(Starts(loop, host, partial(uids.take, 2)), broadcast_end, kept, pool_size)
    importer = BundleImporter(home, programs, control_uid)
    server = ZygoteServer(loop, boxes, importer, partial(_report, host))
    listener = bind(str(home.socket), control_uid)
    server.listen(listener)
    link = None if starter is None else socket.socket(fileno=starter)
    if link is not None:
        _watch_starter(loop, link, partial(_stop_listening, home, server, listener))
    ready()
    server.serve()
    if listener.fileno() >= 0:
        _stop_listening(home, server, listener)
    _leave(home, link)
    os.close(lock)


def _subordinates(home: Home) -> Subordinates | None:
    if os.geteuid() == 0:
        return None
    found = open_subordinates(home.boxes)
    if isinstance(found, MissingSubordinates):
        print(f"zygote: no subordinate uids: {found.reason}", file=sys.stderr, flush=True)
        return None
    for folder in (home.roots, home.programs, *home.programs.glob("**/")):
        # Below a home and `run` that stay closed: a subordinate uid gets there by a mount.
        folder.chmod(TRAVERSABLE_MODE)
    return found


def _watch_starter(loop: Loop, link: socket.socket, withdraw: Callable[[], None]) -> None:
    """End the zygote when the start that it belongs to fails. Its socket is removed first, so that
    the next start makes a zygote of its own."""

    def read() -> None:
        loop.unwatch(link.fileno())
        if link.recv(1):
            link.close()
            return
        withdraw()
        os.kill(os.getpid(), signal.SIGTERM)

    loop.watch(link.fileno(), read)


def _leave(home: Home, link: socket.socket | None) -> None:
    """Remove our groups. The link to the starter closes with this process, not before: a start that
    fails waits for that."""
    cgroups.remove_own_groups(home.tag, _made_by(link))
    if link is not None:
        link.detach()


def _made_by(link: socket.socket | None) -> int | None:
    """Return the process that made a link; None for one that is not open here."""
    if link is None or link.fileno() < 0:
        return None
    told = link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, _uid, _gid = _CREDENTIALS.unpack(told)
    return int(pid)


def _stop_listening(home: Home, server: ZygoteServer, listener: socket.socket) -> None:
    server.unlisten(listener)
    unlink_socket(home.socket)


def _raise_file_limit() -> None:
    """Raise the limit of open files: each sandbox costs the zygote eight descriptors."""
    _soft, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(MAX_FILES, most), most))


def _report(host: HostResources) -> wire.Reported:
    room = measure_disk_space(host.home, host.settings.low_disk_mb)
    used = runtime_group.usage(host.groups)
    return wire.Reported(
        root=host.root,
        pid=os.getpid(),
        bwrap=host.programs.bwrap_version,
        init=INIT_KIND,
        degraded=host.degraded(),
        unshared=host.shared_memory.lacking,
        disk=wire.Disk(room.free, room.low, room.promised),
        runtimes=wire.Runtimes(
            len(used), sum(used), max(used, default=0), host.settings.runtime_memory_mb * MIB
        ),
        disk_weight=host.groups.weighs_disk,
        keyed=keyed_providers(host.home.keys, host.control_uid),
        build=host.programs.build,
        overlays=host.root or unprivileged_overlays(),
        snapshots=host.storage.images,
        folder_snapshots=not host.root,
        clones=host.storage.images and image.clones(host.home.boxes),
    )


def _claim(home: Home) -> int:
    """Take the home's lock. Waits while a zygote that no longer listens ends."""
    lock = os.open(home.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    deadline = time.monotonic() + CLAIM_SECONDS
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if home.socket.exists() or time.monotonic() > deadline:
                os.close(lock)
                raise Conflict(f"a zygote runs already for {home.root}") from None
            time.sleep(0.05)
        else:
            return lock


def _clean_snapshots(home: Home) -> None:
    """Remove what an earlier zygote left half made, and what it lent."""
    remove_unfinished(home.snapshots)
    end_loans(home.loans)


def _make_folders(home: Home) -> None:
    """Make the directories that the zygote writes to. As root they belong to root, so that a
    process with the control plane's uid cannot put links where root writes."""
    mode = traversal_mode()
    home.run.mkdir(mode=mode, exist_ok=True)
    places = (home.boxes, home.engine_mounts, home.snapshots, home.loans, home.roots)
    for folder in (home.run / "b", home.programs, *places):
        folder.mkdir(mode=mode, exist_ok=True)
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            raise Failed(f"{folder} is not a folder of Atoll's own: move it away")
        folder.chmod(0o700 if folder in (home.engine_mounts, home.snapshots) else mode)
    if os.geteuid() != 0:
        for folder in (home.root, home.run):
            folder.chmod(mode)
