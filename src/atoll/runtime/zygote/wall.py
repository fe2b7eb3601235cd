"""Raising one wall: bwrap and init are started as the sandbox's uid, and READY is awaited.

The caller stays what it was. Nothing in the new process but its control socket, filter and
two pipes comes from here; init's end of the socket is held by nobody else.
"""

import contextlib
import os
import resource
import select
import signal
import socket
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec

from atoll.domain.errors import Failed
from atoll.runtime.zygote import cgroups, kernel
from atoll.runtime.zygote.bwrap_argv import CONTROL_FD, INFO_FD, SECCOMP_FD
from atoll.wire import init as wire

READY_SECONDS = 10.0
OOM_SCORE = "500"
SOFT_FILES = 1024
"""The usual soft limit of open files; programs that want more raise it to the hard one."""

_HIGH_FD = 64
_MAX_REASON_BYTES = 2000


@dataclass(frozen=True, slots=True)
class Raised:
    """A wall that stands: the runtime's end of the control socket, the doors' listeners, and
    descriptors of bwrap and init (pidfd_open(2)). The receiver owns all of them."""

    control: socket.socket
    doors: tuple[socket.socket, ...]
    bwrap_pid: int
    init_pid: int
    bwrap_pidfd: int
    init_pidfd: int


class _Info(msgspec.Struct):
    """What bwrap writes to --info-fd."""

    child_pid: int = msgspec.field(name="child-pid")


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start bwrap: as `uid` (None stays), inside `groups`."""

    argv: list[str]
    seccomp: Path
    groups: list[Path]
    uid: int | None


def raise_wall(launch: Launch, *, seconds: float = READY_SECONDS) -> Raised:
    """Start it and wait. Raises `Failed` with bwrap's own words; nothing is left then."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    info_read, info_write = os.pipe()
    errors_read, errors_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        _become_bwrap(launch, theirs.fileno(), info_write, errors_write)
    theirs.close()
    os.close(info_write)
    os.close(errors_write)
    pidfd = os.pidfd_open(pid)
    try:
        doors = _await_ready(ours, pidfd, time.monotonic() + seconds)
        info = msgspec.json.decode(os.read(info_read, 4096), type=_Info)
        init_pidfd = os.pidfd_open(info.child_pid)
    except (Failed, OSError, msgspec.DecodeError) as err:
        ours.close()
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(pidfd)
        raise Failed(f"the wall did not rise: {err}{_reason(errors_read)}") from err
    finally:
        os.close(info_read)
        os.close(errors_read)
    return Raised(ours, doors, pid, info.child_pid, pidfd, init_pidfd)


def _become_bwrap(launch: Launch, control: int, info: int, errors: int) -> None:
    """In the child: only returns by exec or exit."""
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        cgroups.join(launch.groups)
        with contextlib.suppress(OSError):
            # Out of memory, the machine should lose an agent before anything else.
            Path("/proc/self/oom_score_adj").write_text(OOM_SCORE)
        _most, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(SOFT_FILES, hard), hard))
        seccomp = os.open(launch.seccomp, os.O_RDONLY | os.O_CLOEXEC)
        _map_descriptors(control, seccomp, info, errors)
        if launch.uid is not None:
            kernel.drop_to(launch.uid)
        os.execve(launch.argv[0], launch.argv, {})  # noqa: S606  an argv list of ours
    except OSError as err:
        with contextlib.suppress(OSError):
            os.write(2, str(err).encode())
    finally:
        os._exit(127)


def _map_descriptors(control: int, seccomp: int, info: int, errors: int) -> None:
    """0-5 and nothing else. Copies go high first, so that no dup2 clobbers a source."""
    import fcntl

    null = os.open(os.devnull, os.O_RDWR)
    sources = (null, errors, errors, control, seccomp, info)
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD, _HIGH_FD) for fd in sources]
    for target, fd in zip((0, 1, 2, CONTROL_FD, SECCOMP_FD, INFO_FD), high, strict=True):
        os.dup2(fd, target, inheritable=True)
    kernel.close_others(set(range(6)))


def _await_ready(control: socket.socket, pidfd: int, deadline: float) -> tuple[socket.socket, ...]:
    poller = select.poll()
    poller.register(control, select.POLLIN)
    poller.register(pidfd, select.POLLIN)
    remaining_ms = max(0, int((deadline - time.monotonic()) * 1000))
    events = dict(poller.poll(remaining_ms))
    if control.fileno() not in events:
        raise Failed("bubblewrap ended" if events else "init was not ready in time")
    packet, fds, flags, _peer = socket.recv_fds(control, wire.MAX_PACKET_BYTES, wire.MAX_FDS)
    listeners = tuple(socket.socket(fileno=fd) for fd in fds)
    if not packet:
        raise Failed("bubblewrap ended")
    reply = wire.decode_reply(packet)
    if isinstance(reply, wire.Ready) and reply.version == wire.VERSION:
        for listener in listeners:
            listener.set_inheritable(False)
        return listeners
    for listener in listeners:
        listener.close()
    raise Failed(f"init answered {reply} where READY {wire.VERSION} was due (flags {flags})")


def _reason(errors: int) -> str:
    os.set_blocking(errors, False)
    try:
        text = os.read(errors, _MAX_REASON_BYTES).decode(errors="replace").strip()
    except BlockingIOError:
        return ""
    return f" ({text})" if text else ""
