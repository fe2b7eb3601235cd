"""Cutting of streams into pieces by what they hold, so that what is inserted moves no cut behind.

A tar consists of records of 512 bytes, and whatever changes in it moves the rest by whole records.
So a cut stands behind a record whose checksum has a certain form; no window has to slide over
every byte.
"""

import zlib
from collections.abc import Iterator
from typing import Final

RECORD_BYTES: Final = 512
MIN_PIECE_BYTES: Final = 16 * 1024
MAX_STREAM_PIECE_BYTES: Final = 256 * 1024

_MASK: Final = 0x7F
"""A record in 128 is a cut: 64 KiB on average, and the smallest piece in front."""
_MARK: Final = 0x2A


class StreamCutter:
    """A cutter of one stream. It holds back less than one piece. What somebody writes to be cut
    badly costs sharing, and stays within the bounds of a piece."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._seen = MIN_PIECE_BYTES - RECORD_BYTES

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Take the next bytes; yield the pieces that are complete."""
        self._held += data
        while (end := self._find_cut()) is not None:
            yield bytes(self._held[:end])
            del self._held[:end]
            self._seen = MIN_PIECE_BYTES - RECORD_BYTES

    def finish(self) -> bytes:
        """Return the last piece, empty where there is none."""
        rest = bytes(self._held)
        self._held.clear()
        return rest

    def _find_cut(self) -> int | None:
        """Return the end of the first piece, None until more bytes are there."""
        last = min(len(self._held), MAX_STREAM_PIECE_BYTES) - RECORD_BYTES
        at = self._seen
        with memoryview(self._held) as held:
            while at <= last:
                record = held[at : at + RECORD_BYTES]
                at += RECORD_BYTES
                if zlib.crc32(record) & _MASK == _MARK:
                    return at
        self._seen = at
        return MAX_STREAM_PIECE_BYTES if len(self._held) >= MAX_STREAM_PIECE_BYTES else None
