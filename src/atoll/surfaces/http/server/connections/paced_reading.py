"""Bytes of clients, given to their parsers in small pieces and in turn.

The loop reads up to 256 KiB of a connection at once. As requests of 27 bytes, or as frames of six,
these keep a parser busy for half a second, in which nobody is served. So only a piece of them is
parsed before others have their turn, and nothing more is read meanwhile.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import Final, Protocol

import structlog

PIECE_BYTES: Final = 2048
"""A piece of what may hold a request, or a frame, every few bytes."""

TURN_SECONDS: Final = 0.005
"""The time in a turn of the loop in which pieces are parsed, whoever sent them."""

_log = structlog.get_logger(__name__)


class Turns:
    """The pieces that wait, of all connections of a server."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        self._is_due = False

    def add(self, read: Callable[[], None]) -> None:
        """Have a piece read when it is its turn."""
        self._waiting.append(read)
        self._come_back()

    def _run(self) -> None:
        self._is_due = False
        ends = monotonic() + TURN_SECONDS
        for _ in range(len(self._waiting)):
            self._waiting.popleft()()
            if monotonic() >= ends:
                break
        if self._waiting:
            self._come_back()

    def _come_back(self) -> None:
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._run)


class Parser(Protocol):
    """The protocol of a connection."""

    def parse(self, data: bytes) -> None:
        """Parse a piece."""
        ...

    def is_busy(self) -> bool:
        """Report whether it wants nothing more for now. It calls `go_on` later."""
        ...

    def piece_bytes(self) -> int:
        """Return how many bytes the next piece has at most."""
        ...


class PacedReading:
    """The reading of one connection."""

    def __init__(self, parser: Parser, transport: asyncio.Transport, turns: Turns) -> None:
        self._parser = parser
        self._transport = transport
        self._turns = turns
        self._rest = bytearray()
        self._waits = False

    @property
    def waiting_bytes(self) -> int:
        """Return how many bytes were read and not parsed yet."""
        return len(self._rest)

    def take(self, data: bytes) -> None:
        """Take bytes that were read."""
        small = len(data) <= self._parser.piece_bytes()
        if small and not self._rest and not self._parser.is_busy():
            self._parser.parse(data)
        else:
            self._rest += data
        self.go_on()

    def go_on(self) -> None:
        """Read on, unless the parser is busy."""
        if self._transport.is_closing():
            self._rest.clear()
            return
        is_busy = self._parser.is_busy()
        if self._rest and not self._waits and not is_busy:
            self._waits = True
            self._turns.add(self._read)
        self._pause(is_busy or bool(self._rest))

    def drop(self) -> None:
        """Forget what was not parsed, and leave the transport to somebody else."""
        self._rest.clear()
        self._pause(False)

    def _read(self) -> None:
        self._waits = False
        if self._rest and not self._parser.is_busy() and not self._transport.is_closing():
            size = self._parser.piece_bytes()
            piece = bytes(self._rest[:size])
            del self._rest[:size]
            try:
                self._parser.parse(piece)
            except Exception as error:  # noqa: BLE001 - the root of a turn: others have theirs
                _log.exception("reading_failed", reason=str(error))
                self._transport.abort()
        self.go_on()

    def _pause(self, wanted: bool) -> None:
        if self._transport.is_closing() or wanted is not self._transport.is_reading():
            return
        if wanted:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()
