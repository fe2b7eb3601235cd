"""Attempts to hold memory of the kernel that counts as nobody's: SUnreclaim of /proc/meminfo.

Each takes some hundred MiB at most, and holds them for two seconds. It is held off where the
kernel refuses, or where somebody ends the process that took them.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import platform
import resource
import select
import shutil
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from .attempts import Attempt, Facts

SECONDS_HELD, LOOK_SECONDS, MOST_MIB = 2.0, 0.05, 64
MANY_LOCKS, MANY_POLICIES, MANY_LISTS = 400_000, 300_000, 2_000
MANY_CONNECTIONS, MANY_TIMERS, MANY_DATAGRAMS, MANY_WAITING = 40_000, 400_000, 2_000, 100
MANY_COPIES, MANY_LISTENERS = 150_000, 40_000
BACKLOG, WAITED_FOR = 4096, 16_000
STAMPED, SENDS, MANY_NAMES, MANY_DIRECTORIES, SOME_MIB = 1_000, 400, 3_000, 60_000, 16
STAMPING, STAMPS, ALONE = 37, 0x302, 0x800
"""SO_TIMESTAMPING; the stamps of what was sent, scheduled and acknowledged; these without data."""

OFD_SETLK, SHARED_FILES, CLOSE_RANGE, OWN_TABLE = 37, 0x400, 436, 2
INTEL = platform.machine() == "x86_64"
CLONE, MBIND, GETDENTS = (56, 237, 217) if INTEL else (220, 235, 61)
INTERLEAVED = 3
MEMORY = Path("/dev/shm/atoll-redteam")  # noqa: S108  a place inside
_libc = ctypes.CDLL(None, use_errno=True)

Taker = Callable[[], None]


def _slab_mib() -> int:
    line = Path("/proc/meminfo").read_text().partition("SUnreclaim:")[2]
    return int(line.split()[0]) >> 10


def _check(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def _attempt(take: Taker, allowed_mib: int = MOST_MIB) -> str:
    """Take in a process of its own, and look whether it is still there after a while."""
    before = most = _slab_mib()
    read, write = os.pipe()
    taker = os.fork()
    if taker == 0:
        os.close(read)
        _take(take, write)
    os.close(write)
    until, ended = None, False
    try:
        while not ended and (until is None or time.monotonic() < until):
            if select.select([read], [], [], LOOK_SECONDS)[0] and os.read(read, 8) == b"all":
                until = time.monotonic() + SECONDS_HELD
            most = max(most, _slab_mib())
            ended = os.waitid(os.P_PID, taker, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        if ended:  # or refused
            return _growth(most - before) if most - before > allowed_mib else ""
        return f"it stays, {_growth(most - before)}"
    finally:
        os.close(read)
        for target in (os.killpg, os.kill):
            with suppress(OSError):
                target(taker, signal.SIGKILL)
        os.waitpid(taker, 0)


def _growth(mib: int) -> str:
    return f"{mib} MiB more of the kernel's"


def _take(take: Taker, write: int) -> None:
    """Run in the process that takes; it ends with the first of its own children."""
    os.setpgid(0, 0)
    with suppress(OSError):
        # Where memory ends, the one that took it dies, and not who looks on.
        Path("/proc/self/oom_score_adj").write_text("1000")
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        take()
        os.write(write, b"all")
        with suppress(ChildProcessError):
            os.waitpid(-1, 0)
            os._exit(0)
        signal.pause()
    except BaseException as error:  # noqa: BLE001  a child's root
        sys.stderr.write(f"{error!r}\n")
    os._exit(1)


@contextmanager
def _files() -> Iterator[list[int]]:
    """Yield many open files of one place in memory."""
    MEMORY.mkdir(exist_ok=True)
    opened = []
    most = min(4000, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 100)
    try:
        for number in range(most):
            path = MEMORY / str(number)
            opened.append(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            path.unlink()
        yield opened
    finally:
        MEMORY.rmdir()


def _lock_all(act: Callable[[int, int], None]) -> None:
    with _files() as files:
        for number in range(MANY_LOCKS):
            # Every other byte, or the kernel makes one lock of them.
            act(files[number % len(files)], number // len(files) * 2)


def locks(_facts: Facts) -> str:
    """Lock single bytes of files without number."""
    return _attempt(
        lambda: _lock_all(lambda fd, at: fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, at))
    )


def open_file_locks(_facts: Facts) -> str:
    """Lock bytes in the name of an open file, which no process is named for."""

    def lock(fd: int, at: int) -> None:
        fcntl.fcntl(fd, OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, at, 1, 0))

    return _attempt(lambda: _lock_all(lock))


def orphaned_locks(_facts: Facts) -> str:
    """Have locks taken by a process that shares the table of files, and ends."""

    def take() -> None:
        with _files() as files:
            child = _check(_libc.syscall(CLONE, SHARED_FILES | signal.SIGCHLD, 0, 0, 0, 0))
            if child == 0:
                for number in range(MANY_LOCKS):
                    where, at = files[number % len(files)], number // len(files) * 2
                    fcntl.lockf(where, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, at)
                os._exit(0)
            if os.waitpid(child, 0)[1]:
                raise OSError(errno.EINTR, "it was ended")

    return _attempt(take)


def policies(_facts: Facts) -> str:
    """Give every other page of a file in memory a policy; they stay with the file."""

    def take() -> None:
        fd = os.memfd_create("policies")
        node, step = ctypes.c_ulong(1), 20_000 * 4096
        for start in range(0, MANY_POLICIES * 8192, step):
            os.ftruncate(fd, start + step)
            pages = mmap.mmap(fd, step, offset=start)  # never unmapped here: its end does that
            begin = ctypes.addressof(ctypes.c_char.from_buffer(pages))
            for at in range(begin, begin + step, 8192):
                words = (ctypes.c_void_p(at), ctypes.c_ulong(4096), INTERLEAVED)
                _check(_libc.syscall(MBIND, *words, ctypes.byref(node), 64, 0))

    return _attempt(take)


def _access_list(named: int) -> bytes:
    """Return one with so many users by name, as setxattr takes it."""
    entries = struct.pack("<HHi", 2, 6, os.getuid()) * named
    ends = [struct.pack("<HHi", kind, 6, -1) for kind in (1, 4, 0x10, 0x20)]
    return struct.pack("<I", 2) + ends[0] + entries + b"".join(ends[1:])


def access_lists(_facts: Facts) -> str:
    """Keep files in memory with the longest access lists."""

    def take() -> None:
        with _files() as files:
            for number in range(MANY_LISTS):
                os.setxattr(files[number], "system.posix_acl_access", _access_list(8180))

    return _attempt(take)


def copied_access_lists(_facts: Facts) -> str:
    """Make folders without number in one whose access list each of them gets a copy of."""

    def take() -> None:
        MEMORY.mkdir(exist_ok=True)
        os.setxattr(MEMORY, "system.posix_acl_default", _access_list(59))
        for number in range(MANY_COPIES):
            (MEMORY / str(number)).mkdir()

    try:
        return _attempt(take)
    finally:
        shutil.rmtree(MEMORY, ignore_errors=True)


def connections(_facts: Facts) -> str:
    """Connect to listeners that accept nothing, and close at once."""

    def take() -> None:
        each_listener = BACKLOG - 96
        for _ in range(MANY_CONNECTIONS // each_listener):
            listener = socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
            address = listener.getsockname()
            listener.detach()
            for _ in range(each_listener):
                with socket.socket() as client:
                    client.setblocking(False)
                    client.connect_ex(address)

    return _attempt(take)


def unix_connections(_facts: Facts) -> str:
    """Connect to unix sockets that accept nothing, and close at once."""

    def take() -> None:
        each_listener = BACKLOG - 96
        for _ in range(2 * MANY_CONNECTIONS // each_listener):
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(b"")  # the kernel finds a name
            listener.listen(BACKLOG)
            address = listener.getsockname()
            listener.detach()
            for _ in range(each_listener):
                with socket.socket(socket.AF_UNIX) as client:
                    client.setblocking(False)
                    client.connect_ex(address)

    return _attempt(take, 2 * MOST_MIB)  # three quarters of each are two sockets, and counted


def listeners(_facts: Facts) -> str:
    """Listen on ports without number, each of which may be shared."""

    def take() -> None:
        most = min(16_000, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 100)
        for number in range(MANY_LISTENERS):
            if number % most == 0 and number and os.fork():
                os.wait()
                raise OSError(errno.EINTR, "one of them was ended")
            listener = socket.socket()
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            listener.bind((f"127.0.2.{number // 60_000}", 2000 + number % 60_000))
            listener.listen(1)
            listener.detach()

    return _attempt(take, 2 * MOST_MIB)  # two thirds of each are a socket and a file, and counted


def timers(_facts: Facts) -> str:
    """Open timers in as many processes as it takes."""

    def take() -> None:
        most = min(16_000, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 100)
        several = -(-MANY_TIMERS // most)
        read, write = os.pipe()
        for _ in range(several):
            if os.fork() == 0:
                for _ in range(most):
                    _check(_libc.timerfd_create(1, 0))
                os.write(write, b"x")
                signal.pause()
        while several:
            if os.waitpid(-1, os.WNOHANG)[0]:
                raise OSError(errno.EINTR, "one of them was ended")
            if select.select([read], [], [], LOOK_SECONDS)[0]:
                several -= len(os.read(read, several))

    return _attempt(take)


def hidden_files(_facts: Facts) -> str:
    """Open files in threads that have tables of their own, which no process shows."""

    def take() -> None:
        failed: list[BaseException] = []
        most = min(16_000, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 100)

        def hold() -> None:
            try:
                words = (ctypes.c_uint(60_000), ctypes.c_uint(60_000), ctypes.c_uint(OWN_TABLE))
                _check(_libc.syscall(CLOSE_RANGE, *words))
                for _ in range(most):
                    os.open("/dev/null", os.O_RDONLY)
                threading.Event().wait()
            except OSError as error:
                failed.append(error)

        for _ in range(-(-MANY_TIMERS // most)):
            threading.Thread(target=hold, daemon=True).start()
        until = time.monotonic() + 4 * SECONDS_HELD
        while time.monotonic() < until and not failed:
            time.sleep(LOOK_SECONDS)
        if failed:
            raise failed[0]

    return _attempt(take)


def datagrams(_facts: Facts) -> str:
    """Hold datagrams back, to send more with them."""

    def take() -> None:
        for _ in range(MANY_DATAGRAMS):
            sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            sender.sendto(bytes(65_000), socket.MSG_MORE, ("127.0.0.1", 9))
            sender.detach()

    return _attempt(take)


def _send_to_itself(
    prepare: Callable[[socket.socket], None], asked: Sequence[tuple[int, int, bytes]] = ()
) -> None:
    """Send by many connections, and leave what the kernel says of each send."""
    before = _slab_mib()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        for _ in range(STAMPED):
            sender = socket.create_connection(listener.getsockname())
            other, _address = listener.accept()
            sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            prepare(sender)
            for _ in range(SENDS):
                with suppress(BlockingIOError):
                    sender.sendmsg([b"x"], asked)
                    other.recv(4096)
            sender.detach()
            other.detach()
    if _slab_mib() < before + SOME_MIB:
        raise OSError(errno.ENOSYS, "nothing was left")


def stamps(_facts: Facts) -> str:
    """Ask for time stamps of all that is sent, and read none."""
    return _attempt(
        lambda: _send_to_itself(
            lambda connection: connection.setsockopt(socket.SOL_SOCKET, STAMPING, STAMPS | ALONE)
        )
    )


def stamps_of_sends(_facts: Facts) -> str:
    """Ask for a time stamp with each send, and read none: copies of what was sent come with it."""
    asked = [(socket.SOL_SOCKET, STAMPING, struct.pack("I", STAMPS))]
    return _attempt(lambda: _send_to_itself(lambda _one: None, asked))


def directories(_facts: Facts) -> str:
    """Open directories without number, and read a part of each: the rest of a block is kept."""

    def take() -> None:
        place = Path("atoll-redteam-names")
        place.mkdir()
        try:
            first = place / "0"
            first.touch()
            for number in range(1, MANY_NAMES):
                (place / f"{number:x}").hardlink_to(first)
            most = min(16_000, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 100)
            for number in range(MANY_DIRECTORIES):
                if number % most == 0 and number and os.fork():
                    os.wait()
                    raise OSError(errno.EINTR, "one of them was ended")
                _check(_libc.syscall(GETDENTS, os.open(place, os.O_RDONLY), part, 64))
        finally:
            shutil.rmtree(place, ignore_errors=True)

    part = ctypes.create_string_buffer(64)
    return _attempt(take)


def repeated_waits(_facts: Facts) -> str:
    """Wait for one descriptor thousands of times in one call, in many processes."""

    def take() -> None:
        read, _write = os.pipe()
        wanted = struct.pack("ihh", read, select.POLLIN, 0) * WAITED_FOR
        for _ in range(MANY_WAITING):
            if os.fork() == 0:
                _libc.poll(ctypes.c_char_p(wanted), WAITED_FOR, -1)
                os._exit(1)
        time.sleep(SECONDS_HELD / 4)

    return _attempt(take)


def turns_of_init(_facts: Facts) -> str:
    """Set files, turn and processors of process 1, to what they are."""

    def set_files() -> None:
        resource.prlimit(1, resource.RLIMIT_NOFILE, resource.prlimit(1, resource.RLIMIT_NOFILE))

    def set_policy() -> None:
        os.sched_setscheduler(1, os.sched_getscheduler(1), os.sched_getparam(1))

    def set_priority() -> None:
        os.setpriority(os.PRIO_PROCESS, 1, os.getpriority(os.PRIO_PROCESS, 1))

    def set_processors() -> None:
        os.sched_setaffinity(1, os.sched_getaffinity(1))

    worked = []
    for act in (set_files, set_policy, set_priority, set_processors):
        with suppress(OSError):
            act()
            worked.append(act.__name__)
    return ", ".join(worked)


ATTEMPTS = [
    Attempt("57", "hold locks without number", locks),
    Attempt("57", "hold locks of open files", open_file_locks),
    Attempt("57", "hold locks whose process is gone", orphaned_locks),
    Attempt("57", "hold policies of memory", policies),
    Attempt("57", "hold long access lists in memory", access_lists),
    Attempt("57", "hold copies of access lists in memory", copied_access_lists),
    Attempt("57", "hold connections nobody accepts", connections),
    Attempt("57", "hold connections of unix sockets nobody accepts", unix_connections),
    Attempt("57", "hold listeners without number", listeners),
    Attempt("57", "hold timers without number", timers),
    Attempt("57", "hold files in tables of threads", hidden_files),
    Attempt("57", "hold datagrams back", datagrams),
    Attempt("57", "hold time stamps nobody reads", stamps),
    Attempt("57", "hold copies of what was sent", stamps_of_sends),
    Attempt("57", "hold directories that were read in part", directories),
    Attempt("57", "wait for one descriptor many times", repeated_waits),
    Attempt("57", "take files or turns from process 1", turns_of_init),
]
