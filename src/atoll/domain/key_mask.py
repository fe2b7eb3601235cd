"""Taking one key out of a stream of bytes, wherever the stream is cut into pieces.

Pure. Only bytes that may still become the key are held back, so nothing else is delayed.
It knows the key letter by letter: an encoded or split-up key passes.
"""

MASK = b"*" * 8


class KeyMask:
    """Replaces every whole `key` (not empty) by `MASK`. Feed the stream in order, then `end` it."""

    __slots__ = ("_held", "_key")

    def __init__(self, key: bytes) -> None:
        if not key:
            raise ValueError("an empty key would be everywhere")
        self._key = key
        self._held = b""

    def feed(self, piece: bytes) -> bytes:
        """What of the stream so far may go out and has not yet."""
        *before, tail = (self._held + piece).split(self._key)
        kept = self._live(tail)
        self._held = tail[len(tail) - kept :]
        return MASK.join([*before, tail[: len(tail) - kept]])

    def end(self) -> bytes:
        """The bytes still held, which have not become the key."""
        held, self._held = self._held, b""
        return held

    def _live(self, tail: bytes) -> int:
        """How many of the last bytes are a beginning of the key."""
        longest = min(len(self._key) - 1, len(tail))
        begin = tail.find(self._key[:1], len(tail) - longest)
        while begin != -1:
            if self._key.startswith(tail[begin:]):
                return len(tail) - begin
            begin = tail.find(self._key[:1], begin + 1)
        return 0
