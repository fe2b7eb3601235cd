"""A strict reader of chunked bodies (RFC 9112 section 7.1), which are then written anew.

Pure and incremental: bytes in, the body's bytes out. Chunk extensions and trailers are dropped;
bare line feeds and lengths in any other spelling are refused.
"""

import re

MAX_LINE_BYTES = 4096
MAX_TRAILERS = 32

_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})(?:[ \t]*;[\t\x20-\x7e]*)?")
_TRAILER = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256}:[\t\x20-\x7e\x80-\xff]*")


class BadChunks(ValueError):
    """A body that does not follow the grammar."""


class Chunks:
    """A reader of one body. `done` once its last chunk and trailers were read; `rest` is what came
    after."""

    __slots__ = ("_buffer", "_left", "_trailers", "done")

    def __init__(self) -> None:
        self._buffer = bytearray()
        # bytes left of the present chunk; -1: its line end is due; -2: in the trailers
        self._left = 0
        self._trailers = 0
        self.done = False

    @property
    def rest(self) -> bytes:
        """The bytes after the body; empty until it is done."""
        return bytes(self._buffer) if self.done else b""

    def feed(self, data: bytes) -> bytes:
        """Return the bytes of the body in `data`. Raises `BadChunks`."""
        self._buffer += data
        out = bytearray()
        while not self.done and self._read_element(out):
            pass
        return bytes(out)

    def _read_element(self, out: bytearray) -> bool:
        """Read one element from the buffer. Returns False when more bytes are needed."""
        if self._left > 0:
            taken = self._buffer[: self._left]
            del self._buffer[: len(taken)]
            out += taken
            self._left -= len(taken)
            if self._left == 0:
                self._left = -1
            return bool(taken)
        if self._left == -1:
            if len(self._buffer) < 2:
                return False
            if self._buffer[:2] != b"\r\n":
                raise BadChunks("a chunk is longer than it says")
            del self._buffer[:2]
            self._left = 0
            return True
        line = self._read_line()
        if line is None:
            return False
        self._take_line(line)
        return True

    def _take_line(self, line: bytes) -> None:
        if self._left == -2:
            if line == b"":
                self.done = True
                return
            self._trailers += 1
            if self._trailers > MAX_TRAILERS or not _TRAILER.fullmatch(line):
                raise BadChunks("the trailers are malformed")
            return
        size = _SIZE.fullmatch(line)
        if size is None:
            raise BadChunks("a chunk's size is malformed")
        self._left = int(size[1], 16) or -2

    def _read_line(self) -> bytes | None:
        """Return the next line without its end, or None when more bytes are needed."""
        end = self._buffer.find(b"\n")
        if end < 0:
            if len(self._buffer) > MAX_LINE_BYTES:
                raise BadChunks("a line does not end")
            return None
        if end > MAX_LINE_BYTES or self._buffer[end - 1 : end] != b"\r":
            raise BadChunks("a line ends without a carriage return")
        line = bytes(self._buffer[: end - 1])
        del self._buffer[: end + 1]
        if b"\r" in line:
            raise BadChunks("a carriage return within a line")
        return line


def spell_chunk(data: bytes) -> bytes:
    """Return one chunk; the empty one ends the body."""
    return b"%x\r\n%b\r\n" % (len(data), data)
