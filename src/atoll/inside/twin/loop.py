"""Init's loop: requests from the control socket, ends of children, and the shutdown."""

import errno
import fcntl
import mmap
import os
import resource
import select
import signal
import socket
import struct
import termios
from contextlib import suppress
from typing import NoReturn

from .kernel import (
    DONE,
    DOOR,
    ENDED,
    EXEC,
    EXITED,
    FAILED,
    FDS,
    HEADER,
    IUTF8,
    KIN,
    LEFT,
    MAX_FDS,
    MAX_PACKET,
    MAX_SLOTS,
    OPEN,
    OTHER,
    PTY,
    READY,
    SET_DUMPABLE,
    SET_SUBREAPER,
    SIGNAL,
    TIOCGPTPEER,
    TIOCSPTLCK,
    VERSION,
    open_beneath,
    prctl,
)
from .kin import descendants, describe, foreground_group, kill_kin, signal_kin
from .lead import settle
from .slab import watch_slab
from .supervise import Supervision
from .warden import Warden

NOBODY = 69
"""The exit code EX_UNAVAILABLE of sysexits.h."""
MAX_LISTED = 200


class Init:
    """The event loop of the twin, with its wardens (tag and slot by pid) and its leaders in shared
    memory."""

    def __init__(self, control: socket.socket, root: int, nproc: int, files: int) -> None:
        self.control, self.root, self.nproc, self.files = control, root, nproc, files
        self.control_fd = control.fileno()
        self.wardens: dict[int, tuple[int, int]] = {}
        self.leaders = memoryview(mmap.mmap(-1, 4 * MAX_SLOTS)).cast("i")
        self.strays = False

    def reply(self, op: int, tag: int, a: int = 0, b: int = 0, payload: bytes = b"") -> None:
        """Send one packet."""
        with suppress(OSError):
            self.control.send(HEADER.pack(op, tag, a, b) + payload, socket.MSG_NOSIGNAL)

    def reply_fds(self, head: bytes, fds: list[int]) -> None:
        """Send one packet with descriptors."""
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack(f"{len(fds)}i", *fds))]
        with suppress(OSError):
            self.control.sendmsg([head], rights if fds else [], socket.MSG_NOSIGNAL)

    def serve(self) -> NoReturn:
        """Answer requests until the other side is gone; then end everything inside."""
        wake, noise = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(noise, warn_on_full_buffer=False)
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        poll.register(wake, select.POLLIN)
        while True:
            self.reap()
            ready = {fd for fd, _ in poll.poll()}
            if wake in ready:
                os.read(wake, 4096)
            if self.control.fileno() in ready and not self.receive():
                break
        if os.getpid() == 1:
            with suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
        else:
            kill_kin(os.getpid())
        os._exit(0)

    def receive(self) -> bool:
        """Read and answer one packet; return False at the end."""
        try:
            packet, extra, cut, _ = self.control.recvmsg(
                MAX_PACKET, socket.CMSG_SPACE(4 * MAX_FDS), socket.MSG_CMSG_CLOEXEC
            )
        except OSError:
            return False
        fds = [fd for *_, data in extra for (fd,) in struct.iter_unpack("i", data)]
        if not packet and not fds:
            return False
        if len(packet) >= HEADER.size:
            op, tag, a, b = HEADER.unpack_from(packet)
            body = packet[HEADER.size :]
            try:
                if cut & (socket.MSG_TRUNC | socket.MSG_CTRUNC):
                    raise OSError(errno.EMSGSIZE, "cut")
                self.answer(op, tag, (a, b), (body, fds))
            except OSError as error:
                self.reply(FAILED, tag, error.errno or errno.EIO, OTHER)
        for fd in fds:
            os.close(fd)
        return True

    def answer(self, op: int, tag: int, ab: tuple[int, int], more: tuple[bytes, list[int]]) -> None:
        """Answer one request. Raises OSError for what becomes FAILED."""
        if op == EXEC:
            self.start_exec(tag, ab[0], *more)
        elif op == SIGNAL:
            self.signal(tag, *ab)
        elif op == PTY:
            self.open_pty(tag, *ab)
        elif op == LEFT:
            self.list_left(tag)
        elif op == OPEN:
            if not more[0].endswith(b"\0"):
                raise OSError(errno.EINVAL, "path")
            flags = ab[0] | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC
            fd = open_beneath(self.root, more[0][:-1], flags, ab[1])
            self.reply_fds(HEADER.pack(FDS, tag, 1, 0), [fd])
            os.close(fd)
        else:
            raise OSError(errno.ENOSYS, "request")

    def open_pty(self, tag: int, cols: int, rows: int) -> None:
        """Open a pair from the sandbox's own devpts."""
        ends = [os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)]
        try:
            fcntl.ioctl(ends[0], TIOCSPTLCK, struct.pack("i", 0))
            flags = os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC
            ends.append(fcntl.ioctl(ends[0], TIOCGPTPEER, flags))
            size = struct.pack("HHHH", rows & 0xFFFF, cols & 0xFFFF, 0, 0)
            fcntl.ioctl(ends[0], termios.TIOCSWINSZ, size)
            modes = termios.tcgetattr(ends[1])
            modes[0] |= IUTF8
            termios.tcsetattr(ends[1], termios.TCSANOW, modes)
            self.reply_fds(HEADER.pack(FDS, tag, 2, 0), ends)
        finally:
            for fd in ends:
                os.close(fd)

    def signal(self, tag: int, number: int, tree: int) -> None:
        """Signal a group or a tree; a helper process kills a tree."""
        found = [(pid, slot) for pid, (mine, slot) in self.wardens.items() if tag and mine == tag]
        if found and tree and number == signal.SIGKILL:
            self.kill_tree(tag, *found[0])
            return
        if found and tree:
            signal_kin(found[0][0], number)
        elif found and (leader := self.leaders[found[0][1]]) > 0:
            with suppress(OSError):
                os.killpg(foreground_group(leader) or leader, number)
        self.reply(DONE, tag)

    def fork_helper(self) -> int:
        """Fork for work that may take long; return -1 when the sandbox has no process left."""
        try:
            helper = os.fork()
        except OSError:
            return -1
        if helper > 0:
            self.wardens[helper] = (0, -1)
        return helper

    def kill_tree(self, tag: int, warden: int, slot: int) -> None:
        """Kill a tree in a helper process, or here when there can be none."""
        helper = self.fork_helper()
        if helper > 0:
            return
        self.reply(DONE, tag, kill_kin(warden, lambda: self.leaders[slot] != -1))
        if helper == 0:
            os._exit(0)

    def list_left(self, tag: int) -> None:
        """Report the processes whose program has ended; in a helper process, or here."""
        helper = self.fork_helper()
        if helper > 0:
            return
        ended = [
            (mine, pid)
            for warden, (mine, slot) in self.wardens.items()
            if mine and self.leaders[slot] == ENDED
            for pid in descendants(warden)
        ]
        found = [(mine, pid, text) for mine, pid in ended if (text := describe(pid))]
        listed = found[:MAX_LISTED]
        packed = (struct.pack("<Ii", mine, pid) + text + b"\0" for mine, pid, text in listed)
        self.reply(KIN, tag, len(listed), int(len(found) > MAX_LISTED), payload=b"".join(packed))
        if helper == 0:
            os._exit(0)

    def reap(self) -> None:
        """Look, forget, then reap: the kernel must not reuse a pid that is still known here."""
        while True:
            try:
                seen = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                break
            if seen is None:
                break
            tag, slot = self.wardens.pop(seen.si_pid, (0, -1))
            if slot >= 0:
                self.leaders[slot] = -1
            _, status = os.waitpid(seen.si_pid, 0)
            if tag and os.WIFSIGNALED(status):
                # A killed warden takes its command along; otherwise killing the warden would free
                # it.
                self.strays = True
                self.reply(EXITED, tag, status, payload=bytes(24))
        if self.strays:
            self.strays = signal_kin(os.getpid(), signal.SIGKILL, frozenset(self.wardens)) > 0

    def start_exec(self, tag: int, flags: int, body: bytes, fds: list[int]) -> None:
        """Fork the warden, which answers."""
        used = {slot for _, slot in self.wardens.values()}
        slot = next((each for each in range(MAX_SLOTS) if each not in used), -1)
        if slot < 0:
            raise OSError(errno.EAGAIN, "slots")
        self.leaders[slot] = 0
        parent = os.getpid()
        warden = os.fork()
        if warden:
            self.wardens[warden] = (tag, slot)
            return
        try:
            Warden(self, tag, slot).run(parent, flags, body, fds)
        except OSError as error:
            self.reply(FAILED, tag, error.errno or errno.EIO, OTHER)
        finally:
            os._exit(0)


