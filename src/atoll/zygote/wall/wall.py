"""The construction of one wall: start bwrap and init as the sandbox's uid, and wait for READY.

It takes three steps, so that the caller works while the kernel does: `start_wall`, `proceed`,
`wait`. The caller's privileges do not change. The new process inherits only its control socket, the
filter and two pipes; no other process holds init's end of the socket.
"""

import contextlib
import fcntl
import os
import resource
import select
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from atoll.domain.errors import AtollError, Failed
from atoll.wire import init as wire
from atoll.wire.http.unreadable import UNREADABLE
from atoll.zygote.host import kernel
from atoll.zygote.wall import cgroups
from atoll.zygote.wall.bwrap_argv import CONTROL_FD, INFO_FD, SECCOMP_FD
from atoll.zygote.wall.subordinate_uids import UidSwitch

READY_SECONDS = 10.0
OOM_SCORE = "500"
GO_FD = 6
_GO = b"\1"
SOFT_FILES = 1024
"""The usual soft limit of open files; programs that want more raise it to the hard one."""


def bound_files(wanted: int) -> None:
    """Limit the open files of each later process, by no more than the machine allows."""
    _soft, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    hard = min(wanted, most)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(SOFT_FILES, hard), hard))


_HIGH_FD = 64
_MAX_REASON_BYTES = 2000


@dataclass(frozen=True, slots=True)
class StandingWall:
    """Wall in place: the doors' listeners, and pidfds of bwrap and init (pidfd_open(2)). The
    receiver owns all of them."""

    doors: tuple[socket.socket, ...]
    bwrap_pid: int
    init_pid: int
    bwrap_pidfd: int
    init_pidfd: int


class _Info(msgspec.Struct):
    """Message that bwrap writes to --info-fd."""

    child_pid: int = msgspec.field(name="child-pid")


@dataclass(frozen=True, slots=True)
class WallPlan:
    """Plan of a wall: bwrap runs as `uid` (None keeps this process's), each process with at most
    `files` open. `groups` makes its control groups and `argv` returns bwrap's command line; both
    are called in the new process. With a `uid_switch` the process changes its uid by that."""

    seccomp: Path
    files: int
    groups: Callable[[], list[Path]]
    argv: Callable[[], list[str]]
    uid: int | None
    uid_switch: UidSwitch | None = None


@dataclass(frozen=True, slots=True)
class PendingWall:
    """Process that becomes bwrap after `proceed`. It ends when this process ends before that.
    `control` is the runtime's end of init's socket."""

    control: socket.socket
    _pid: int
    _pidfd: int
    _go: int
    _info: int
    _errors: int

    def proceed(self) -> None:
        """Let the process become bwrap. Everything the wall is built of must be in place."""
        # A process that failed has written why: `wait` reports it.
        with contextlib.suppress(BrokenPipeError):
            os.write(self._go, _GO)
        os.close(self._go)

    def wait(self, *, seconds: float = READY_SECONDS) -> StandingWall:
        """Wait until the wall is in place. Raises `Failed` with bwrap's own words; nothing is left
        then."""
        try:
            doors = await_ready(self.control, self._pidfd, time.monotonic() + seconds)
            info = msgspec.json.decode(os.read(self._info, 4096), type=_Info)
            init_pidfd = os.pidfd_open(info.child_pid)
        except (Failed, OSError, *UNREADABLE) as err:
            self.control.close()
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
            os.waitpid(self._pid, 0)
            os.close(self._pidfd)
            raise Failed(f"the wall did not rise: {err}{_reason(self._errors)}") from err
        finally:
            os.close(self._info)
            os.close(self._errors)
        return StandingWall(doors, self._pid, info.child_pid, self._pidfd, init_pidfd)


def start_wall(plan: WallPlan) -> PendingWall:
    """Start the process of a wall. It makes and joins its groups, which may take a grace period of
    the kernel, while the caller prepares the files."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    go_read, go_write = os.pipe()
    info_read, info_write = os.pipe()
    errors_read, errors_write = os.pipe()
    pid = os.fork()
    if pid == 0:
        _become_bwrap(plan, (theirs.fileno(), info_write, errors_write, go_read))
    theirs.close()
    for fd in (go_read, info_write, errors_write):
        os.close(fd)
    return PendingWall(ours, pid, os.pidfd_open(pid), go_write, info_read, errors_read)


def _become_bwrap(plan: WallPlan, inherited: tuple[int, int, int, int]) -> None:
    """Become bwrap, in the child. Ends by exec or exit. `inherited`: control, info, errors, go."""
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        control, info, errors, go = inherited
        if plan.uid_switch is not None:
            plan.uid_switch.enter_namespace()
        seccomp = os.open(plan.seccomp, os.O_RDONLY | os.O_CLOEXEC)
        _map_descriptors(control, seccomp, info, errors, go)
        cgroups.join(plan.groups())
        with contextlib.suppress(OSError), kernel.own_files_in_proc():
            # Out of memory, the machine should lose an agent before anything else.
            Path("/proc/self/oom_score_adj").write_text(OOM_SCORE)
        bound_files(plan.files)
        argv = plan.argv()
        if plan.uid is not None:
            kernel.drop_to(plan.uid)
        if os.read(GO_FD, len(_GO)) == _GO:
            if plan.uid_switch is not None:
                plan.uid_switch.drop()
            os.execve(argv[0], argv, {})  # noqa: S606  an argv list of ours
    except (OSError, AtollError) as err:
        with contextlib.suppress(OSError):
            os.write(2, str(err).encode())
    finally:
        os._exit(127)


def _map_descriptors(control: int, seccomp: int, info: int, errors: int, go: int) -> None:
    """Map descriptors 0-5 for bwrap and 6 until its exec, and close all others. Copies get high
    numbers first, so that no dup2 overwrites a source."""
    null = os.open(os.devnull, os.O_RDWR)
    sources = (null, errors, errors, control, seccomp, info, go)
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD, _HIGH_FD) for fd in sources]
    targets = (0, 1, 2, CONTROL_FD, SECCOMP_FD, INFO_FD, GO_FD)
    for target, fd in zip(targets, high, strict=True):
        os.dup2(fd, target, inheritable=target != GO_FD)
    kernel.close_others(set(targets))


def await_ready(
    control: socket.socket, pidfd: int, deadline: float, *, builder: str = "bubblewrap"
) -> tuple[socket.socket, ...]:
    """Return the doors' listeners, which come with init's READY. `pidfd` is of the process that
    would end first, called `builder`; `deadline` is on the monotonic clock. Raises `Failed`."""
    poller = select.poll()
    poller.register(control, select.POLLIN)
    poller.register(pidfd, select.POLLIN)
    remaining_ms = max(0, int((deadline - time.monotonic()) * 1000))
    events = dict(poller.poll(remaining_ms))
    if control.fileno() not in events:
        raise Failed(f"{builder} ended" if events else "init was not ready in time")
    packet, fds, flags, _peer = socket.recv_fds(control, wire.MAX_PACKET_BYTES, wire.MAX_FDS)
    listeners = tuple(socket.socket(fileno=fd) for fd in fds)
    if not packet:
        raise Failed(f"{builder} ended")
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
