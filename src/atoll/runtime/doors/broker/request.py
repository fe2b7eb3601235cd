"""One request as it came in at the broker door, and the shapes of heads, each read once.

An agent's heads differ in little: a length, an id, a time. What is decided about one depends on
its target, its names and a few of its values, so it is remembered by those and holds for every
head that is alike in them. Knows nothing of keys and rules.
"""

from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from atoll.domain.broker.passage import DECIDING, Headers

MAX_HEAD_BYTES = 32 * 1024
MAX_HEADERS = 128
KEPT_SHAPES = 32
KEPT_SHAPE_BYTES = 4 * 1024
_LENGTH = b"content-length"
_LONGEST_LENGTH = 20
_ONCE = (b"host", b"transfer-encoding", _LENGTH)
_DECIDING = frozenset(
    {*(name.encode() for name in DECIDING), b"transfer-encoding", b"expect"}
)  # fmt: skip
"""The headers whose values are looked at, here or when a request is judged."""


class Read(Protocol):
    """What llhttp knows of a head that it has just read."""

    def get_method(self) -> bytes: ...
    def get_http_version(self) -> str: ...
    def should_keep_alive(self) -> bool: ...


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """What heads have in common that are decided alike. `names` are their headers'; `target` is
    as sent; `chunked` when the body comes in chunks. Equal to itself only, so that something can
    be remembered by it."""

    method: str
    target: str
    names: tuple[str, ...]
    chunked: bool
    keep_alive: bool
    http11: bool
    expects: bool


class Request(msgspec.Struct):
    """One request, and what of its body came before its turn. `values` are its headers', by the
    places of their names; `length` is None for a body in chunks."""

    shape: Shape
    values: list[bytes]
    length: int | None
    early: list[bytes] = msgspec.field(default_factory=list)
    whole: bool = False

    @property
    def headers(self) -> Headers:
        """Its headers, as sent."""
        values = [value.decode("latin-1") for value in self.values]
        return tuple(zip(self.shape.names, values, strict=True))


@dataclass(frozen=True, slots=True)
class _Alike:
    """Heads of one target and one row of names: where the values stand that decide, and the
    shapes there were by those; where the length stands, if it is told."""

    deciding: tuple[int, ...]
    length: int | None
    shapes: dict[tuple[bytes, ...], Shape] = field(default_factory=dict)


class Shapes:
    """The last shapes that heads came in at one door."""

    __slots__ = ("_count", "_kept")

    def __init__(self) -> None:
        self._kept: dict[tuple[object, ...], _Alike] = {}
        self._count = 0

    def request(self, parser: Read, url: bytes, said: list[bytes]) -> Request | None:
        """A request of its head; None when it is one that nobody should read. `said` are its
        names and values in turns."""
        names, values = said[0::2], said[1::2]
        key = (parser.get_method(), parser.get_http_version(), url, *names)
        alike = self._kept.get(key) or _alike(names)
        size = len(url) + sum(map(len, said))
        if alike is None or size > MAX_HEAD_BYTES:
            return None
        deciding = tuple([values[at] for at in alike.deciding])
        shape = alike.shapes.get(deciding)
        if shape is None:
            shape = _shape(parser, url, names, values)
            if shape is None:
                return None
            if size <= KEPT_SHAPE_BYTES:
                self._keep(key, alike, deciding, shape)
        if alike.length is None:
            return Request(shape, values, None if shape.chunked else 0)
        told = values[alike.length]
        if shape.chunked or not told.isdigit() or len(told) > _LONGEST_LENGTH:
            return None
        return Request(shape, values, int(told))

    def _keep(
        self, key: tuple[object, ...], alike: _Alike, deciding: tuple[bytes, ...], shape: Shape
    ) -> None:
        if self._count >= KEPT_SHAPES:
            self._kept.clear()
            alike.shapes.clear()
            self._count = 0
        self._count += 1
        alike.shapes[deciding] = shape
        self._kept[key] = alike


def _alike(names: list[bytes]) -> _Alike | None:
    """Where what is looked at stands in a head with these names; None when it says two things."""
    lows = [name.lower() for name in names]
    if len(lows) > MAX_HEADERS or any(lows.count(one) > 1 for one in _ONCE):
        return None
    deciding = tuple(at for at, low in enumerate(lows) if low in _DECIDING)
    return _Alike(deciding, lows.index(_LENGTH) if _LENGTH in lows else None)


def _shape(parser: Read, url: bytes, names: list[bytes], values: list[bytes]) -> Shape | None:
    """Take a head apart; None when its target or its framing is not one we read."""
    lows = [name.lower() for name in names]
    told = dict(zip(lows, values, strict=True))
    coding = told.get(b"transfer-encoding")
    if not url.isascii() or (coding is not None and coding.lower() != b"chunked"):
        return None
    return Shape(
        method=parser.get_method().decode("ascii"),
        target=url.decode("ascii"),
        names=tuple([name.decode("latin-1") for name in names]),
        chunked=coding is not None,
        keep_alive=parser.should_keep_alive(),
        http11=parser.get_http_version() == "1.1",
        expects=told.get(b"expect", b"").lower() == b"100-continue",
    )
