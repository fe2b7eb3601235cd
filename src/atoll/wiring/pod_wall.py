"""The start of init for a pod's runtime: on this machine as it is, or behind bubblewrap.

The light wall shows `/usr`, a few files of `/etc`, the workspace and the home, and has only `lo`.
It has no limits of memory, processes or disk, and no system call filter: it is not the zygote's.
"""

import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

from atoll.domain.errors import Failed
from atoll.domain.wall.interior import DOORS, HOME
from atoll.inside.program import INSIDE_INIT, init_argv, init_binary
from atoll.wire import init as wire
from atoll.wire.words.walls import WORKSPACE
from atoll.wiring.pod_boot import PodBoot
from atoll.zygote.jobs.programs import find_bwrap

READY_SECONDS = 20.0
_LINKS = ("bin", "sbin", "lib", "lib64")
_ETC = (
    *("passwd", "group", "nsswitch.conf", "localtime", "ld.so.cache", "alternatives"),
    *("ssl/certs", "ca-certificates", "bash.bashrc", "profile", "gitconfig"),
)


class StartedInit:
    """An init that said READY: the runtime's end of its control socket, its doors, and the argv and
    the workspace as programs inside name them."""

    def __init__(
        self,
        control: socket.socket,
        doors: tuple[socket.socket, ...],
        *,
        program: tuple[str, ...],
        workspace: str,
    ) -> None:
        self.control = control
        self.doors = doors
        self.program = program
        self.workspace = workspace


def start_init(boot: PodBoot, workspace: Path, uid: int | None) -> StartedInit:
    """Start init and take READY from it. Init ends with the control socket. Raises `Failed`."""
    behind = boot.wall == "bwrap"
    program = (INSIDE_INIT if behind else str(init_binary()),)
    place = WORKSPACE if behind else str(workspace)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    argv = init_argv(
        program,
        control_fd=theirs.fileno(),
        doors=DOORS if boot.doors else (),
        root=place,
    )
    with theirs:
        subprocess.Popen(
            (*_wall(boot, workspace), *argv) if behind else argv,
            pass_fds=(theirs.fileno(),),
            env={},
            stdin=subprocess.DEVNULL,
            user=uid,
            group=uid,
            extra_groups=None if uid is None else [],
            start_new_session=True,
        )
    return StartedInit(ours, _wait_ready(ours), program=program, workspace=place)


def _wait_ready(control: socket.socket) -> tuple[socket.socket, ...]:
    """Wait until the init is ready. Returns its sockets. Raises `Failed`."""
    control.settimeout(READY_SECONDS)
    try:
        packet, fds, _flags, _peer = socket.recv_fds(control, wire.MAX_PACKET_BYTES, wire.MAX_FDS)
        reply = wire.decode_reply(packet)
    except (OSError, ValueError) as error:
        raise Failed(f"the init did not start: {error}") from error
    if not isinstance(reply, wire.Ready):
        raise Failed(f"the init did not start: {reply}")
    control.setblocking(False)
    return tuple(socket.socket(fileno=fd) for fd in fds)


def _wall(boot: PodBoot, workspace: Path) -> Iterator[str]:
    """Yield the words of bubblewrap before those of init. Sources are opened as the caller."""
    yield str(find_bwrap())
    yield from (
        "--unshare-user",
        "--unshare-pid",
        "--unshare-net",
        "--unshare-ipc",
        "--unshare-uts",
    )
    yield from ("--as-pid-1", "--die-with-parent", "--hostname", "sandbox", "--cap-drop", "ALL")
    yield from ("--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp")  # noqa: S108 - inside
    for name in _LINKS:
        yield from ("--symlink", f"usr/{name}", f"/{name}")
    for name in _ETC:
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    yield from ("--bind", str(workspace), WORKSPACE)
    yield from ("--bind", boot.home, HOME) if boot.home else ("--tmpfs", HOME)
    for mount in boot.mounts:
        how = "--bind" if mount.writable else "--ro-bind"
        yield from (how, mount.source, mount.target)
    yield from ("--ro-bind", str(init_binary()), INSIDE_INIT)
    yield from ("--remount-ro", "/", "--")
