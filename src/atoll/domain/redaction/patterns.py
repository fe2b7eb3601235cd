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
from atoll.domain.redaction.texts import Texts

HEAD = 8
"""The bytes by which a pattern is found; no pattern may be shorter."""

_KIND = Implementation.DFA
"""The fastest kind of automaton by far; it stays small, since it holds only heads."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """The patterns found in some bytes.

    Whole patterns are intervals in order, the longest at each place; they may overlap. `live` is
    where the longest unfinished one at the end begins (the length, when there is none).
    """

    spans: tuple[Span, ...]
    live_from: int
    folded: tuple[tuple[Span, ...], ...] = ()
    """The pieces of each pattern that has margins in it."""
    is_short: bool = False
    """True where fewer bytes than a head are there of all that is unfinished."""


class Patterns:
    """An immutable set of patterns of at least `HEAD` bytes each."""

    __slots__ = ("_finder", "_firsts", "_here", "_sorted", "longest")

    def __init__(self, patterns: Iterable[bytes], broken: Iterable[tuple[bytes, int]] = ()) -> None:
        """Compile `patterns`, of which those in `broken` may be cut by a margin after so many
        bytes, fewer than `HEAD`."""
        self._sorted = sorted(set(patterns))
        if any(len(each) < HEAD for each in self._sorted):
            raise ValueError(f"a pattern needs {HEAD} bytes")
        whole: dict[bytes, list[bytes]] = {}
        for pattern in self._sorted:
            whole.setdefault(pattern[:HEAD], []).append(pattern)
        rests: dict[bytes, dict[bytes, list[bytes]]] = {}
        for pattern, size in sorted(set(broken)):
            if len(pattern) >= size + HEAD:
                behind = rests.setdefault(pattern[size : size + HEAD], {})
                behind.setdefault(pattern[:size], []).append(pattern[size:])
        firsts = {first for several in rests.values() for first in several}
        self._firsts = frozenset(firsts | {each.rstrip(b" ") for each in firsts})
        heads = tuple({**whole, **rests})
        self._here = tuple(
            (
                Texts(whole[head]) if head in whole else None,
                tuple((first, Texts(rest)) for first, rest in rests.get(head, {}).items()),
            )
            for head in heads
        )
        """For each head the texts that begin with it; and for each beginning that a margin may
        part from it, what follows that."""
        self._finder = BytesAhoCorasick(heads, implementation=_KIND) if heads else None
        self.longest = max(map(len, self._sorted), default=0)

    def __bool__(self) -> bool:
        return self._finder is not None

    def sight(self, data: bytes) -> Sighting:
        """Return everything in `data` that stands in one piece."""
        spans: list[Span] = []
        live_from = self._barely_live(data)
        for which, begin, _ in self._heads_in(data):
            texts, _rests = self._here[which]
            if texts is not None:
                live_from = min(live_from, _add_whole(data, begin, texts, spans))
        return Sighting(tuple(spans), live_from)

    def sight_folded(self, data: bytes) -> Sighting:
        """Return everything in `data`, also what stands on several rows with margins between them:
        that in `folded` alone."""
        spans: list[Span] = []
        found: list[tuple[tuple[Span, ...], bool]] = []
        live_from = len(data)
        folds = Folds(data)
        for which, begin, _ in self._heads_in(data):
            texts, rests = self._here[which]
            if texts is not None:
                live_from = min(live_from, _add_whole(data, begin, texts, spans))
                found += folds.find(begin, texts, HEAD)
            if rests and folds.may_end(begin):
                found += _find_rests(folds, begin, rests)
        live_from = min([live_from, *(pieces[0][0] for pieces, whole in found if not whole)])
        return Sighting(
            tuple(spans),
            min(live_from, self._barely_live(data), self._barely_folded(data)),
            tuple(each for each, whole in found if whole),
            is_short=live_from == len(data),
        )

    def _heads_in(self, data: bytes) -> Sequence[tuple[int, int, int]]:
        """Return which heads stand where: their numbers, beginnings and ends."""
        if self._finder is None:
            return ()
        return self._finder.find_matches_as_indexes(data, overlapping=True)

    def _barely_live(self, data: bytes) -> int:
        """Return where an unfinished pattern shorter than a head begins at the end."""
        for begin in range(max(0, len(data) - HEAD + 1), len(data)):
            if self._is_beginning(data[begin:]):
                return begin
        return len(data)

    def _barely_folded(self, data: bytes) -> int:
        """Return the same where a margin stands behind its first bytes."""
        live_from = len(data)
        # A byte more than a head lacks: the blank between two bytes of a dump.
        for end, after in folded_ends(data, HEAD):
            for begin in range(max(0, end - HEAD + 1), min(end, live_from)):
                first = data[begin:end]
                if first in self._firsts and self._is_beginning(first + after):
                    live_from = begin
        return live_from

    def _is_beginning(self, tail: bytes) -> bool:
        at = bisect_left(self._sorted, tail)
        return at < len(self._sorted) and self._sorted[at].startswith(tail)


def _add_whole(data: bytes, at: int, texts: Texts, spans: list[Span]) -> int:
    """Add the longest text that stands here whole to `spans`; return where what is cut off begins,
    or the length."""
    size = texts.longest_at(data, at)
    if size:
        spans.append((at, at + size))
    return at if texts.is_cut_at(data, at) else len(data)


def _find_rests(
    folds: Folds, at: int, rests: Iterable[tuple[bytes, Texts]]
) -> Iterator[tuple[tuple[Span, ...], bool]]:
    """Yield the pieces of what has a margin behind its first bytes, and whether it is whole."""
    for first, rest in rests:
        before = folds.begun_before(at, first)
        if before is not None:
            for pieces, whole in folds.find(at, rest, HEAD, unbroken=True):
                yield (before, *pieces), whole
