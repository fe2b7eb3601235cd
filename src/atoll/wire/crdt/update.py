"""Updates of a Yjs document (version 1), taken apart without applying them.

An update lists structs by client, then deletions. A struct says what follows what, and its content.
Source: `UpdateDecoder.js`, `Item.js` and `DeleteSet.js` of Yjs 13. The parser applies nothing and
follows no reference; what a document accepts is decided by `domain.dashboards`.
"""

from enum import IntEnum
from typing import Final, NamedTuple, TypeAlias

from atoll.wire.crdt.lib0 import Malformed, Reader

MAX_STRUCTS: Final = 50_000
"""The most structs of one update of a browser, and the most deletions."""

MAX_CLOCK: Final = 2**31 - 1

Id: TypeAlias = tuple[int, int]
"""A client, and the clock of one of its changes."""

_HAS_ORIGIN, _HAS_RIGHT, _HAS_KEY, _KIND = 0x80, 0x40, 0x20, 0x1F
_XML_NAMES: Final = frozenset({3, 5})
"""The types that a name follows: an XML element and an XML hook."""


class ContentKind(IntEnum):
    """The kind of a struct's content, by its number in an update."""

    COLLECTED = 0
    DELETED = 1
    JSON = 2
    BINARY = 3
    STRING = 4
    EMBED = 5
    FORMAT = 6
    TYPE = 7
    VALUES = 8
    DOCUMENT = 9
    GAP = 10


class Struct(NamedTuple):
    """A change of `client`: it covers the clocks from `clock` on, `length` of them.

    `parent` is the name of a root type or the id of another type; None where an update leaves it
    out, since the struct has the parent of its `origin` or `right`. `key` is its place in a map.
    `shared_type` is the number of the type that a struct of a type makes; `mark` an attribute of
    text with its value as JSON.
    """

    client: int
    clock: int
    length: int
    kind: ContentKind
    origin: Id | None = None
    right: Id | None = None
    parent: str | Id | None = None
    key: str | None = None
    shared_type: int | None = None
    mark: tuple[str, str] | None = None


class Deletion(NamedTuple):
    """A deletion of what `client` changed at the clocks from `clock` on, `length` of them."""

    client: int
    clock: int
    length: int


class ParsedUpdate(NamedTuple):
    """An update in its parts."""

    structs: tuple[Struct, ...]
    deletions: tuple[Deletion, ...]


def read_update(data: bytes, *, most: int = MAX_STRUCTS) -> ParsedUpdate:
    """Return the parts of an update. Raises `Malformed`, also for more than `most` parts."""
    reader = Reader(data)
    structs: list[Struct] = []
    seen: set[int] = set()
    for _ in range(reader.count()):
        count, client, clock = reader.count(), reader.number(), reader.number()
        if client in seen:
            raise Malformed("an update names a client twice")
        if len(structs) + count > most:
            raise Malformed("an update has too many parts")
        seen.add(client)
        for _ in range(count):
            found = _struct(reader, client, clock)
            clock = _end(found)
            structs.append(found)
    deletions = _deletions(reader, most)
    reader.finish()
    return ParsedUpdate(tuple(structs), deletions)


def read_deletions(data: bytes) -> tuple[Deletion, ...]:
    """Return the deletions of an update without structs. Raises `Malformed`."""
    found = read_update(data, most=len(data))
    if found.structs:
        raise Malformed("an update of deletions has structs")
    return found.deletions


def _deletions(reader: Reader, most: int) -> tuple[Deletion, ...]:
    found: list[Deletion] = []
    for _ in range(reader.count()):
        client, count = reader.number(), reader.count()
        if len(found) + count > most:
            raise Malformed("an update has too many parts")
        for _ in range(count):
            one = Deletion(client, reader.number(), reader.number())
            _end(one)
            found.append(one)
    return tuple(found)


def _end(one: Struct | Deletion) -> int:
    end = one.clock + one.length
    if one.length < 1 or end > MAX_CLOCK:
        raise Malformed("an update has a part of an impossible length")
    return end


def _struct(reader: Reader, client: int, clock: int) -> Struct:
    info = reader.byte()
    number = info & _KIND
    if number > ContentKind.GAP:
        raise Malformed("an update has a part of an unknown kind")
    kind = ContentKind(number)
    if kind in (ContentKind.COLLECTED, ContentKind.GAP):
        if info != number:
            raise Malformed("an update has a part of an unknown kind")
        return Struct(client, clock, reader.number(), kind)
    origin = _id(reader) if info & _HAS_ORIGIN else None
    right = _id(reader) if info & _HAS_RIGHT else None
    parent: str | Id | None = None
    key = None
    if origin is None and right is None:
        parent = reader.text() if reader.number() == 1 else _id(reader)
        key = reader.text() if info & _HAS_KEY else None
    made = Struct(client, clock, 1, kind, origin, right, parent, key)
    return _with_content(reader, made)


def _id(reader: Reader) -> Id:
    return reader.number(), reader.number()


def _with_content(reader: Reader, made: Struct) -> Struct:
    match made.kind:
        case ContentKind.DELETED:
            return made._replace(length=reader.number())
        case ContentKind.STRING:
            # Clocks count UTF-16 code units, as JavaScript does.
            return made._replace(length=len(reader.text().encode("utf-16-le")) // 2)
        case ContentKind.VALUES:
            count = reader.count()
            for _ in range(count):
                reader.skip_value()
            return made._replace(length=count)
        case ContentKind.FORMAT:
            return made._replace(mark=(reader.text(), reader.text()))
        case ContentKind.TYPE:
            number = reader.number()
            if number in _XML_NAMES:
                reader.text()
            return made._replace(shared_type=number)
        case _:
            return _with_older_content(reader, made)


def _with_older_content(reader: Reader, made: Struct) -> Struct:
    """Read content that Yjs knows and no dashboard uses, so that its end is known."""
    if made.kind is ContentKind.JSON:
        count = reader.count()
        for _ in range(count):
            reader.text()
        return made._replace(length=count)
    if made.kind is ContentKind.BINARY:
        reader.bytes()
    elif made.kind is ContentKind.EMBED:
        reader.text()
    else:
        reader.text()
        reader.skip_value()
    return made
