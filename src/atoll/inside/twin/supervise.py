"""Bounds on kernel memory that no control group counts: AF_NETLINK and datagram sockets, timers,
events and polls, filters.

The twin of native/init/supervise.c, which explains more. A filter hands the calls to a thread of
init that does not have that filter. Without an answer (an old kernel, or somebody outside who
listens already) those of sockets and filters fail with ENOSYS; datagram sockets, timers, events and
polls are not counted.
"""

import ctypes
import errno
import fcntl
import os
import re
import select
import socket
import struct
import threading
from contextlib import suppress
from pathlib import Path

from .kernel import checked, libc
from .slab import count_objects

SECCOMP, SOCKET, SETSOCKOPT, PRCTL = (
    (317, 41, 54, 157) if os.uname().machine == "x86_64" else (277, 198, 208, 167)
)
TIMER, EVENT, POLL = (283, 290, 291) if os.uname().machine == "x86_64" else (85, 19, 20)
OLD_EVENT, OLD_POLL = (284, 213) if os.uname().machine == "x86_64" else (EVENT, POLL)
FLAGS = {TIMER: 1, EVENT: 1, POLL: 0}
"""The argument that has the flags of a call that makes an object."""

OBJECTS = (TIMER, EVENT, POLL, OLD_EVENT, OLD_POLL)
RECEIVE_CALL, ANSWER_CALL, ADD_DESCRIPTOR = 0xC0502100, 0xC0182101, 0x40182103
SET_MODE_FILTER, NEW_LISTENER, CONTINUE, ADD_AND_ANSWER, NO_NEW_PRIVILEGES = 1, 8, 1, 2, 38
CALL, ANSWER = struct.Struct("<QIIiIQ6Q"), struct.Struct("<QqiI")
ADDED = struct.Struct("<QIIII")
RECEIVE_BYTES = 106496
LOAD, EQUAL, AND, RETURN = 0x20, 0x15, 0x54, 0x06
NETLINK = 16
ALLOW, ASK_US, PRETEND = 0x7FFF0000, 0x7FC00000, 0x00050000
_FILTERS = re.compile(rb"\nSeccomp_filters:\s*(\d+)")


def _program(sockets: int, *, heard: bool) -> bytes:
    """Return the filter, as in the C one.

    It covers socket by family and type, timers, events and polls, prctl and seccomp where they
    install a filter, and SO_RCVBUF, which succeeds without effect. Where nobody is `heard`,
    datagram sockets, timers, events and polls pass.
    """
    first, second, third = 16, 24, 32
    lines = (
        *((LOAD, 0, 0, 0), (EQUAL, 9, 0, SOCKET), (EQUAL, 15, 0, PRCTL), (EQUAL, 18, 0, SECCOMP)),
        (EQUAL, 19, 0, SETSOCKOPT),
        *((EQUAL, 25 - at, 0, number) for at, number in enumerate(OBJECTS)),
        (RETURN, 0, 0, ALLOW),
        *((LOAD, 0, 0, first), (EQUAL, 16, 0, NETLINK)),
        *((EQUAL, 1, 0, socket.AF_INET), (EQUAL, 0, 13, socket.AF_INET6)),
        *((LOAD, 0, 0, second), (AND, 0, 0, 15), (EQUAL, 12, 10, socket.SOCK_DGRAM)),
        *((LOAD, 0, 0, first), (EQUAL, 0, 8, 22), (LOAD, 0, 0, second), (EQUAL, 7, 6, 2)),
        *((LOAD, 0, 0, first), (EQUAL, 5, 4, SET_MODE_FILTER)),
        *((LOAD, 0, 0, second), (EQUAL, 0, 2, 1), (LOAD, 0, 0, third), (EQUAL, 4, 0, 8)),
        *((RETURN, 0, 0, ALLOW), (RETURN, 0, 0, ASK_US)),
        *((RETURN, 0, 0, ASK_US if heard else ALLOW) for _ in ("datagram", "object")),
        (RETURN, 0, 0, PRETEND if sockets else ALLOW),
    )
    return b"".join(struct.pack("<HBBI", *line) for line in lines)


def _install(sockets: int, flags: int) -> int:
    code = ctypes.create_string_buffer(_program(sockets, heard=flags == NEW_LISTENER))
    whole = struct.pack("<HxxxxxxQ", (len(code) - 1) // 8, ctypes.addressof(code))
    return checked(libc.syscall(SECCOMP, SET_MODE_FILTER, flags, ctypes.c_char_p(whole)))


def filters_of(status: str) -> int:
    """Return the filters of a task; 0 when it is gone. Raises OSError where that cannot be read."""
    try:
        with open(status, "rb", buffering=0) as file:  # noqa: PTH123  no reader's buffer
            found = _FILTERS.search(file.read(4096))
    except (FileNotFoundError, ProcessLookupError):
        return 0
    if found is None:
        raise OSError(errno.ENOSYS, "this kernel does not say")
    return int(found[1])


class LiveSockets:
    """The sockets of one kind that are alive, in a queue or a process."""

    def __init__(self, most: int) -> None:
        self.most = most
        # The epoll set drops a socket when its last holder closes it, and lists those it knows.
        self.watched = select.epoll()
        self.listing = os.open(f"/proc/self/fdinfo/{self.watched.fileno()}", os.O_RDONLY)

    def make(self, family: int, kind: int, protocol: int) -> socket.socket:
        """Return a new socket. Raises OSError when too many live."""
        os.lseek(self.listing, 0, os.SEEK_SET)
        listed = b"".join(iter(lambda: os.read(self.listing, 65536), b""))
        if sum(line.startswith(b"tfd") for line in listed.splitlines()) >= self.most:
            raise OSError(errno.ENOBUFS if self.most else errno.EPERM, "sockets")
        made = socket.socket(family, kind | socket.SOCK_CLOEXEC, protocol)
        if family == NETLINK:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)
        self.watched.register(made.fileno(), 0)
        return made