def open_door(port: int) -> list[socket.socket]:
    """Open both loopbacks, without SO_REUSEADDR or SO_REUSEPORT."""
    doors = []
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        try:
            door = socket.socket(family, socket.SOCK_STREAM)
            if family == socket.AF_INET6:
                door.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            door.bind((host, port))
            door.listen(1024)
            doors.append(door)
        except OSError as error:
            missing = (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL)
            if family == socket.AF_INET or error.errno not in missing:
                raise
    return doors


def control_of(options: dict[str, list[str]]) -> int:
    """Return the control socket: inherited or, in a container, fetched. Ends where nobody
    listens."""
    if "--connect" not in options:
        return int(options["--control-fd"][0])
    control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        control.connect(options["--connect"][0])
    except OSError:
        os._exit(NOBODY)
    return control.detach()


def counted_of(options: dict[str, list[str]]) -> list[int]:
    """Return how many route sockets, datagram sockets, objects and filters there may be; empty
    where nobody counts them."""
    if "--netlink" not in options:
        return []
    names = ("--netlink", "--datagrams", "--objects", "--filters")
    return [int(options.get(name, ["0"])[0]) for name in names]


def be_init(options: dict[str, list[str]]) -> NoReturn:
    """Bind the doors, say READY, serve. A Python pid 1 must ignore INT before anything runs."""
    settle(signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    # 0-2 must be open, or a descriptor sent to us could land on one of them.
    null = os.open(os.devnull, os.O_RDWR)
    while null < 3:
        null = os.dup(null)
    control_fd = fcntl.fcntl(control_of(options), fcntl.F_DUPFD_CLOEXEC, 100)
    os.closerange(3, control_fd)
    os.closerange(control_fd + 1, 65536)
    # Opened before the next line, after which /proc/self is root's.
    supervision = Supervision(*counted) if (counted := counted_of(options)) else None
    prctl(SET_DUMPABLE, 0)
    prctl(SET_SUBREAPER, 1)
    os.umask(0)
    control = socket.socket(fileno=control_fd)
    nproc, files = (int(options.get(name, ["-1"])[0]) for name in ("--nproc", "--files"))
    step = OTHER
    if files > 0:
        # Commands of this uid may have that many descriptors in transit: those of init must still
        # pass.
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    try:
        if supervision:
            watch_slab()
            supervision.begin()
        root = os.open(options["--root"][0], os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        step = DOOR
        doors = [door for port in options.get("--door", ()) for door in open_door(int(port))]
    except OSError as error:
        with suppress(OSError):
            failed = HEADER.pack(FAILED, 0, error.errno or errno.EIO, step)
            control.send(failed, socket.MSG_NOSIGNAL)
        os._exit(1)
    init = Init(control, root, nproc, files)
    init.reply_fds(HEADER.pack(READY, 0, len(doors), VERSION), [each.fileno() for each in doors])
    for door in doors:
        door.close()
    init.serve()
