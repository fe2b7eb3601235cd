"""The wall of a sandbox on a foreign machine: bubblewrap's arguments, run by an ordinary user.

The interior is that of every sandbox. What the machine has of /etc or /proc is bound only where it
is there, so few facts must be known before. This module starts nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from atoll.domain.interior.etc import COPIED, OWN, hosts_text
from atoll.domain.interior.identity import MACHINE_ID, machine_id_text
from atoll.domain.wall.interior import BARE_BYTES, SCRATCH, init_options
from atoll.wire.words.walls import WORKSPACE

CONTROL_FD, SECCOMP_FD = 3, 9
INSIDE_UID = 1000
INIT = "/.atoll/init"


@dataclass(frozen=True, slots=True)
class RemoteMachine:
    """Facts of a machine. `root_links` are names below / that lead into /usr, with their targets,
    `root_folders` those that are folders of their own; `masked_folders` and `masked_files` are
    what of /proc must be hidden."""

    root_links: tuple[tuple[str, str], ...] = ()
    root_folders: tuple[str, ...] = ()
    masked_folders: tuple[str, ...] = ()
    masked_files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RemoteWall:
    """Options of one wall. `files` holds workspace, state and etc of the sandbox, `programs` bwrap
    and init; `views` are read-only folders of that machine and their places inside, `states` the
    folders of agents' state and their places in the home."""

    files: str
    programs: str
    hostname: str
    views: tuple[tuple[str, str], ...] = ()
    states: tuple[tuple[str, str], ...] = ()
    writable: bool = True
    bare: bool = False
    netlink: int = 64
    nproc: int | None = None
    open_files: int | None = None


def remote_wall_argv(machine: RemoteMachine, wall: RemoteWall) -> tuple[str, ...]:
    """Return bwrap's whole argv, which ends with init's. Descriptor 3 is init's socket, 9 the
    filter of system calls."""
    return (
        f"{wall.programs}/bwrap",
        *_isolation(wall.hostname),
        *_system(machine, wall),
        *_scratch(machine),
        *_own_files(wall),
        *_init(wall),
    )


def etc_files(sandbox_id: str, hostname: str) -> dict[str, str]:
    """Return the files of the sandbox's own etc, by name."""
    names = {
        "hosts": hosts_text(hostname),
        "hostname": f"{hostname}\n",
        MACHINE_ID: machine_id_text(sandbox_id),
    }
    return {**OWN, **names}


def _isolation(hostname: str) -> Iterator[str]:
    yield from ("--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL")
    yield from ("--new-session", "--as-pid-1", "--die-with-parent", "--clearenv")
    yield from ("--uid", str(INSIDE_UID), "--gid", str(INSIDE_UID), "--hostname", hostname)
    yield from ("--seccomp", str(SECCOMP_FD))


def _system(machine: RemoteMachine, wall: RemoteWall) -> Iterator[str]:
    yield from ("--ro-bind", "/usr", "/usr")
    for name, target in machine.root_links:
        yield from ("--symlink", target, f"/{name}")
    for name in machine.root_folders:
        yield from ("--ro-bind", f"/{name}", f"/{name}")
    yield from ("--perms", "0755", "--dir", "/etc")
    for name in COPIED:
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    for name in OWN:
        yield from ("--ro-bind", f"{wall.files}/etc/{name}", f"/etc/{name}")
    for name in ("/opt", "/mnt", "/srv", "/var/log", "/var/lib"):
        yield from ("--dir", name)


def _scratch(machine: RemoteMachine) -> Iterator[str]:
    yield from ("--dev", "/dev")
    for place, mode, size in SCRATCH:
        yield from ("--perms", f"{mode:04o}", "--size", str(size), "--tmpfs", place)
    yield from ("--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys")
    for place in machine.masked_folders:
        yield from ("--perms", "0555", "--size", "4096", "--tmpfs", place, "--remount-ro", place)
    for place in machine.masked_files:
        yield from ("--ro-bind", "/dev/null", place)


def _own_files(wall: RemoteWall) -> Iterator[str]:
    if wall.bare:
        yield from ("--perms", "0755", "--size", str(BARE_BYTES), "--tmpfs", WORKSPACE)
    else:
        bind = "--bind" if wall.writable else "--ro-bind"
        yield from (bind, f"{wall.files}/workspace", WORKSPACE)
    yield from ("--bind", f"{wall.files}/state", "/.atoll/state")
    for name, inside in wall.states:
        yield from ("--bind", f"{wall.files}/state/{name}", f"/home/agent/{inside}")
    for source, target in wall.views:
        yield from ("--ro-bind", source, target)


def _init(wall: RemoteWall) -> Iterator[str]:
    yield from ("--ro-bind", f"{wall.programs}/init", INIT)
    yield from ("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/", "--")
    yield from (INIT, "--control-fd", str(CONTROL_FD))
    yield from init_options(netlink=wall.netlink, nproc=wall.nproc, files=wall.open_files)