class Supervision:
    """The counts of live sockets and filters. `begin` applies them to every process started from
    then on."""

    def __init__(self, sockets: int, datagrams: int, objects: int, filters: int) -> None:
        self.route, self.datagram = LiveSockets(sockets), LiveSockets(datagrams)
        self.most_objects, self.objects = objects, 0
        self.most_filters = filters
        self.own_filters = self.filters = 0
        self.pending: dict[int, int] = {}
        self.listener = -1
        self.ready = threading.Event()

    def begin(self) -> None:
        """Start the thread, then install the filter, which the thread does not get."""
        threading.Thread(target=self.answer_calls, daemon=True).start()
        libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        try:
            self.listener = _install(self.route.most, NEW_LISTENER)
        except OSError:
            _install(self.route.most, 0)
        self.own_filters = filters_of("/proc/thread-self/status")
        self.ready.set()

    def answer_calls(self) -> None:
        """Answer one call after another; the body of the thread."""
        self.ready.wait()
        while self.listener >= 0:
            call = bytearray(CALL.size)
            try:
                fcntl.ioctl(self.listener, RECEIVE_CALL, call)
            except OSError as error:
                if error.errno in (errno.EINTR, errno.ENOENT):
                    continue
                os.close(self.listener)  # otherwise the caller would wait for ever
                return
            self.answer(call)

    def answer(self, call: bytearray) -> None:
        """Give a socket or an object, allow a filter, or return the error."""
        number, task, _flags, name, _machine, _from, *arguments = CALL.unpack(call)
        try:
            if name == SOCKET:
                self.give_socket(number, *arguments[:3])
                return
            if name in OBJECTS:
                self.give_object(number, name, arguments[:2])
                return
            self.let_filter(task)
            answer = ANSWER.pack(number, 0, 0, CONTINUE)
        except OSError as error:
            answer = ANSWER.pack(number, 0, -(error.errno or errno.EIO), 0)
        with suppress(OSError):  # the caller may be gone
            fcntl.ioctl(self.listener, ANSWER_CALL, answer)

    def give_socket(self, number: int, family: int, kind: int, protocol: int) -> None:
        """Give a socket. Raises OSError when too many live."""
        family, kind = family & 0xFFFFFFFF, kind & 0xFFFFFFFF
        live = self.route if family == NETLINK else self.datagram
        with live.make(family, kind, protocol & 0xFFFFFFFF) as made:
            self.hand_over(number, made.fileno(), kind)

    def give_object(self, number: int, name: int, arguments: list[int]) -> None:
        """Give a timer, event or poll, by the same call. Raises OSError when too many live."""
        if self.objects >= self.most_objects:
            self.objects = count_objects()
        if self.objects >= self.most_objects:
            raise OSError(errno.ENFILE, "objects")
        self.objects += 1
        made = checked(libc.syscall(name, *map(ctypes.c_ulong, arguments)))
        try:
            self.hand_over(number, made, arguments[FLAGS[name]] if name in FLAGS else 0)
        finally:
            os.close(made)

    def hand_over(self, number: int, made: int, flags: int) -> None:
        """Answer a call by a descriptor of ours. Raises OSError where the caller has no room."""
        added = ADDED.pack(number, ADD_AND_ANSWER, made, 0, flags & os.O_CLOEXEC)
        fcntl.ioctl(self.listener, ADD_DESCRIPTOR, added)

    def let_filter(self, task: int) -> None:
        """Allow a filter. Raises OSError when too many live."""
        has = filters_of(f"/proc/{task}/status")
        if self.filters >= self.most_filters // 4:
            self.count_filters()
        if self.filters >= self.most_filters:
            raise OSError(errno.ENOMEM, "filters")
        self.pending[task] = has
        self.filters += 1

    def count_filters(self) -> None:
        """Lower the count to what may live: one that several tasks share counts for each.

        It counts twice, since a process that forks may be ahead of one count, but hardly of two.
        """
        self.pending = {
            task: had
            for task, had in self.pending.items()
            if filters_of(f"/proc/{task}/status") == had
        }
        most = max(self.installed(), self.installed())
        self.filters = min(self.filters, most + len(self.pending))

    def installed(self) -> int:
        """Return the filters of all tasks inside beyond those that everybody has."""
        beyond = 0
        for process in Path("/proc").iterdir():
            if not process.name.isdigit() or process.name == "1":
                continue
            with suppress(FileNotFoundError, ProcessLookupError):
                for task in (process / "task").iterdir():
                    beyond += max(0, filters_of(f"{task}/status") - self.own_filters)
        return beyond
