"""A search for many patterns in bytes at once, which also reports an unfinished pattern at the end.

An Aho-Corasick automaton finds the first eight bytes of each pattern, which keeps it small enough
for a processor's cache. The rest is compared where those were found, in `sight_folded` across the
margins of programs, too. There the first eight bytes may stand on two rows: for some patterns the
automaton also finds what follows their first bytes.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ahocorasick_rs import BytesAhoCorasick, Implementation

from atoll.domain.redaction.margins import Folds, Span, folded_ends

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

    spans: tuple[Span, ...]
    live_from: int
    folded: tuple[tuple[Span, ...], ...] = ()
    """The pieces of each pattern that has margins in it."""


class Patterns:
    """An immutable set of patterns of at least `HEAD` bytes each."""

    __slots__ = ("_broken", "_by_head", "_finder", "_heads", "_sorted", "_starts", "longest")

    def __init__(self, patterns: Iterable[bytes], broken: Iterable[tuple[bytes, int]] = ()) -> None:
        """Compile `patterns`, of which those in `broken` may be cut by a margin after so many
        bytes, fewer than `HEAD`."""
        self._sorted = sorted(set(patterns))
        if any(len(each) < HEAD for each in self._sorted):
            raise ValueError(f"a pattern needs {HEAD} bytes")
        by_head: dict[bytes, list[bytes]] = {}
        for pattern in self._sorted:
            by_head.setdefault(pattern[:HEAD], []).append(pattern)
        self._by_head = {head: tuple(several) for head, several in by_head.items()}
        self._starts = frozenset(each[:size] for each in self._sorted for size in (1, 2))
        self._broken: dict[bytes, dict[bytes, list[bytes]]] = {}
        for pattern, size in sorted(set(broken)):
            if len(pattern) >= size + HEAD:
                behind = self._broken.setdefault(pattern[size : size + HEAD], {})
                behind.setdefault(pattern[:size], []).append(pattern[size:])
        self._heads = tuple({**self._by_head, **self._broken})
        self._finder = BytesAhoCorasick(self._heads, implementation=_KIND) if self._heads else None
        self.longest = max(map(len, self._sorted), default=0)

    def __bool__(self) -> bool:
        return self._finder is not None

    def sight(self, data: bytes) -> Sighting:
        """Return everything in `data` that stands in one piece."""
        spans: list[Span] = []
        live_from = len(data)
        for begin, head in self._matches(data):
            live_from = min(live_from, self._compare(data, begin, head, spans))
        return Sighting(tuple(spans), min(live_from, self._barely_live(data)))

    def sight_folded(self, data: bytes) -> Sighting:
        """Return everything in `data`, also what stands on several rows with margins between them:
        that in `folded` alone."""
        spans: list[Span] = []
        folded: list[tuple[Span, ...]] = []
        live_from = len(data)
        folds = Folds(data)
        for begin, head in self._matches(data):
            live_from = min(live_from, self._compare(data, begin, head, spans))
            for first, size, several in self._beginnings(folds, begin, head):
                before = ((first, first + size),) if size else ()
                for pieces, whole in folds.find(begin, several, HEAD):
                    if whole:
                        folded.append((*before, *pieces))
                    else:
                        live_from = min(live_from, first)
        live_from = min(live_from, self._barely_live(data), self._barely_folded(data))
        return Sighting(tuple(spans), live_from, tuple(folded))

    def _matches(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Yield where a head stands, and which."""
        if self._finder is not None:
            for which, begin, _ in self._finder.find_matches_as_indexes(data, overlapping=True):
                yield begin, self._heads[which]

    def _compare(self, data: bytes, begin: int, head: bytes, spans: list[Span]) -> int:
        """Add what stands there whole to `spans`; return where what is cut off begins, or the
        length."""
        live_from = len(data)
        for pattern in self._by_head.get(head, ()):
            if data.startswith(pattern, begin):
                spans.append((begin, begin + len(pattern)))
            elif len(data) - begin < len(pattern) and pattern.startswith(data[begin:]):
                live_from = begin
        return live_from

    def _beginnings(
        self, folds: Folds, at: int, head: bytes
    ) -> Iterator[tuple[int, int, Sequence[bytes]]]:
        """Yield what may be there: texts that begin with this head, in order; where what precedes
        them begins, and how many bytes of it stand there, before a margin."""
        if head in self._by_head:
            yield at, 0, self._by_head[head]
        if head in self._broken and folds.may_end(at):
            for first, several in self._broken[head].items():
                begin = folds.begun_before(at, first)
                if begin is not None:
                    yield begin, len(first), several

    def _barely_live(self, data: bytes) -> int:
        """Return where an unfinished pattern shorter than a head begins at the end."""
        for begin in range(max(0, len(data) - HEAD + 1), len(data)):
            if self._is_beginning(data[begin:]):
                return begin
        return len(data)

    def _barely_folded(self, data: bytes) -> int:
        """Return the same where a margin stands within it or behind it."""
        for begin, before, after in folded_ends(data, HEAD - 1):
            whole = before + after
            for at in range(len(before)):
                # Few texts begin as a secret does; only those are worth the search.
                if whole[at : at + 2] in self._starts and self._is_beginning(whole[at:]):
                    return begin + at
        return len(data)

    def _is_beginning(self, tail: bytes) -> bool:
        at = bisect_left(self._sorted, tail)
        return at < len(self._sorted) and self._sorted[at].startswith(tail)
