"""End of init's control line as packets: non-blocking, descriptors included.

This module knows sockets and the running loop. `spawners.init` knows what the packets mean, and
`spawners.link` is the line to an init of another machine.
"""

import array
import asyncio
import os
import socket
import stat
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Protocol

from atoll.ports.spawner import InsideFile, Pty
from atoll.runtime.spawners.file import DescriptorFile
from atoll.runtime.spawners.master import DescriptorPty
from atoll.wire.init import MAX_FDS, MAX_PACKET_BYTES

ANCILLARY_BYTES = socket.CMSG_SPACE(MAX_FDS * 4)
MAX_WAITING = 4096
"""Packets that may wait for a full socket; more means that init is stuck."""
ANYBODY = 0o666


def receive(control: socket.socket) -> tuple[bytes, list[int]] | None:
    """Return one packet and its descriptors (ours from now on), or None at the end.

    Raises BlockingIOError when there is none yet.
    """
    try:
        packet, ancillary, _, _ = control.recvmsg(
            MAX_PACKET_BYTES, ANCILLARY_BYTES, socket.MSG_CMSG_CLOEXEC
        )
    except (BlockingIOError, InterruptedError) as error:
        raise BlockingIOError from error
    except OSError:
        return None
    fds = array.array("i")
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
    return (packet, list(fds)) if packet or fds else None


def send(control: socket.socket, packet: bytes, fds: tuple[int, ...] = ()) -> None:
    """Send one packet with descriptors (which stay ours). Raises BlockingIOError, OSError."""
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    control.sendmsg([packet], rights, socket.MSG_NOSIGNAL)


class ControlLine(Protocol):
    """A way to one init. Descriptors that come with a packet are numbers of the line's own:
    `pty`, `file` or `drop` takes them."""

    def begin(
        self, on_packet: Callable[[bytes, list[int]], None], on_end: Callable[[], None]
    ) -> None:
        """Call `on_packet` for each packet from now on, and `on_end` once. Called once."""
        ...

    def send(self, packet: bytes, fds: tuple[int, ...] = ()) -> None:
        """Send a packet with descriptors of this process, which stay the caller's. Raises
        ConnectionError when the other side is gone or stuck."""
        ...

    def pty(self, ends: list[int]) -> Pty:
        """Return the terminal of two descriptors that came."""
        ...

    def file(self, end: int) -> InsideFile:
        """Return the file of a descriptor that came."""
        ...

    def drop(self, ends: Iterable[int]) -> None:
        """Close descriptors that came."""
        ...

    def finish(self) -> None:
        """Signal the end to the other side, which ends everything and closes its side."""
        ...

    def close(self) -> None:
        """Close our side. Idempotent."""
        ...

    def why_silent(self, seconds: float) -> str:
        """Return why nothing answered for so long, and what to do, in words for a person."""
        ...


class ControlSocket:
    """`ControlLine` over a socket to an init of this machine. Made inside the loop it then belongs
    to; owns the socket."""

    def __init__(self, control: socket.socket) -> None:
        self._socket = control
        self._on_packet: Callable[[bytes, list[int]], None]
        self._on_end: Callable[[], None]
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[bytes, tuple[int, ...]]] = deque()
        self._open = True
        control.setblocking(False)

    def begin(
        self, on_packet: Callable[[bytes, list[int]], None], on_end: Callable[[], None]
    ) -> None:
        """Call `on_packet` for each packet from now on, and `on_end` once."""
        self._on_packet = on_packet
        self._on_end = on_end
        self._loop.add_reader(self._socket.fileno(), self._receive_packet)

    @property
    def open(self) -> bool:
        """Report whether the other side is still open."""
        return self._open

    def send(self, packet: bytes, fds: tuple[int, ...] = ()) -> None:
        """Send at once, or when the socket has room again (with duplicates of the descriptors,
        so that the caller may close its own). Raises ConnectionError when the other side is gone
        or has not read for `MAX_WAITING` packets."""
        if not self._open or len(self._waiting) >= MAX_WAITING:
            raise ConnectionError("the control socket is closed or stuck")
        _let_reopen(fds)
        if not self._waiting and self._try_send(packet, fds):
            return
        self._waiting.append((packet, tuple(os.dup(fd) for fd in fds)))
        self._loop.add_writer(self._socket.fileno(), self._writable)

    def pty(self, ends: list[int]) -> DescriptorPty:
        """Return the terminal of two descriptors that came."""
        master, slave = ends
        return DescriptorPty(master, slave)

    def file(self, end: int) -> DescriptorFile:
        """Return the file of a descriptor that came."""
        return DescriptorFile(end)

    def drop(self, ends: Iterable[int]) -> None:
        """Close descriptors that came."""
        _close_all(ends)

    def finish(self) -> None:
        """Signal the end to the other side, which ends everything and closes its side."""
        if self._open:
            self._socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Close our side. Idempotent."""
        if self._socket.fileno() >= 0:
            self._loop.remove_reader(self._socket.fileno())
            self._loop.remove_writer(self._socket.fileno())
            self._socket.close()
        self._drop_waiting()
        self._report_end()

    def why_silent(self, seconds: float) -> str:
        """Return that init did not answer."""
        return (
            f"the sandbox's init did not answer within {seconds:g} s; try again, or stop and start "
            "the sandbox"
        )

    def _try_send(self, packet: bytes, fds: tuple[int, ...]) -> bool:
        """Send a packet. Returns false when the socket is full. Raises `ConnectionError`."""
        try:
            send(self._socket, packet, fds)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError as error:
            raise ConnectionError("the control socket is closed") from error
        return True

    def _writable(self) -> None:
        while self._waiting:
            try:
                if not self._try_send(*self._waiting[0]):
                    return
            except ConnectionError:
                # The reader sees the end, too, and reports it.
                self._drop_waiting()
                break
            _close_all(self._waiting.popleft()[1])
        self._loop.remove_writer(self._socket.fileno())

    def _drop_waiting(self) -> None:
        while self._waiting:
            _close_all(self._waiting.popleft()[1])

    def _receive_packet(self) -> None:
        """Receive a packet and pass it on, or close when the socket has ended."""
        try:
            arrival = receive(self._socket)
        except BlockingIOError:
            return
        if arrival is None:
            self.close()
        else:
            self._on_packet(*arrival)

    def _report_end(self) -> None:
        """Report once that the socket has ended."""
        if self._open:
            self._open = False
            self._on_end()


def _let_reopen(fds: tuple[int, ...]) -> None:
    """Let the programs inside, which have another uid, open these pipes again by name, as
    `/dev/stdout` and `/proc/self/fd/1` do. Only holders of a pipe have such a name for it."""
    for fd in fds:
        if stat.S_ISFIFO(os.fstat(fd).st_mode):
            with suppress(PermissionError):  # somebody else's, handed on
                os.fchmod(fd, ANYBODY)


def _close_all(fds: Iterable[int]) -> None:
    for fd in fds:
        os.close(fd)
