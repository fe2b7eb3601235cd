"""A channel's two directions, counted: what may be sent, and what may come.

Credit is the only bound between two machines, so the far end that exceeds it is garbled.
"""

from collections.abc import Callable
from typing import Protocol

from atoll.wire.link.frames import (
    MAX_DATA_BYTES,
    WINDOW_BYTES,
    Frame,
    Garbled,
    Kind,
    encode_credit,
    encode_frame,
)

Write = Callable[[bytes], None]
"""Sends a frame."""

RETURNED_BYTES = WINDOW_BYTES // 4
"""Credit is given back in pieces of at least so much."""


class Channel(Protocol):
    """The object at our end of a channel."""

    def frame(self, frame: Frame) -> None:
        """Take a frame for this channel. Raises `Garbled`."""
        ...

    def gone(self) -> None:
        """Note that the channel is closed, or that there is no link any more. Idempotent."""
        ...


class Outflow:
    """The bytes that we send."""

    def __init__(self, number: int, write: Write) -> None:
        self._number = number
        self._write = write
        self.credit = WINDOW_BYTES

    def send(self, data: bytes | memoryview) -> None:
        """Send bytes for which there is credit."""
        self.credit -= len(data)
        for start in range(0, len(data), MAX_DATA_BYTES):
            piece = bytes(data[start : start + MAX_DATA_BYTES])
            self._write(encode_frame(Kind.DATA, self._number, piece))

    def give(self, count: int) -> None:
        """Take more credit. Raises `Garbled` when it is more than the window."""
        self.credit += count
        if self.credit > WINDOW_BYTES:
            raise Garbled("a channel was given more credit than its window")


class Inflow:
    """The bytes that come."""

    def __init__(self, number: int, write: Write) -> None:
        self._number = number
        self._write = write
        self._allowance = WINDOW_BYTES
        self._consumed = 0

    def took(self, count: int) -> None:
        """Count bytes that came. Raises `Garbled` beyond the credit."""
        self._allowance -= count
        if self._allowance < 0:
            raise Garbled("more bytes came on a channel than it has credit for")

    def consumed(self, count: int) -> None:
        """Count bytes that were passed on; the far end may send as many more."""
        self._consumed += count
        if self._consumed >= RETURNED_BYTES:
            self._allowance += self._consumed
            self._write(encode_credit(self._number, self._consumed))
            self._consumed = 0
