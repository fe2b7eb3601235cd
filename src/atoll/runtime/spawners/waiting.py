"""Typed bytes that the program has not read yet: bounded, and each sender learns what was taken."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from atoll.ports.spawner import Taken

MAX_WAITING_BYTES = 256 * 1024


@dataclass(slots=True)
class _Piece:
    data: memoryview
    taken: Taken


class WaitingInput:
    """A queue of bytes, `MAX_WAITING_BYTES` at most; more is refused whole."""

    def __init__(self) -> None:
        self._pieces: deque[_Piece] = deque()
        self._bytes = 0

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def takes(self, count: int) -> bool:
        """Return whether there is room for so many bytes."""
        return self._bytes + count <= MAX_WAITING_BYTES

    def put(self, data: bytes | memoryview, taken: Taken) -> None:
        """Append bytes for which there is room."""
        if data:
            self._pieces.append(_Piece(memoryview(data), taken))
            self._bytes += len(data)

    def drain(self, write: Callable[[memoryview], int]) -> None:
        """Pass bytes to `write`, which returns how many it took, until it takes no more."""
        while self._pieces:
            piece = self._pieces[0]
            count = write(piece.data)
            self._bytes -= count
            whole = count == len(piece.data)
            if whole:
                self._pieces.popleft()
            else:
                piece.data = piece.data[count:]
            if count:
                piece.taken(count)
            if not whole:
                return

    def clear(self) -> None:
        """Drop everything, and report it to nobody."""
        self._pieces.clear()
        self._bytes = 0
