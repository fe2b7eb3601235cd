"""Channels that are files: READ, WRITE and STAT, each answered in its turn."""

import errno
import os
from collections import deque

from atoll.inside.link.channels import Channel, Channels
from atoll.inside.link.near import NearEnd
from atoll.wire.link.frames import (
    MAX_FILE_BYTES,
    Frame,
    Garbled,
    Kind,
    Passed,
    decode_read,
    encode_answer,
    encode_stat,
)

MAX_WAITING_BYTES = 64 * 1024
MAX_WAITING = 1024
"""Requests of one file that may wait for room in the stream."""


class Files:
    """All open files, by the numbers of their channels."""

    def __init__(self, near: NearEnd, channels: Channels) -> None:
        self._near, self._channels = near, channels
        self.waiting: dict[int, deque[Frame]] = {}

    def add(self, number: int, fd: int) -> None:
        """Add a file for which there is room."""
        self._channels.add(Channel(number, Passed.FILE, fd))

    def close(self, channel: Channel) -> None:
        """Close a file and forget it."""
        self.waiting.pop(channel.number, None)
        self._channels.close(channel)

    def take(self, channel: Channel, frame: Frame) -> None:
        """Answer a request, or keep it until there is room. Raises `Garbled`."""
        if frame.kind == Kind.READ:
            decode_read(frame.payload)
        if len(frame.payload) > MAX_FILE_BYTES or (frame.kind == Kind.STAT and frame.payload):
            raise Garbled("a request for a file that is too long")
        queue = self.waiting.setdefault(channel.number, deque())
        queue.append(frame)
        self._serve(channel, queue)
        if len(queue) > MAX_WAITING or sum(len(one.payload) for one in queue) > MAX_WAITING_BYTES:
            raise Garbled("more requests for a file than may wait")

    def act(self) -> None:
        """Answer what waits."""
        for number in list(self.waiting):
            self._serve(self._channels.all[number], self.waiting[number])

    def _serve(self, channel: Channel, queue: deque[Frame]) -> None:
        while queue and self._near.takes_data:
            frame = queue.popleft()
            try:
                answer = _answer(channel, frame)
            except OSError as error:
                answer = encode_answer(channel.number, error.errno or errno.EIO)
            except OverflowError:
                answer = encode_answer(channel.number, errno.EINVAL)
            self._near.send(answer)
        if not queue:
            self.waiting.pop(channel.number, None)


def _answer(channel: Channel, frame: Frame) -> bytes:
    if frame.kind == Kind.READ:
        offset, length = decode_read(frame.payload)
        return encode_answer(channel.number, 0, os.pread(channel.fd, length, offset))
    if frame.kind == Kind.STAT:
        seen = os.fstat(channel.fd)
        return encode_stat(channel.number, seen.st_mode, seen.st_size)
    view = memoryview(frame.payload)
    while view:
        view = view[os.write(channel.fd, view) :]
    return encode_answer(channel.number, 0)
