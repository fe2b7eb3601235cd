"""The structs that an update may add to a dashboard's document. Pure.

An update is judged before it is applied, by what it is made of: shared types only where the page
makes them (items are maps, which hold texts), no content that a dashboard does not use, nothing
that rests on changes the document does not have, and no changes in another person's name. What the
items then hold is checked by `domain.dashboards.item`.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from atoll.domain.dashboards.item import ITEM_ID
from atoll.domain.errors import Invalid, LimitReached
from atoll.domain.ids import PrincipalId
from atoll.wire.crdt.update import MAX_CLOCK, ContentKind, Deletion, Id, ParsedUpdate, Struct

ROOT: Final = "items"
"""The one root type of a document: a map of items by their ids."""

MAX_UPDATE_BYTES: Final = 256 * 1024
MAX_DOCUMENT_BYTES: Final = 8 * 1024 * 1024
MAX_AUTHORS: Final = 20_000
"""The most clients whose changes one document holds."""

_ITEM, _TEXT = 1, 2
"""The depth of a shared type in the document. Each depth has one type, with the same number."""

_MAP_TYPE, _TEXT_TYPE = 1, 2
_TYPE_OF: Final = {_ITEM: _MAP_TYPE, _TEXT: _TEXT_TYPE}
_MAX_KEY: Final = 64
_MAX_MARK_BYTES: Final = 2100
_PASSES: Final = 4
_BELONGS: Final = {
    _ITEM: frozenset({ContentKind.TYPE, ContentKind.DELETED}),
    _TEXT: frozenset({ContentKind.TYPE, ContentKind.DELETED, ContentKind.VALUES}),
    _TEXT + 1: frozenset({ContentKind.STRING, ContentKind.FORMAT, ContentKind.DELETED}),
}
"""The content of the map of items, of an item, and of a text."""

_USED: Final = frozenset(
    {
        *(ContentKind.COLLECTED, ContentKind.DELETED, ContentKind.STRING),
        *(ContentKind.FORMAT, ContentKind.TYPE, ContentKind.VALUES),
    }
)


@dataclass(frozen=True, slots=True)
class Additions:
    """New parts of an update: the clock that each client has afterwards, and the shared types
    that it makes, with their depth."""

    clocks: Mapping[int, int]
    types: Mapping[Id, int]


@dataclass(frozen=True, slots=True)
class Missing:
    """An update that rests on changes of `client` which the document does not have."""

    client: int


def judge(
    update: ParsedUpdate, clocks: Mapping[int, int], types: Mapping[Id, int]
) -> Additions | Missing:
    """Return what an update adds to a document with these clocks and shared types. Raises
    `Invalid` for what no page writes."""
    new = [one for one in update.structs if one.clock + one.length > clocks.get(one.client, 0)]
    after = dict(clocks)
    for one in new:
        if one.kind is not ContentKind.GAP:
            if one.clock > after.get(one.client, 0):
                return Missing(one.client)
            after[one.client] = one.clock + one.length
    unknown = _unknown(new, update.deletions, after)
    if unknown is not None:
        return Missing(unknown)
    made = _check_structs(new, types)
    added = {client: clock for client, clock in after.items() if clock > clocks.get(client, 0)}
    return Additions(added, made)


def types_made(update: ParsedUpdate, types: Mapping[Id, int]) -> Mapping[Id, int]:
    """Return the shared types that an update makes which was judged before, with their depth."""
    return _place_types(update.structs, types)


def adds_deletions(update: ParsedUpdate, present: Iterable[Deletion]) -> bool:
    """Report whether an update deletes anything that is not deleted yet."""
    # In order, so that each is compared with one span: a viewer may send as many as there are.
    spans: dict[int, list[tuple[int, int]]] = {}
    for one in sorted(present):
        mine = spans.setdefault(one.client, [])
        if mine and one.clock <= mine[-1][1]:
            mine[-1] = (mine[-1][0], max(mine[-1][1], one.clock + one.length))
        else:
            mine.append((one.clock, one.clock + one.length))
    return not all(
        _is_within(spans.get(one.client, ()), one.clock, one.clock + one.length)
        for one in update.deletions
    )


def _is_within(spans: Sequence[tuple[int, int]], begin: int, end: int) -> bool:
    """Report whether one of sorted, disjoint spans covers another span."""
    before = bisect_right(spans, (begin, MAX_CLOCK)) - 1
    return before >= 0 and end <= spans[before][1]


def check_authors(
    caller: PrincipalId,
    clients: Iterable[int],
    authors: Mapping[int, PrincipalId],
    present: Mapping[int, PrincipalId],
) -> tuple[int, ...]:
    """Return the clients that become the caller's own by changes in their name. Raises `Invalid`
    for a client of somebody else: of `authors`, or who is `present`."""
    new = []
    for client in clients:
        owner = authors.get(client)
        if owner is None:
            owner = present.get(client, caller)
            new.append(client)
        if owner != caller:
            raise Invalid("a change is in the name of another person's browser", field="update")
    if len(authors) + len(new) > MAX_AUTHORS:
        raise LimitReached(
            f"a document holds changes of at most {MAX_AUTHORS} browsers", code="document_full"
        )
    return tuple(new)


def _unknown(
    new: list[Struct], deletions: tuple[Deletion, ...], after: Mapping[int, int]
) -> int | None:
    """Return a client on whose missing changes an update rests, None where nothing is missing."""
    for one in new:
        for place in (one.origin, one.right, one.parent):
            if isinstance(place, tuple) and place[1] >= after.get(place[0], 0):
                return place[0]
    for gone in deletions:
        if gone.clock + gone.length > after.get(gone.client, 0):
            return gone.client
    return None


def _check_structs(new: list[Struct], types: Mapping[Id, int]) -> dict[Id, int]:
    """Return the shared types that structs make, after checking each of them. A type may stand
    before what it rests on, since clients are in any order."""
    made = _place_types(new, types)
    for one in new:
        _judge_struct(one, types, made)
    return made


def _place_types(structs: Iterable[Struct], types: Mapping[Id, int]) -> dict[Id, int]:
    """Return the shared types that structs make, in whatever order they come."""
    made: dict[Id, int] = {}
    waiting = [one for one in structs if one.kind in (ContentKind.TYPE, ContentKind.DELETED)]
    for _ in range(_PASSES):
        waiting = [one for one in waiting if not _place(one, types, made)]
    return made


def _place(one: Struct, types: Mapping[Id, int], made: dict[Id, int]) -> bool:
    """Note a type, or an item that is deleted already, once its depth is known."""
    depth = _depth(one, types, made)
    if depth is None or (one.kind is ContentKind.DELETED and depth != _ITEM):
        return False
    made[(one.client, one.clock + one.length - 1)] = depth
    return True


def _judge_struct(one: Struct, types: Mapping[Id, int], made: Mapping[Id, int]) -> None:
    if one.kind in (ContentKind.GAP, ContentKind.COLLECTED):
        return
    if one.kind not in _USED:
        raise Invalid("an update has content that no dashboard uses", field="update")
    depth = _depth(one, types, made)
    if one.kind is ContentKind.TYPE and (depth is None or one.shared_type != _TYPE_OF.get(depth)):
        raise Invalid("an update has a shared type where none belongs", field="update")
    if one.parent is not None:
        _judge_place(one, depth)
    if one.mark is not None:
        _judge_mark(*one.mark)


def _depth(one: Struct, types: Mapping[Id, int], made: Mapping[Id, int]) -> int | None:
    """Return the depth of what a struct puts into its parent. None where that is not known: its
    parent is none of ours, or the struct takes the place of one that is no shared type."""
    if isinstance(one.parent, str):
        return _ITEM if one.parent == ROOT else None
    if one.parent is not None:
        above = types.get(one.parent) or made.get(one.parent)
        return None if above is None else above + 1
    if one.origin is None:
        return None
    return types.get(one.origin) or made.get(one.origin)


def _judge_place(one: Struct, depth: int | None) -> None:
    """Check that a struct which names its parent belongs there."""
    if depth is None:
        raise Invalid("an update writes beside the items", field="update")
    if depth > _TEXT + 1 or (one.key is None) != (depth > _TEXT):
        raise Invalid("an update writes where an item has no place", field="update")
    if depth == _ITEM and not ITEM_ID.fullmatch(one.key or ""):
        raise Invalid("an item has an id that is none", field="update")
    if len(one.key or "") > _MAX_KEY or one.kind not in _BELONGS[depth]:
        raise Invalid("an update has content where it does not belong", field="update")


def _judge_mark(key: str, value: str) -> None:
    simple = value in ("null", "true", "false") or value[:1] in (*'"-0123456789',)
    if len(key) > _MAX_KEY or len(value) > _MAX_MARK_BYTES or not simple:
        raise Invalid("an attribute of a text is no simple value", field="update")
