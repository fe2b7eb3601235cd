"""Server-sent events (WHATWG HTML §9.2), line by line: no byte is read here, and nothing waits."""

from typing import Final, NamedTuple

LONGEST_EVENT: Final = 64 * 1024 * 1024
"""The bytes of one event's data: a stream is read from a server, not trusted."""


class ServerSent(NamedTuple):
    """An event of a stream. `place` is its id, or the one before it; `data` may be empty."""

    place: str
    kind: str
    data: bytes


class ServerSentLines:
    """Reader of the lines of a stream. `place` is the id to resume after. An event with more than
    `longest` bytes of data is left out."""

    def __init__(self, place: str = "", *, longest: int = LONGEST_EVENT) -> None:
        self.place = place
        self._longest = longest
        self._size = 0
        self._next = place
        self._kind = ""
        self._data: list[bytes] = []

    def read(self, line: bytes) -> ServerSent | None:
        """Take a line without its end. Returns the event that it completes."""
        if not line:
            return self._complete()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"id":
            self._next = value.decode("ascii", "replace")
        elif name == b"event":
            self._kind = value.decode("ascii", "replace")
        elif name == b"data":
            self._size += len(value)
            if self._size > self._longest:
                self._data = []
            else:
                self._data.append(value)
        return None

    def _complete(self) -> ServerSent | None:
        # Also without data: a server may say where its log ends.
        self.place = self._next
        found = ServerSent(self.place, self._kind, b"\n".join(self._data))
        self._kind, self._data, self._size = "", [], 0
        return found if found.data else None
