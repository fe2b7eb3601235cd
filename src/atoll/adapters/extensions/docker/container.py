"""The create call of one hardened container, as the Engine's API takes it.

It names every limit, mount and mask; it asks nothing and starts nothing. The places inside
are those of `domain.wall.interior`, so an agent finds what it finds behind bubblewrap.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from platform import machine

import msgspec

from atoll.adapters.extensions.docker.engine import Info
from atoll.adapters.extensions.docker.images import ResolvedImage
from atoll.adapters.extensions.docker.limits import find_cpu_millis
from atoll.adapters.extensions.docker.seccomp_profile import profile_for
from atoll.adapters.zygote.start import hostname
from atoll.domain.agents.registry import HOME_STATE
from atoll.domain.errors import Invalid
from atoll.domain.files.host_mount import HostMount, below_any
from atoll.domain.interior.etc import AGENT_FILES
from atoll.domain.interior.identity import MACHINE_ID, OWN_RUN
from atoll.domain.profile.profile import Profile
from atoll.domain.size import MIB
from atoll.domain.wall.interior import (
    BARE_BYTES,
    DEFAULT_FILES,
    DEFAULT_MEMORY_BYTES,
    DEFAULT_NETLINK,
    DEFAULT_PIDS,
    HOME,
    LATE_PLACE_BYTES,
    LATE_PLACES,
    MASKED,
    SCRATCH,
    init_options,
)
from atoll.ports.extension import Mount, Provision
from atoll.wire.words.sandboxes import Access
from atoll.wire.words.walls import WORKSPACE
from atoll.wire.zygote.messages import Awaited

RENDEZVOUS = "/.atoll/rendezvous"
OOM_SCORE = 500
SOFT_FILES = 1024
CPU_NANOS_PER_MILLI = 1_000_000
VOLUME_BYTES = 64 * MIB
"""For what an image calls a VOLUME: memory, so that nothing anonymous stays on the disk."""

RESERVED = ("/.atoll", "/dev", "/proc", "/sys")
"""Directories where no VOLUME of an image may lie: it would be written to, or cover what the wall
covers."""

ETC = (
    *("passwd", "group", "hosts", "hostname", "resolv.conf", "nsswitch.conf", "gitconfig"),
    MACHINE_ID,
    *AGENT_FILES,
)

DOCKER_MASKED = (
    "/proc/asound",
    "/proc/acpi",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/sys/firmware",
    "/sys/devices/virtual/powercap",
)
"""The Engine's own list; naming one replaces it."""

READ_ONLY_PATHS = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")


@dataclass(frozen=True, slots=True)
class ContainerPlan:
    """A container to be made. `memory_bytes` bounds memory and swap together. One that is `pooled`
    has places for what is mounted once a request takes it."""

    image: ResolvedImage
    awaited: Awaited
    hostname: str
    labels: tuple[tuple[str, str], ...]
    seccomp: str
    memory_bytes: int
    pids: int
    cpu_millis: int | None
    files: int
    netlink: int
    writable: bool
    views: tuple[Mount, ...] = ()
    host_mounts: tuple[HostMount, ...] = ()
    bare: bool = False
    pooled: bool = False


class _EngineNames(msgspec.Struct, rename="pascal", frozen=True):
    """The Engine's spelling of names."""


class _Propagation(_EngineNames, frozen=True):
    propagation: str = "rprivate"


class _NoHealthcheck(_EngineNames, frozen=True):
    """An image's own health check would run programs in the sandbox from outside."""

    test: tuple[str, ...] = ("NONE",)


class _Bind(_EngineNames, frozen=True):
    source: str
    target: str
    read_only: bool
    type: str = "bind"
    bind_options: _Propagation = _Propagation()


class _Limit(_EngineNames, frozen=True):
    name: str
    soft: int
    hard: int


class _Host(_EngineNames, frozen=True, omit_defaults=True):
    memory: int
    memory_swap: int
    pids_limit: int
    mounts: list[_Bind]
    tmpfs: dict[str, str]
    security_opt: list[str]
    masked_paths: list[str]
    readonly_paths: list[str]
    nano_cpus: int | None = None
    network_mode: str = ""
    ipc_mode: str = ""
    userns_mode: str = ""
    cgroupns_mode: str = ""
    cap_drop: list[str] = []
    readonly_rootfs: bool = False
    oom_score_adj: int = 0
    ulimits: list[_Limit] = []
    log_config: dict[str, str] = {}
    restart_policy: dict[str, str] = {}


class _Bounds(_EngineNames, frozen=True, omit_defaults=True):
    """The limits that a container's engine changes while it runs."""

    memory: int
    memory_swap: int
    pids_limit: int
    nano_cpus: int | None = None


class _Container(_EngineNames, frozen=True):
    image: str
    hostname: str
    user: str
    entrypoint: list[str]
    cmd: list[str]
    labels: dict[str, str]
    host_config: _Host
    working_dir: str = "/"
    network_disabled: bool = True
    healthcheck: _NoHealthcheck = _NoHealthcheck()


def bounds(profile: Profile, info: Info) -> bytes:
    """Return the JSON of `POST /containers/{id}/update` for the sandbox of a profile."""
    memory, cpu = _memory_bytes(profile), find_cpu_millis(profile.resources.cpu, info)
    return msgspec.json.encode(_Bounds(memory, memory, _pids(profile), _nano_cpus(cpu)))


