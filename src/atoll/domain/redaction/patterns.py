"""A search for many patterns in bytes at once, which also reports an unfinished pattern at the end.

An Aho-Corasick automaton finds the first eight bytes of each pattern, which keeps it small enough
for a processor's cache. The rest is compared where those were found.
"""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

from ahocorasick_rs import BytesAhoCorasick, Implementation

HEAD = 8
"""The bytes by which a pattern is found; no pattern may be shorter."""

_KIND = Implementation.DFA
"""The fastest kind of automaton by far; it stays small, since it holds only heads."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """The patterns found in some bytes.

    Whole patterns are intervals in order, which may overlap. `live` is where the longest unfinished
    one at the end begins (the length, when there is none).
    """

    spans: tuple[tuple[int, int], ...]
    live_from: int


class Patterns:
    """An immutable set of patterns of at least `HEAD` bytes each."""

    __slots__ = ("_by_head", "_finder", "_heads", "_sorted", "longest")

    def __init__(self, patterns: Iterable[bytes]) -> None:
        self._sorted = sorted(set(patterns))
        if any(len(each) < HEAD for each in self._sorted):
            raise ValueError(f"a pattern needs {HEAD} bytes")
        by_head: dict[bytes, list[bytes]] = {}
        for pattern in self._sorted:
            by_head.setdefault(pattern[:HEAD], []).append(pattern)
        self._by_head = {head: tuple(several) for head, several in by_head.items()}
        self._heads = tuple(self._by_head)
        self._finder = BytesAhoCorasick(self._heads, implementation=_KIND) if self._heads else None
        self.longest = max(map(len, self._sorted), default=0)

    def __bool__(self) -> bool:
        return self._finder is not None

    def sight(self, data: bytes) -> Sighting:
        """Return everything in `data`."""
        if self._finder is None:
            return Sighting((), len(data))
        spans: list[tuple[int, int]] = []
        live_from = len(data)
        for which, begin, _end in self._finder.find_matches_as_indexes(data, overlapping=True):
            for pattern in self._by_head[self._heads[which]]:
                if data.startswith(pattern, begin):
                    spans.append((begin, begin + len(pattern)))
                elif len(data) - begin < len(pattern) and pattern.startswith(data[begin:]):
                    live_from = min(live_from, begin)
        return Sighting(tuple(spans), min(live_from, self._barely_live(data)))

    def _barely_live(self, data: bytes) -> int:
        """Return where an unfinished pattern shorter than a head begins at the end."""
        for begin in range(max(0, len(data) - HEAD + 1), len(data)):
            tail = data[begin:]
            at = bisect_left(self._sorted, tail)
            if at < len(self._sorted) and self._sorted[at].startswith(tail):
                return begin
        return len(data)
