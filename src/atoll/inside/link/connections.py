"""Connections of near ends, or of strangers: their handshake, and the bytes of the proven one."""

import os
import select
import socket
import struct
import tty
from collections.abc import Iterator
from contextlib import suppress
from enum import Enum
from functools import partial
from pathlib import Path

from atoll.inside.link.near import NearEnd
from atoll.inside.link.polling import NEVER, Watch
from atoll.wire.link.frames import Garbled
from atoll.wire.link.handshake import (
    ANSWER_BYTES,
    HELLO_BYTES,
    HELLO_MAGIC,
    NONCE_BYTES,
    Challenge,
    Hello,
    Unproven,
    decode_answer,
    decode_hello,
    encode_challenge,
)
from atoll.wire.link.stream import Broken

MAX_UNPROVEN = 4
UNPROVEN_SECONDS = 10.0
SILENT_SECONDS = 60.0
"""A near end sends something every 30 s; one that does not is gone, whatever its stream says."""
REOPEN_SECONDS = 0.2
READ_BYTES = 64 * 1024


class Phase(Enum):
    """The states of a connection."""

    HELLO = 1
    ANSWER = 2
    PROVEN = 3
    CLOSED = 4


class Connection:
    """Byte stream to somebody, who may be the near end."""

    def __init__(self, fd: int, until: float) -> None:
        os.set_blocking(fd, False)
        self.fd = fd
        self.until = until
        self.phase = Phase.HELLO
        self.came = bytearray()
        self.out = bytearray()
        self.hello: Hello
        self.challenge: Challenge

    def close(self) -> None:
        """Close the descriptor."""
        if self.phase is not Phase.CLOSED:
            self.phase = Phase.CLOSED
            os.close(self.fd)

    def skip_noise(self) -> None:
        """Drop what comes before a hello."""
        at = self.came.find(HELLO_MAGIC)
        keep = len(self.came) - at if at >= 0 else len(HELLO_MAGIC) - 1
        del self.came[: max(0, len(self.came) - keep)]


class Connections:
    """All connections: at most one is proven."""

    def __init__(self, near: NearEnd, key: bytes | bytearray, now: float) -> None:
        self._near, self._key = near, key
        self._life = int.from_bytes(os.urandom(8), "little")
        self._all: list[Connection] = []
        self._proven: Connection | None = None
        self._listener: socket.socket | None = None
        self._device: Path | None = None
        self._reopen_at = NEVER
        self.now = now
        self.lost_at: float | None = now

    def listen(self, listener: socket.socket) -> None:
        """Serve the connections of a listening socket."""
        listener.setblocking(False)
        self._listener = listener

    def use_device(self, device: Path) -> None:
        """Serve a character device, again and again."""
        self._device = device
        self._reopen_at = 0.0

    def watched(self) -> Iterator[Watch]:
        """Yield what to poll."""
        unproven = sum(one is not self._proven for one in self._all)
        if self._listener and unproven < MAX_UNPROVEN:
            yield self._listener.fileno(), select.POLLIN, self._accept
        for one in self._all:
            if one is self._proven and not one.out:
                one.out += self._near.stream.drain()
            events = select.POLLIN | (select.POLLOUT if one.out else 0)
            yield one.fd, events, partial(self._ready, one)

    def due(self) -> float:
        """Return when `act` is to be called."""
        return min((self._reopen_at, *(one.until for one in self._all)))

    def act(self, now: float) -> None:
        """Close what is late, and open the device again."""
        self.now = now
        for one in list(self._all):
            if now >= one.until:
                self._close(one)
        if now >= self._reopen_at:
            self._reopen_at = NEVER
            self._open_device()

    def close(self) -> None:
        """Close all connections."""
        for one in list(self._all):
            self._close(one)

    def _accept(self, _: int) -> None:
        assert self._listener  # noqa: S101 - for mypy: only then it is watched
        try:
            accepted, _address = self._listener.accept()
        except OSError:
            return
        credentials = accepted.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        uid = struct.unpack("3i", credentials)[1]
        if uid not in (0, os.geteuid()):
            accepted.close()
            return
        self._all.append(Connection(accepted.detach(), self.now + UNPROVEN_SECONDS))

    def _open_device(self) -> None:
        assert self._device  # noqa: S101 - for mypy: only then there is a time to open it
        try:
            fd = os.open(self._device, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            self._reopen_at = self.now + REOPEN_SECONDS
            return
        if os.isatty(fd):
            tty.setraw(fd)
        self._all.append(Connection(fd, NEVER))

    def _ready(self, one: Connection, seen: int) -> None:
        if one.phase is Phase.CLOSED:
            return
        try:
            if seen & select.POLLOUT:
                self._write(one)
            if seen & ~select.POLLOUT:
                self._read(one)
        except BlockingIOError:
            return
        except (OSError, Unproven, Broken):
            self._close(one)
        except Garbled:
            self._near.forget()
            self._close(one)

    def _write(self, one: Connection) -> None:
        with suppress(BlockingIOError):
            del one.out[: os.write(one.fd, one.out)]

    def _read(self, one: Connection) -> None:
        data = os.read(one.fd, READ_BYTES)
        if not data:
            self._close(one)
            return
        if one.phase is Phase.HELLO:
            one.came += data
            one.skip_noise()
            if len(one.came) >= HELLO_BYTES:
                self._challenge(one)
            data = b""
        if one.phase is Phase.ANSWER:
            one.came += data
            if len(one.came) >= ANSWER_BYTES:
                data = self._prove(one)
        if one.phase is Phase.PROVEN:
            one.until = self.now + SILENT_SECONDS
            self._near.feed(data, self.now)

    def _challenge(self, one: Connection) -> None:
        one.hello = decode_hello(bytes(one.came[:HELLO_BYTES]))
        del one.came[:HELLO_BYTES]
        continuation = self._near.continuation(one.hello.incarnation)
        received = self._near.received(continuation)
        nonce = os.urandom(NONCE_BYTES)
        one.challenge = Challenge(one.hello.nonce, continuation, self._life, nonce, received)
        one.out += encode_challenge(self._key, one.hello, one.challenge)
        one.phase = Phase.ANSWER
        one.until = self.now + UNPROVEN_SECONDS
        self._write(one)

    def _prove(self, one: Connection) -> bytes:
        """Return what followed the proof. Raises `Unproven`, `Broken`."""
        answer = bytes(one.came[:ANSWER_BYTES])
        received = decode_answer(self._key, one.hello, one.challenge, answer)
        continuation = self._near.continuation(one.hello.incarnation)
        if self._proven is not None:
            self._close(self._proven)
        here = self._near.received(continuation)
        if (continuation, here) != (one.challenge.continuation, one.challenge.received):
            raise Broken("the stream went on meanwhile on the connection before")
        self._near.accept(one.hello.incarnation, continuation, received)
        one.phase = Phase.PROVEN
        self._proven, self.lost_at = one, None
        data = bytes(one.came[ANSWER_BYTES:])
        one.came.clear()
        return data

    def _close(self, one: Connection) -> None:
        one.close()
        if one in self._all:
            self._all.remove(one)
        if one is self._proven:
            self._proven = None
            self.lost_at = self.now
            self._near.stream.cut()
        if self._device:
            self._reopen_at = self.now + REOPEN_SECONDS
