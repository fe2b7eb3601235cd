"""The zygote's child processes and its event loop: epoll over sockets, pidfds and exits of
children.

Nothing here knows the purpose of a child. Everything is a callback on one thread, without tasks or
locks. A child reports by packets on a socket of its own.
"""

import contextlib
import os
import select
import signal
import socket
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn

from atoll.zygote.host import kernel

TERMINATIONS = (signal.SIGTERM, signal.SIGINT)

MAX_PACKET_BYTES = 64 * 1024
MAX_PACKET_FDS = 32
MAX_PACKETS = 64
"""The most packets of one child in a turn, so that the others do not wait."""

Packet = Callable[[bytes, list[int]], None]
"""Called with each packet of a child and its descriptors; with b"" at the end."""


@dataclass(frozen=True, slots=True)
class Child:
    """A child process. `channel` is our end of its socket and is closed when it ends. Whoever
    forked the child closes `pidfd`."""

    pid: int
    pidfd: int
    channel: socket.socket


@dataclass(slots=True)
class Loop:
    """An epoll loop. Callbacks run to completion; an exception in one ends the zygote."""

    _epoll: select.epoll = field(default_factory=select.epoll)
    _ready: dict[int, Callable[[], None]] = field(default_factory=dict)
    _writable: dict[int, Callable[[], None]] = field(default_factory=dict)
    _ends: dict[int, Callable[[int], None]] = field(default_factory=dict)
    _timers: list[tuple[float, Callable[[], None]]] = field(default_factory=list)
    _stopping: bool = False

    def watch(self, fd: int, ready: Callable[[], None]) -> None:
        """Call `ready` whenever `fd` can be read (or, a pidfd, has ended)."""
        self._epoll.register(fd, select.EPOLLIN)
        self._ready[fd] = ready

    def call_when_writable(self, fd: int, call: Callable[[], None]) -> None:
        """Call once when the watched `fd` takes data again."""
        self._epoll.modify(fd, select.EPOLLIN | select.EPOLLOUT)
        self._writable[fd] = call

    def unwatch(self, fd: int) -> None:
        """Stop watching `fd`, if it is watched."""
        self._writable.pop(fd, None)
        if self._ready.pop(fd, None) is not None:
            self._epoll.unregister(fd)

    def call_later(self, seconds: float, call: Callable[[], None]) -> None:
        """Call once, after `seconds`."""
        self._timers.append((time.monotonic() + seconds, call))

    def stop(self) -> None:
        """Make `run` return."""
        self._stopping = True

    def run(self, on_terminate: Callable[[], None]) -> None:
        """Run until `stop`. SIGTERM and SIGINT call `on_terminate`, including those that were
        blocked before."""
        woken, waker = socket.socketpair()
        woken.setblocking(False)
        waker.setblocking(False)
        terminate = False

        def note_signal(number: int, _frame: object) -> None:
            nonlocal terminate
            terminate = terminate or number != signal.SIGCHLD

        old = signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, *TERMINATIONS):
            signal.signal(number, note_signal)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, TERMINATIONS)
        self.watch(woken.fileno(), lambda: _drain(woken))
        self._reap()
        while not self._stopping:
            self._turn()
            self._reap()
            if terminate:
                terminate = False
                on_terminate()
        signal.set_wakeup_fd(old)
        self.unwatch(woken.fileno())
        woken.close()
        waker.close()

    def _turn(self) -> None:
        timeout = min((at for at, _call in self._timers), default=None)
        wait = -1 if timeout is None else max(0.0, timeout - time.monotonic())
        for fd, events in self._epoll.poll(wait):
            writable = self._writable.pop(fd, None) if events & select.EPOLLOUT else None
            if writable is not None:
                self._epoll.modify(fd, select.EPOLLIN)
                writable()
            ready = self._ready.get(fd)
            if ready is not None and events & ~select.EPOLLOUT:
                ready()
        due = [item for item in self._timers if item[0] <= time.monotonic()]
        for item in due:
            self._timers.remove(item)
            item[1]()

    def _reap(self) -> None:
        """Wait for every ended child, and for orphans of runtimes that were reparented to this
        subreaper."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            ended = self._ends.pop(pid, None)
            if ended is not None:
                ended(status)

    def fork(
        self, body: Callable[[socket.socket], None], packet: Packet, ended: Callable[[int], None]
    ) -> Child:
        """Run `body` in a child with its end of a socket. All packets are delivered before `ended`
        is called."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        pid = os.fork()
        if pid == 0:
            _be_child(body, theirs)
        theirs.close()
        ours.setblocking(False)

        def read() -> None:
            try:
                for _ in range(MAX_PACKETS):
                    if not _deliver(ours, packet):
                        break
                else:
                    return
            except BlockingIOError:
                return
            except ConnectionError:
                pass  # it ended without having read all its input
            self.unwatch(ours.fileno())

        def finish(status: int) -> None:
            read()
            self.unwatch(ours.fileno())
            ours.close()
            ended(status)

        self.watch(ours.fileno(), read)
        self._ends[pid] = finish
        return Child(pid, os.pidfd_open(pid), ours)


def _drain(sock: socket.socket) -> None:
    with contextlib.suppress(BlockingIOError):
        while sock.recv(4096):
            pass


def _deliver(sock: socket.socket, packet: Packet) -> bool:
    """Deliver one packet. Returns False at the end of the stream, without a callback: `ended`
    follows anyway."""
    data, fds, _flags, _peer = socket.recv_fds(sock, MAX_PACKET_BYTES, MAX_PACKET_FDS)
    for fd in fds:
        os.set_inheritable(fd, False)
    if not data:
        return False
    packet(data, list(fds))
    return True


def _be_child(body: Callable[[socket.socket], None], channel: socket.socket) -> NoReturn:
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, *TERMINATIONS):
            signal.signal(number, signal.SIG_DFL)
        body(channel)
        code = 0
    except Exception:  # noqa: BLE001  the root of this process: say why, then end
        traceback.print_exc()
    finally:
        os._exit(code)


def detach(keep: set[int]) -> None:
    """Start a session of its own in a child, and close every descriptor of the zygote's but
    `keep`."""
    os.setsid()
    kernel.close_others({0, 1, 2, *keep})
    os.chdir("/")
    os.umask(0o022)


def describe_end(status: int) -> str:
    """Return how a process ended, as the rest of a sentence."""
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return f"exited with status {code}"
