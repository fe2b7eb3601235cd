"""The command line of the wall: bubblewrap's arguments. This module starts nothing.

Order matters: mounts are made in the order written, so `/` and `/dev` become read-only last.
Sources are opened with the sandbox's own uid: by path where only the zygote may change them, by
descriptor where the control plane may.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from atoll.domain.agents.registry import HOME_STATE
from atoll.domain.files.host_mount import HostMount
from atoll.domain.interior.etc import ROOT_LINKS
from atoll.domain.interior.identity import MACHINE_ID, OWN_RUN
from atoll.domain.size import MIB
from atoll.domain.wall.interior import (
    BARE_BYTES,
    HOME,
    LATE_PLACE_BYTES,
    LATE_PLACES,
    MASKED,
    SCRATCH,
    init_options,
)
from atoll.inside.program import INSIDE_INIT
from atoll.wire.words.walls import WORKSPACE
from atoll.zygote.disk.host_mounts import host_mount_argv
from atoll.zygote.disk.host_root import files_over_usr
from atoll.zygote.disk.roots import Root, root_argv
from atoll.zygote.host.home import BoxPlaces

CONTROL_FD, SECCOMP_FD, INFO_FD = 3, 4, 5
"""Descriptors of the new process; of these only CONTROL_FD stays open inside."""

INSIDE_UID = 1000

OWN_PLACES = ("/.atoll", "/opt/atoll", "/home", "/mnt", "/srv", "/data")
"""Small and read-only in the end: folders of ours in the root of an image."""


@dataclass(frozen=True, slots=True)
class Programs:
    """Installed programs that every wall needs. `build` names their build. Commands of `sudo` have
    filters of their own, in which package managers may set S_ISUID, and `owner_filter` in
    addition."""

    bwrap: Path
    seccomp: Path
    debug_seccomp: Path
    sudo_seccomp: Path
    sudo_debug_seccomp: Path
    import_seccomp: Path
    owner_filter: Path
    init_file: Path
    bwrap_version: str
    build: str


@dataclass(frozen=True, slots=True)
class WallOptions:
    """Options of one sandbox's wall. `home_files` are inheritable descriptors of the first contents
    of the home, and their names there. `views` are those of folders, and their targets: bwrap
    compares each mount with its descriptor, closes it, and fails when a link replaced the name
    meanwhile. `nproc` limits processes where no cgroup does, `files` the open files of commands
    where init may have more, `netlink` sockets of that family. `root` None is the usual root; with
    `privileged` the zygote mounted it, and `mounts`. `bare` shows an empty tmpfs in place of the
    workspace. With `late_views` there are folders for views that come later."""

    hostname: str
    places: BoxPlaces
    etc: Path
    views: tuple[tuple[int, str], ...]
    home_files: tuple[tuple[int, str], ...]
    writable: bool
    nproc: int | None
    files: int | None
    netlink: int
    root: Root | None = None
    mounts: tuple[HostMount, ...] = ()
    bare: bool = False
    privileged: bool = False
    late_views: bool = False


def wall_argv(programs: Programs, wall: WallOptions) -> list[str]:
    """Return bwrap's whole argv, which ends with init's."""
    return [
        str(programs.bwrap),
        *_isolation(wall.hostname),
        *_system(wall),
        *_scratch(),
        *_kernel_files(),
        *_own_files(wall),
        *_init(programs, wall),
    ]


def _isolation(hostname: str) -> Iterator[str]:
    yield from ("--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL")
    yield from ("--new-session", "--as-pid-1", "--die-with-parent", "--clearenv")
    yield from ("--uid", str(INSIDE_UID), "--gid", str(INSIDE_UID), "--hostname", hostname)
    yield from ("--seccomp", str(SECCOMP_FD), "--info-fd", str(INFO_FD))


def _system(wall: WallOptions) -> Iterator[str]:
    if wall.root is not None and wall.root.whole:
        yield from root_argv(wall.root, wall.places, privileged=wall.privileged)
        yield from _names(wall)
        # Places of mounts: never of what an image put there.
        for name in OWN_PLACES:
            yield from ("--perms", "0755", "--size", str(MIB), "--tmpfs", name)
        return
    if wall.root is not None:
        yield from root_argv(wall.root, wall.places, privileged=wall.privileged)
    else:
        yield from ("--ro-bind", "/usr", "/usr")
    for name in ROOT_LINKS:
        place = Path("/") / name
        if place.is_symlink():
            yield from ("--symlink", str(place.readlink()).lstrip("/"), str(place))
        elif place.is_dir():
            yield from ("--ro-bind", str(place), str(place))
    yield from _etc(wall)
    for name in ("/opt", "/mnt", "/srv", "/var/log", "/var/lib"):
        yield from ("--dir", name)


def _etc(wall: WallOptions) -> Iterator[str]:
    for source, place in files_over_usr(wall.etc):
        yield from ("--ro-bind", str(source), place)
    yield from ("--ro-bind", str(wall.etc), "/etc")
    yield from _names(wall)


def _names(wall: WallOptions) -> Iterator[str]:
    yield from ("--ro-bind", str(wall.places.hosts), "/etc/hosts")
    yield from ("--ro-bind", str(wall.places.machine_id), f"/etc/{MACHINE_ID}")


def _scratch() -> Iterator[str]:
    yield from ("--dev", "/dev")
    for place, mode, size in SCRATCH:
        yield from ("--perms", f"{mode:04o}", "--size", str(size), "--tmpfs", place)


def _kernel_files() -> Iterator[str]:
    yield from ("--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys")
    for place in MASKED:
        if Path(place).is_dir():
            yield from ("--perms", "0555", "--size", "4096", "--tmpfs", place)
            yield from ("--remount-ro", place)
        elif _readable_by_others(Path(place)):
            yield from ("--ro-bind", "/dev/null", place)


def _readable_by_others(path: Path) -> bool:
    """Return whether users other than root may open the file. A sandbox's uid is never root's, so
    other files need no mount."""
    try:
        return bool(path.stat().st_mode & 0o006)
    except OSError:
        return False


def _own_files(wall: WallOptions) -> Iterator[str]:
    mounted = wall.places.mounted
    if wall.bare:
        yield from ("--perms", "0755", "--size", str(BARE_BYTES), "--tmpfs", WORKSPACE)
    else:
        bind = "--bind" if wall.writable else "--ro-bind"
        yield from (bind, str(mounted / "workspace"), WORKSPACE)
    yield from ("--bind", str(mounted / "state"), "/.atoll/state")
    for name, inside in HOME_STATE:
        yield from ("--bind", str(mounted / "state" / name), f"/home/agent/{inside}")
    yield from ("--ro-bind", str(wall.places.own_run), OWN_RUN)
    for fd, name in wall.home_files:
        yield from ("--perms", "0644", "--file", str(fd), f"{HOME}/{name}")
    for place in LATE_PLACES if wall.late_views else ():
        yield from ("--perms", "0755", "--size", str(LATE_PLACE_BYTES), "--tmpfs", place)
    for fd, target in wall.views:
        yield from ("--ro-bind-fd", str(fd), target)
    yield from host_mount_argv(wall.mounts, wall.places, privileged=wall.privileged)


def _init(programs: Programs, wall: WallOptions) -> Iterator[str]:
    yield from ("--ro-bind", str(programs.init_file), INSIDE_INIT)
    yield from ("--remount-ro", "/dev")
    for place in _paths_to_close(wall.root):
        yield from ("--remount-ro", place)
    yield from ("--chdir", "/", "--")
    yield INSIDE_INIT
    yield from ("--control-fd", str(CONTROL_FD))
    yield from init_options(netlink=wall.netlink, nproc=wall.nproc, files=wall.files)


def _paths_to_close(root: Root | None) -> tuple[str, ...]:
    """Return the paths that become read-only last."""
    if root is None or not root.whole:
        return ("/",)
    return OWN_PLACES if root.writable else (*OWN_PLACES, "/")