def plan_of(
    request: Provision,
    image: ResolvedImage,
    awaited: Awaited,
    *,
    info: Info,
    labels: tuple[tuple[str, str], ...],
    pooled: bool,
) -> ContainerPlan:
    """Return the container of a request; a daemon that gave `info` makes it. That of a pool is
    bounded anew by `bounds` when a request takes it, which cannot lift a limit of processors: it
    has none before."""
    profile = request.profile
    netlink, access = profile.network.netlink, profile.workspace.access
    return ContainerPlan(
        image=image,
        awaited=awaited,
        hostname=hostname(request.name),
        labels=labels,
        seccomp=profile_for(machine(), debug=profile.safety.debug),
        memory_bytes=_memory_bytes(profile),
        pids=_pids(profile),
        cpu_millis=None if pooled else find_cpu_millis(profile.resources.cpu, info),
        files=profile.resources.files or DEFAULT_FILES,
        netlink=DEFAULT_NETLINK if netlink is None else netlink,
        writable=access is not Access.READ_ONLY,
        bare=access is Access.NONE,
        host_mounts=request.host_mounts,
        views=request.mounts,
        pooled=pooled,
    )


def body(plan: ContainerPlan) -> bytes:
    """Return the JSON of `POST /containers/create`."""
    uid = plan.awaited.box.host_uid
    return msgspec.json.encode(
        _Container(
            image=plan.image.id,
            hostname=plan.hostname,
            user=f"{uid}:{uid}",
            entrypoint=_init(plan),
            cmd=[],
            labels=dict(plan.labels),
            host_config=_host(plan, uid),
        )
    )


def _init(plan: ContainerPlan) -> list[str]:
    options = init_options(netlink=plan.netlink)
    return [*plan.awaited.init, "--connect", RENDEZVOUS, *options]


def _host(plan: ContainerPlan, uid: int) -> _Host:
    return _Host(
        memory=plan.memory_bytes,
        memory_swap=plan.memory_bytes,
        pids_limit=plan.pids,
        nano_cpus=_nano_cpus(plan.cpu_millis),
        mounts=list(_mounts(plan)),
        tmpfs=_memory_places(plan, uid),
        security_opt=["no-new-privileges:true", f"seccomp={plan.seccomp}"],
        # The whole of /sys goes, as behind bubblewrap: it reveals the machine.
        masked_paths=sorted({*DOCKER_MASKED, *MASKED, "/sys"}),
        readonly_paths=list(READ_ONLY_PATHS),
        network_mode="none",
        ipc_mode="none",
        # A remapped uid could not come in at the rendezvous, nor own the workspace.
        userns_mode="host",
        cgroupns_mode="private",
        cap_drop=["ALL"],
        readonly_rootfs=True,
        oom_score_adj=OOM_SCORE,
        ulimits=[
            _Limit("core", 0, 0),
            _Limit("nofile", min(SOFT_FILES, plan.files), plan.files),
        ],
        log_config={"Type": "none"},
        restart_policy={"Name": "no"},
    )


def _memory_bytes(profile: Profile) -> int:
    memory = profile.resources.memory_mb
    return memory * MIB if memory else DEFAULT_MEMORY_BYTES


def _pids(profile: Profile) -> int:
    return profile.resources.pids or DEFAULT_PIDS


def _nano_cpus(cpu_millis: int | None) -> int | None:
    return None if cpu_millis is None else cpu_millis * CPU_NANOS_PER_MILLI


def _mounts(plan: ContainerPlan) -> Iterator[_Bind]:
    awaited = plan.awaited
    yield _Bind(awaited.init_file, awaited.init[-1], read_only=True)
    yield _Bind(awaited.rendezvous, RENDEZVOUS, read_only=True)
    if not plan.bare:
        yield _Bind(awaited.workspace, WORKSPACE, read_only=not plan.writable)
    yield _Bind(awaited.state, "/.atoll/state", read_only=False)
    for name, inside in HOME_STATE:
        yield _Bind(f"{awaited.state}/{name}", f"{HOME}/{inside}", read_only=False)
    for name in ETC:
        yield _Bind(f"{awaited.etc}/{name}", f"/etc/{name}", read_only=True)
    yield _Bind(awaited.own_run, OWN_RUN, read_only=True)
    for view in plan.views:
        yield _Bind(view.source, view.target, read_only=True)
    # Never by the mount's own source: the Engine would walk it as root and follow links.
    for mount, place in zip(plan.host_mounts, awaited.folders, strict=True):
        yield _Bind(place, mount.target, read_only=not mount.writable)


def _memory_places(plan: ContainerPlan, uid: int) -> dict[str, str]:
    """Return the places that are written to memory. Folders on the way to an agent's state are
    places of their own: the Engine would make them root's."""
    places = {place: (mode, size) for place, mode, size in SCRATCH}
    home = places[HOME]
    if plan.bare:
        places[WORKSPACE] = (0o755, BARE_BYTES)
    if plan.pooled:
        places |= dict.fromkeys(LATE_PLACES, (0o755, LATE_PLACE_BYTES))
    for _name, inside in HOME_STATE:
        for parent in list(PurePosixPath(inside).parents)[:-1]:
            places[f"{HOME}/{parent}"] = home
    bound = {bind.target for bind in _mounts(plan)}
    for volume in plan.image.volumes:
        if volume not in bound and volume not in places:
            _check_volume(volume)
            places[volume] = (0o755, VOLUME_BYTES)
    return {
        place: f"rw,exec,nosuid,nodev,mode={mode:o},size={size},uid={uid},gid={uid}"
        for place, (mode, size) in places.items()
    }


def _check_volume(place: str) -> None:
    """Reject a volume that cannot be the image's. Raises `Invalid`."""
    reserved = below_any(place, RESERVED) or place in ("/", "/etc")
    if reserved or not place.startswith("/") or not place.isprintable():
        raise Invalid(
            f"the image declares a VOLUME at {place[:80]!r}, a place that is the sandbox's own: "
            "build it without, or name another image",
            field="image",
        )
