"""A file of the far side: reads and writes as requests that are answered in order."""

import asyncio
import os
from collections import deque
from collections.abc import Callable

from atoll.domain.errors import Unavailable
from atoll.ports.spawner import FileStat
from atoll.runtime.spawners.link.channel import Write
from atoll.wire.link.frames import (
    MAX_FILE_BYTES,
    Frame,
    Garbled,
    Kind,
    decode_answer,
    decode_stat,
    encode_frame,
    encode_read,
)

MAX_READS, MAX_WRITES = 8, 2
"""Requests of one file that may be unanswered; the far end holds 64 KiB of them."""


class LinkedFile:
    """`ports.InsideFile` of one channel. Raises `Unavailable` when the link ends meanwhile."""

    def __init__(self, number: int, *, write: Write, on_end: Callable[[int], None]) -> None:
        self._number = number
        self._write = write
        self._on_end = on_end
        self._asked: deque[asyncio.Future[bytes]] = deque()
        self._reads, self._writes = asyncio.Semaphore(MAX_READS), asyncio.Semaphore(MAX_WRITES)
        self._closed = False

    async def stat(self) -> FileStat:
        """Return mode and size."""
        result = await self._ask(self._reads, encode_frame(Kind.STAT, self._number))
        return FileStat(*_decode_result(decode_stat, result))

    async def read(self, start: int, length: int) -> bytes:
        """Return bytes from `start`, at most `length`: pieces are asked for side by side."""
        pieces = [
            (offset, min(MAX_FILE_BYTES, start + length - offset))
            for offset in range(start, start + length, MAX_FILE_BYTES)
        ]
        reads = (self._ask(self._reads, encode_read(self._number, *piece)) for piece in pieces)
        blocks = await asyncio.gather(*reads)
        out = bytearray()
        for (_, wanted), data in zip(pieces, blocks, strict=True):
            out += data
            if len(data) < wanted:
                break
        return bytes(out)

    async def write(self, data: bytes) -> None:
        """Write all of `data`."""
        pieces = [data[at : at + MAX_FILE_BYTES] for at in range(0, len(data), MAX_FILE_BYTES)]
        frames = (encode_frame(Kind.WRITE, self._number, piece) for piece in pieces)
        await asyncio.gather(*(self._ask(self._writes, frame) for frame in frames))

    def close(self) -> None:
        """Close the file. Idempotent."""
        if not self._closed:
            self._write(encode_frame(Kind.CLOSE, self._number))
            self.gone()

    def frame(self, frame: Frame) -> None:
        """Take a frame. Raises `Garbled`."""
        if frame.kind == Kind.CLOSE:
            self.gone()
            return
        if frame.kind != Kind.ANSWER or not self._asked:
            raise Garbled(f"a frame of kind {frame.kind} came for a file")
        number, result = decode_answer(frame.payload)
        if len(result) > MAX_FILE_BYTES:
            raise Garbled("an answer holds more than was asked for")
        future = self._asked.popleft()
        if future.done():
            return
        if number:
            future.set_exception(OSError(number, os.strerror(number)))
        else:
            future.set_result(result)

    def gone(self) -> None:
        """Refuse every request from now on. Idempotent."""
        if self._closed:
            return
        self._closed = True
        while self._asked:
            future = self._asked.popleft()
            if not future.done():
                future.set_exception(_link_ended_error())
        self._on_end(self._number)

    async def _ask(self, turns: asyncio.Semaphore, frame: bytes) -> bytes:
        async with turns:
            if self._closed:
                raise _link_ended_error()
            future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
            self._asked.append(future)
            self._write(frame)
            return await future


def _decode_result(decode: Callable[[bytes], tuple[int, int]], result: bytes) -> tuple[int, int]:
    """Return a decoded result. Raises `Unavailable` when it is garbled."""
    try:
        return decode(result)
    except Garbled as error:
        raise Unavailable(f"the sandbox's link answered something else: {error}") from error


def _link_ended_error() -> Unavailable:
    return Unavailable("the file is closed: the sandbox's link has ended", code="wall_gone")
