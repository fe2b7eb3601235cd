"""Texts in order, to see which of them stands at a place: whole, or as far as the data go.

Pure. A look takes a search in the order, however many texts begin alike.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence

_COMPARED = 256
"""The bytes by which the nearest texts are found: equal ones are few."""


class Texts:
    """An immutable set of texts."""

    __slots__ = ("_longest", "_ordered", "_shorter")

    def __init__(self, texts: Iterable[bytes]) -> None:
        self._ordered = sorted(set(texts))
        self._longest = max(map(len, self._ordered), default=0)
        self._shorter: list[int] = []
        """For each text the place of the longest other one that it begins with; -1 for none."""
        for place, text in enumerate(self._ordered):
            other = place - 1
            while other >= 0 and not text.startswith(self._ordered[other]):
                other = self._shorter[other]
            self._shorter.append(other)

    def longest_at(self, data: bytes, at: int) -> int:
        """Return the length of the longest one that stands here whole; 0 where none does."""
        place = bisect_right(self._ordered, data[at : at + self._longest]) - 1
        while place >= 0 and not data.startswith(self._ordered[place], at):
            place = self._shorter[place]
        return 0 if place < 0 else len(self._ordered[place])

    def is_cut_at(self, data: bytes, at: int) -> bool:
        """Return whether one begins here that the end of the data cuts off."""
        if len(data) - at >= self._longest:
            return False
        tail = data[at:]
        place = bisect_right(self._ordered, tail)
        return place < len(self._ordered) and self._ordered[place].startswith(tail)

    def nearest(self, data: bytes, at: int) -> Sequence[bytes]:
        """Return the two that have the most in common with what stands here; one where there is no
        other."""
        place = bisect_right(self._ordered, data[at : at + _COMPARED])
        return self._ordered[max(0, place - 1) : place + 1]

    def beginning_with(self, key: bytes) -> Iterator[bytes]:
        """Yield those that begin with `key`."""
        for place in range(bisect_left(self._ordered, key), len(self._ordered)):
            if not self._ordered[place].startswith(key):
                return
            yield self._ordered[place]
