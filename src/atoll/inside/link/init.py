"""The init beside this program: its start, its packets, and its end.

`wire/init.py` describes the packets; only their heads are read here.
"""

import array
import errno
import os
import select
import signal
import socket
import struct
import time
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

EXEC = 1
READY, STARTED, FAILED, EXITED, FDS = 64, 65, 66, 67, 68
OTHER, DOOR = 3, 4
VERSION = 1

CONTROL_FD = 3
READY_SECONDS = 20.0
KILL_SECONDS = 10.0
MAX_PACKET_BYTES = 64 * 1024
MAX_FDS = 32
MAX_WAITING = 256
MAX_SAID_BYTES = 4096

_HEAD = struct.Struct("<IIii")


@dataclass(frozen=True, slots=True)
class Reply:
    """The head of a packet to or from init."""

    op: int
    tag: int
    a: int
    b: int

    def encode(self) -> bytes:
        """Return a packet without a payload."""
        return _HEAD.pack(self.op, self.tag, self.a, self.b)


def read_reply(packet: bytes) -> Reply | None:
    """Return a packet's head, or None when it is too short."""
    return Reply(*_HEAD.unpack_from(packet)) if len(packet) >= _HEAD.size else None


class InitFailed(Exception):
    """An init that did not come up; its text is the reason."""


class InitProcess:
    """The command that is, or becomes, the sandbox's init."""

    def __init__(self, command: list[str]) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        said, say = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            _become(command, theirs.fileno(), say)
        theirs.close()
        os.close(say)
        os.set_blocking(said, False)
        self._said = said
        self._control = ours
        self._waiting: deque[tuple[bytes, list[int]]] = deque()
        self._status: int | None = None
        self._kill_at = float("inf")
        self.closed = False

    def ready(self) -> tuple[bytes, list[int]]:
        """Wait for READY; return it with the listeners. Raises `InitFailed`."""
        if not select.select([self._control], [], [], READY_SECONDS)[0]:
            raise InitFailed(f"init did not say READY within {READY_SECONDS:g} s")
        packet, fds = self.receive()
        reply = read_reply(packet)
        if reply is None:
            raise InitFailed(f"init ended before it said READY: {self._last_words()}")
        if reply.op == FAILED:
            what = "bind its doors" if reply.b == DOOR else "begin"
            raise InitFailed(f"init could not {what}: {os.strerror(reply.a)}")
        if reply.op != READY or reply.b != VERSION:
            raise InitFailed("init speaks another version of its protocol")
        self._control.setblocking(False)
        return packet, fds

    def fileno(self) -> int:
        """Return the descriptor of the control socket, to be polled."""
        return self._control.fileno()

    @property
    def congested(self) -> bool:
        """True when packets wait for the socket."""
        return bool(self._waiting)

    def send(self, packet: bytes, fds: list[int]) -> bool:
        """Send a packet with descriptors, which it closes. False when init is stuck."""
        taken = not self.closed and len(self._waiting) < MAX_WAITING
        if taken:
            self._waiting.append((packet, fds))
            self.flush()
        else:
            _close_all(fds)
        return taken

    def flush(self) -> None:
        """Send what waits, as much as is taken."""
        while self._waiting:
            packet, fds = self._waiting[0]
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
            try:
                self._control.sendmsg([packet], rights, socket.MSG_NOSIGNAL)
            except BlockingIOError:
                return
            except OSError:
                pass  # it is gone, as reading from it will show
            _close_all(fds)
            self._waiting.popleft()

    def receive(self) -> tuple[bytes, list[int]]:
        """Return a packet with its descriptors; an empty one is the end. Raises
        BlockingIOError."""
        fds = array.array("i")
        space = socket.CMSG_SPACE(MAX_FDS * fds.itemsize)
        try:
            packet, more, _, _ = self._control.recvmsg(
                MAX_PACKET_BYTES, space, socket.MSG_CMSG_CLOEXEC
            )
        except ConnectionError:
            return b"", []
        for level, kind, data in more:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
        return packet, list(fds)

    def close(self, now: float) -> None:
        """Close the socket, which ends every process inside. Idempotent."""
        if not self.closed:
            self.closed = True
            self._kill_at = now + KILL_SECONDS
            for _, fds in self._waiting:
                _close_all(fds)
            self._waiting.clear()
            self._control.close()

    def gone(self, now: float) -> bool:
        """Return whether the command has ended; kill it when it takes too long."""
        if self._status is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:
                pid, status = self.pid, 0
            if pid:
                self._status = status
            elif now >= self._kill_at:
                self._kill_at = float("inf")
                os.kill(self.pid, signal.SIGKILL)
        return self._status is not None

    def how(self) -> str:
        """Return how the command ended."""
        code = os.waitstatus_to_exitcode(self._status or 0)
        return f"exit code {code}" if code >= 0 else f"signal {-code}"

    def _last_words(self) -> str:
        self.close(time.monotonic())
        until = time.monotonic() + 2
        while not self.gone(time.monotonic()) and time.monotonic() < until:
            time.sleep(0.01)
        with suppress(OSError):
            lines = os.read(self._said, MAX_SAID_BYTES).decode("utf-8", "replace").split("\n")
            if said := [line for line in lines if line.strip()]:
                return said[-1]
        return self.how()


def failed(tag: int, number: int) -> bytes:
    """Return init's packet for a request that this program refuses."""
    return Reply(FAILED, tag, number, OTHER).encode()


def no_room(tag: int) -> bytes:
    """Return init's packet for a request beyond a limit."""
    return failed(tag, errno.EAGAIN)


def _become(command: list[str], control: int, say: int) -> NoReturn:
    try:
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 0)
        os.dup2(null, 1)
        os.dup2(say, 2)
        if control == CONTROL_FD:
            os.set_inheritable(control, True)
        else:
            os.dup2(control, CONTROL_FD)
        os.closerange(CONTROL_FD + 1, 65536)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        os.execvp(command[0], command)  # noqa: S606 - it is what this program is for
    except OSError as error:
        os.write(2, f"{command[0]}: {os.strerror(error.errno or 0)}\n".encode())
    finally:
        os._exit(127)


def _close_all(fds: Iterable[int]) -> None:
    for fd in fds:
        os.close(fd)
