"""Taking keys out of a stream of bytes, wherever the stream is cut into pieces.

Pure. Only bytes that may still become a key are held back, so nothing else is delayed.
It knows a key letter by letter: an encoded or split-up key passes. What stands in its place
is as long, so lengths told before (of a body, of a WebSocket's frames) stay true.
"""

from collections.abc import Iterable

SHORT_BYTES = 8
"""A beginning shorter than this may be shown when the stream pauses."""


class KeyMask:
    """Replaces every whole `key` (not empty) by asterisks. Feed the stream in order,
    then `end` it."""

    __slots__ = ("_first", "_given", "_held", "_key", "_stars")

    def __init__(self, key: bytes) -> None:
        if not key:
            raise ValueError("an empty key would be everywhere")
        self._key = key
        self._first = key[:1]
        self._stars = b"*" * len(key)
        self._held = b""
        self._given = 0

    @property
    def held(self) -> int:
        """How many bytes wait for what comes next."""
        return len(self._held) - self._given

    def feed(self, piece: bytes) -> bytes:
        """What of the stream so far may go out and has not yet."""
        *before, tail = (self._held + piece).split(self._key)
        kept = self._live(tail)
        self._held = tail[len(tail) - kept :]
        shown = tail[: len(tail) - kept] if kept else tail
        out = self._stars.join([*before, shown]) if before else shown
        if not self._given:
            return out
        given, self._given = self._given, max(0, self._given - len(out))
        return out[given:]

    def release(self) -> bytes:
        """Held bytes that are too few to tell anything, for a stream that pauses. Should they
        become the key after all, the rest of it is still masked."""
        if len(self._held) >= SHORT_BYTES:
            return b""
        given, self._given = self._given, len(self._held)
        return self._held[given:]

    def end(self) -> bytes:
        """The bytes still held, which have not become the key."""
        held, self._held = self._held[self._given :], b""
        self._given = 0
        return held

    def _live(self, tail: bytes) -> int:
        """How many of the last bytes are a beginning of the key."""
        longest = min(len(self._key) - 1, len(tail))
        begin = tail.find(self._first, len(tail) - longest)
        while begin != -1:
            if self._key.startswith(tail[begin:]):
                return len(tail) - begin
            begin = tail.find(self._first, begin + 1)
        return 0


class KeyMasks:
    """Several keys taken out of one stream, one after the other."""

    __slots__ = ("_masks",)

    def __init__(self, keys: Iterable[str]) -> None:
        self._masks = [KeyMask(key.encode()) for key in keys]

    @property
    def held(self) -> int:
        """How many bytes wait for what comes next."""
        return sum(mask.held for mask in self._masks)

    def feed(self, piece: bytes) -> bytes:
        """What of the stream so far may go out and has not yet."""
        for mask in self._masks:
            piece = mask.feed(piece)
        return piece

    def release(self) -> bytes:
        """Short beginnings of a key, for a stream that pauses."""
        out = b""
        for mask in self._masks:
            out = (mask.feed(out) if out else b"") + mask.release()
        return out

    def end(self) -> bytes:
        """Whatever is still held."""
        out = b""
        for mask in self._masks:
            out = mask.feed(out) + mask.end()
        return out


def masked(text: bytes, keys: Iterable[str]) -> bytes:
    """A whole text without the keys."""
    for key in keys:
        one = key.encode()
        text = text.replace(one, b"*" * len(one))
    return text
