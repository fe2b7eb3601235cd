"""The rendezvous with the init of a wall that a container engine builds.

The container's init connects to a socket of ours. Only the sandbox's own uid may connect (socket
mode and SO_PEERCRED), only once, and only for a limited time. From READY on the sandbox is handled
like one of bubblewrap's.
"""

import os
import select
import socket
import time
from dataclasses import dataclass
from pathlib import Path

from atoll.domain.errors import Failed, Forbidden
from atoll.domain.interior.etc import AGENT_FILES, OWN, hosts_text
from atoll.domain.interior.identity import MACHINE_ID, machine_id_text
from atoll.domain.wall.interior import HOME
from atoll.wire.zygote.messages import Start
from atoll.zygote.host import kernel
from atoll.zygote.host.home import traversal_mode
from atoll.zygote.host.owned_socket import listen, peer_credentials
from atoll.zygote.wall.wall import await_ready

READY_SECONDS = 10.0
_WRITTEN = ("resolv.conf", "nsswitch.conf", "gitconfig")
_FILE_MODE = 0o644


@dataclass(frozen=True, slots=True)
class ConnectedInit:
    """An init that connected and sent READY: our end of its socket, the doors' listeners, its pid
    and its pidfd. The receiver owns them."""

    control: socket.socket
    doors: tuple[socket.socket, ...]
    pid: int
    pidfd: int


def open_rendezvous(path: Path, uid: int) -> socket.socket:
    """Return a listening SEQPACKET socket that only `uid` and root may connect to."""
    path.parent.mkdir(mode=traversal_mode(), parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    return listen(str(path), uid, socket.SOCK_SEQPACKET, backlog=1)


def accept_init(listener: socket.socket, uid: int, *, seconds: float) -> ConnectedInit:
    """Accept the first and only connection. Raises `Failed` when none comes within `seconds` or
    init is not ready in time, `Forbidden` when the peer has another uid."""
    path = Path(listener.getsockname())
    try:
        control = _accept(listener, seconds)
    finally:
        listener.close()
        path.unlink(missing_ok=True)
    pid, its_uid = peer_credentials(control)
    if its_uid != uid:
        control.close()
        raise Forbidden(f"uid {its_uid} came in where only uid {uid} may: the sandbox was refused")
    try:
        # An open connection proves that the pid is still that of the process that made it.
        pidfd = os.pidfd_open(pid)
    except OSError as err:
        control.close()
        raise Failed(
            f"the init (pid {pid}) cannot be watched: {err}; its container must run on this "
            "machine, in sight of Atoll's processes"
        ) from err
    try:
        _check_terminals(pid)
        doors = await_ready(
            control, pidfd, time.monotonic() + READY_SECONDS, builder="the container"
        )
    except BaseException:
        control.close()
        os.close(pidfd)
        raise
    return ConnectedInit(control, doors, pid, pidfd)


def _accept(listener: socket.socket, seconds: float) -> socket.socket:
    if not select.select([listener], [], [], seconds)[0]:
        raise Failed(f"nobody built the sandbox's wall within {seconds:.0f} s: its init never came")
    connection, _address = listener.accept()
    return connection


def _check_terminals(pid: int) -> None:
    """Check that init has a devpts of its own. The PTY limit is set there, and must not hit this
    machine's."""
    try:
        root = os.open(f"/proc/{pid}/root", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            # Its image may have put links there, which lead nowhere from here.
            pts = kernel.open_in_root(root, "/dev/pts")
        finally:
            os.close(root)
    except OSError:
        return  # what cannot be reached will not be bounded either, and that is said
    theirs = os.fstat(pts).st_dev
    os.close(pts)
    if theirs == Path("/dev/pts").stat().st_dev:
        raise Forbidden("the init that came in shares this machine's terminals: it has no wall")


def write_etc(folder: Path, start: Start, *, uid: int) -> None:
    """Write the files of /etc that must name this sandbox: its user with its uid, its hosts and
    machine-id, git's settings; and the policy of agents. They are world-readable; all other files
    of /etc are the image's."""
    folder.mkdir(mode=0o755, exist_ok=True)
    folder.chmod(0o755)
    texts = {
        **{name: OWN[name] for name in _WRITTEN},
        **AGENT_FILES,
        "passwd": "root:x:0:0:root:/root:/usr/sbin/nologin\n"
        f"agent:x:{uid}:{uid}:agent:{HOME}:/bin/sh\n"
        "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
        "group": f"root:x:0:\ntty:x:5:\nagent:x:{uid}:\nnogroup:x:65534:\n",
        MACHINE_ID: machine_id_text(start.sandbox_id),
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        (folder / name).write_text(text)
        (folder / name).chmod(_FILE_MODE)
    write_host_name(folder, start.hostname)


def write_host_name(folder: Path, name: str) -> None:
    """Write the files that hold the host name, into the very files that are mounted inside, if they
    are."""
    for path, text in ((folder / "hosts", hosts_text(name)), (folder / "hostname", f"{name}\n")):
        path.write_text(text)
        path.chmod(_FILE_MODE)
