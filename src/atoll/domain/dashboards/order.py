"""The order of a document's parts, as far as it says what merging them costs. Pure.

Yjs places a part behind its left origin by walking over the parts that stand between its two
origins, where others have the same left origin. So parts with one left origin and different right
ones take the square of their number, at each merge and at each opening. `DocumentOrder` counts,
without merging, how many parts may walk and how far at most: the parts of their text. A part that
was put beside its neighbours as they were does not walk; all that one person types is of this kind.
Source: `Item.integrate` of Yjs 13, which Yrs follows.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, TypeAlias

from atoll.domain.errors import LimitReached
from atoll.wire.crdt.update import ContentKind, Id, Struct

MAX_PARTS: Final = 60_000
"""The parts of a document: merging so many in good order takes some 50 ms."""

MAX_WORK: Final = 400_000
"""The steps that merging a document may take beside one for each part: some 70 ms."""

MAX_NEW_CLIENTS: Final = 200
"""The browsers whose first changes one update holds. A page has its own, and those before it."""

MAX_CONTINUATIONS: Final = 4000
"""The parts of an update that only go on from the part before them. Browsers merge such parts; Yrs
merges one after another, by copying what it has so far, in memory that grows with the square."""

_CLOCK_BITS: Final = 32


@dataclass(slots=True, eq=False)
class Run:
    """A text, or the values of one key of a map. `crossings` are its parts that may walk."""

    keyed: bool
    parts: int = 0
    crossings: int = 0


_Place: TypeAlias = int | Run
"""The place behind a left origin, by its id as one number, or at the begin of a run."""


@dataclass(slots=True)
class _Parts:
    """Parts of a document. `starts` are the clocks at which parts of a client begin, `runs` the
    runs that they belong to, None for those without one. Of texts alone: `places` are the places of
    parts by their ids, `taken` the places with a part, `used` the parts that are the right origin
    of one in their own place."""

    starts: dict[int, list[int]] = field(default_factory=dict)
    runs: dict[int, list[Run | None]] = field(default_factory=dict)
    named: dict[tuple[str | Id, str | None], Run] = field(default_factory=dict)
    places: dict[int, _Place] = field(default_factory=dict)
    taken: set[_Place] = field(default_factory=set)
    used: set[int] = field(default_factory=set)

    def index(self, place: Id) -> int | None:
        """Return the number of the part that holds an id among those of its client."""
        found = bisect_right(self.starts.get(place[0], ()), place[1]) - 1
        return None if found < 0 else found


class DocumentOrder:
    """The parts of a document, and the work of merging them. `clocks` says how many changes of each
    client it has."""

    def __init__(self) -> None:
        self._known = _Parts()
        self.clocks: dict[int, int] = {}
        self.parts = 0
        self.work = 0

    def add(self, structs: Sequence[Struct]) -> None:
        """Note the parts that an update adds to the document."""
        self._keep(_Draft(self._known, structs, self.clocks))

    def admit(self, structs: Sequence[Struct]) -> None:
        """Note them, too, where the document stays cheap to merge. Raises `LimitReached`."""
        draft = _Draft(self._known, structs, self.clocks)
        if len(draft.new.starts.keys() - self.clocks.keys()) > MAX_NEW_CLIENTS:
            raise LimitReached(
                f"an update has first changes of at most {MAX_NEW_CLIENTS} browsers",
                code="too_many",
            )
        if draft.count and self.parts + draft.count > MAX_PARTS:
            raise LimitReached(
                f"the dashboard is full: its document has {MAX_PARTS} changes",
                code="document_full",
            )
        if draft.continuations() > MAX_CONTINUATIONS:
            raise LimitReached(
                f"an update has at most {MAX_CONTINUATIONS} parts that go on from the part before",
                code="too_many",
            )
        if draft.work and self.work + draft.work > MAX_WORK:
            raise LimitReached(
                "too many changes were made at one place of a text: go on in a new item",
                code="document_full",
            )
        self._keep(draft)

    def _keep(self, draft: "_Draft") -> None:
        known, new = self._known, draft.new
        for client, starts in new.starts.items():
            known.starts.setdefault(client, []).extend(starts)
            known.runs.setdefault(client, []).extend(new.runs[client])
        known.named.update(new.named)
        known.places.update(new.places)
        known.taken |= new.taken
        known.used |= new.used
        for run, (parts, crossings) in draft.growth.items():
            run.parts += parts
            run.crossings += crossings
        self.clocks.update(draft.ends)
        self.parts += draft.count
        self.work += draft.work


class _Draft:
    """Parts that an update adds to known ones, before they are kept. `ends` are the clocks behind
    them, `growth` has the new parts and crossings of each run, `work` the steps that they add."""

    def __init__(self, known: _Parts, structs: Sequence[Struct], clocks: Mapping[int, int]) -> None:
        self.new = _Parts()
        self.growth: dict[Run, list[int]] = {}
        self._known = known
        self._clocks = clocks
        self._structs: dict[int, list[Struct]] = {}
        for one in structs:
            if one.clock + one.length > clocks.get(one.client, 0) and one.kind != ContentKind.GAP:
                self._structs.setdefault(one.client, []).append(one)
                # A part of which the document has the beginning goes on where that ends.
                start = max(one.clock, clocks.get(one.client, 0))
                self.new.starts.setdefault(one.client, []).append(start)
                self.new.runs.setdefault(one.client, []).append(None)
        self.count = sum(map(len, self._structs.values()))
        self.ends = {
            client: structs[-1].clock + structs[-1].length
            for client, structs in self._structs.items()
        }
        self._find_runs()
        self._count_crossings()
        self.work = sum(
            (run.crossings + crossings) * (run.parts + parts) - run.crossings * run.parts
            for run, (parts, crossings) in self.growth.items()
        )

    def continuations(self) -> int:
        """Return how many parts only go on from the one before them."""
        return sum(
            before.kind == one.kind and one.origin == (client, one.clock - 1)
            for client, structs in self._structs.items()
            for before, one in pairwise(structs)
        )

    def _find_runs(self) -> None:
        seen: set[tuple[int, int]] = set()
        for client, structs in self._structs.items():
            for index in range(len(structs)):
                self._find_run(client, index, seen)

    def _find_run(self, client: int, index: int, seen: set[tuple[int, int]]) -> None:
        """Find the run of a part, and of those of the update on which it rests."""
        path: list[tuple[int, int]] = []
        run: Run | None = None
        at: tuple[int, int] | None = (client, index)
        while at is not None:
            if at in seen:
                run = self.new.runs[at[0]][at[1]]
                break
            seen.add(at)
            path.append(at)
            run, at = self._run_of(*at)
        for owner, number in path:
            self.new.runs[owner][number] = run
            if run is not None:
                self.growth.setdefault(run, [0, 0])[0] += 1

    def _run_of(self, client: int, index: int) -> tuple[Run | None, tuple[int, int] | None]:
        """Return the run of a part, or the part of the update that has the same one."""
        one, start = self._structs[client][index], self.new.starts[client][index]
        if one.parent is not None and start == one.clock:
            name = (one.parent, one.key)
            run = self._known.named.get(name) or self.new.named.get(name)
            if run is None:
                run = self.new.named[name] = Run(keyed=one.key is not None)
            return run, None
        beside = (client, start - 1) if start > one.clock else one.origin or one.right
        if beside is None:
            return None, None
        found = self.new.index(beside)
        if found is not None:
            return None, (beside[0], found)
        known = self._known.index(beside)
        return (None if known is None else self._known.runs[beside[0]][known]), None

    def _count_crossings(self) -> None:
        walking: list[tuple[Run, _Place, Struct]] = []
        for client, structs in self._structs.items():
            for index, one in enumerate(structs):
                run, start = self.new.runs[client][index], self.new.starts[client][index]
                if run is None or start > one.clock:
                    continue
                place: _Place = run if one.origin is None else _pack_id(one.origin)
                if not run.keyed:
                    self.new.places[_pack_id((client, start))] = place
                walking.append((run, place, one))
        for run, place, one in walking:
            if not self._stands_beside(run, place, one):
                self.growth[run][1] += 1

    def _stands_beside(self, run: Run, place: _Place, one: Struct) -> bool:
        """Report whether a part stands between neighbours, so that it does not walk."""
        right = None if one.right is None or run.keyed else _pack_id(one.right)
        goes_on = not run.keyed and self._goes_on(one.origin)
        if right is not None and (
            self._place_of(right) == place
            or (goes_on and one.origin is not None and right == _pack_id(one.origin) + 1)
        ):
            if right in self._known.used or right in self.new.used:
                return False
            self.new.used.add(right)
            return True
        if goes_on or place in self._known.taken or place in self.new.taken:
            return False
        self.new.taken.add(place)
        return True

    def _place_of(self, part: int) -> _Place | None:
        found = self.new.places.get(part)
        return self._known.places.get(part) if found is None else found

    def _goes_on(self, origin: Id | None) -> bool:
        """Report whether the part that holds an id goes on behind it."""
        if origin is None:
            return False
        after = (origin[0], origin[1] + 1)
        for parts in (self.new, self._known):
            index = parts.index(origin)
            if index is not None:
                return parts.index(after) == index and after[1] < self._end(parts, origin, index)
        return False

    def _end(self, parts: _Parts, place: Id, index: int) -> int:
        """Return the clock behind a part."""
        starts = parts.starts[place[0]]
        if index + 1 < len(starts):
            return starts[index + 1]
        if parts is self.new:
            last = self._structs[place[0]][index]
            return last.clock + last.length
        return self._clocks.get(place[0], 0)


def _pack_id(place: Id) -> int:
    """Return an id as one number, its client above its clock."""
    return place[0] << _CLOCK_BITS | place[1]
