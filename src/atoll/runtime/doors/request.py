"""One request as it came in at the broker door, and the shapes of heads, each read once.

An agent's heads differ in little: a length, an id, a time. What is decided about one depends on
its target, its names and a few of its values, so it is remembered by those and holds for every
head that is alike in them. Knows nothing of keys and rules.
"""

from dataclasses import dataclass, field
from typing import Protocol

from atoll.domain.passage import DECIDING, Headers

MAX_HEAD_BYTES = 32 * 1024
MAX_HEADERS = 128
KEPT_SHAPES = 32
KEPT_SHAPE_BYTES = 4 * 1024
_LENGTH = b"content-length"
_LONGEST_LENGTH = 20
_ONCE = ("host", "transfer-encoding")
_DECIDING = frozenset(
    {*(name.encode() for name in DECIDING), b"transfer-encoding", b"expect"}
)  # fmt: skip
"""The headers whose values are looked at, here or when a request is judged."""


_Key = tuple[bytes, str, bytes, tuple[bytes, ...], tuple[bytes, ...]]


class Read(Protocol):
    """What llhttp knows of a head that it has just read."""

    def get_method(self) -> bytes: ...
    def get_http_version(self) -> str: ...
    def should_keep_alive(self) -> bool: ...


@dataclass(slots=True)
class Lines:
    """A head as it is heard, without its `Content-Length`, whose values are `lengths`;
    `deciding` are those values that are looked at."""

    url: bytes = b""
    names: list[bytes] = field(default_factory=list)
    values: list[bytes] = field(default_factory=list)
    deciding: list[bytes] = field(default_factory=list)
    lengths: list[bytes] = field(default_factory=list)

    def add(self, name: bytes, value: bytes) -> None:
        """The next header."""
        low = name.lower()
        if low == _LENGTH:
            self.lengths.append(value)
            return
        self.names.append(name)
        self.values.append(value)
        if low in _DECIDING:
            self.deciding.append(value)

    @property
    def size(self) -> int:
        """Bytes of it all."""
        return len(self.url) + sum(map(len, self.names)) + sum(map(len, self.values))


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """What heads have in common that are decided alike. `target` is as sent; `chunked` when the
    body comes in chunks. Equal to itself only, so that something can be remembered by it."""

    method: str
    target: str
    names: tuple[str, ...]
    chunked: bool
    keep_alive: bool
    http11: bool
    expects: bool


@dataclass(slots=True)
class Request:
    """One request, and what of its body came before its turn. `values` are its headers', by the
    places of their names; `length` is None for a body in chunks."""

    shape: Shape
    values: list[bytes]
    length: int | None
    early: list[bytes] = field(default_factory=list)
    whole: bool = False

    @property
    def headers(self) -> Headers:
        """Its headers but for `Content-Length`, as sent."""
        values = [value.decode("latin-1") for value in self.values]
        return tuple(zip(self.shape.names, values, strict=True))


class Shapes:
    """The last shapes that heads came in at one door."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: dict[_Key, Shape] = {}

    def request(self, parser: Read, lines: Lines) -> Request | None:
        """A request of its head; None when it is one that nobody should read."""
        if lines.size > MAX_HEAD_BYTES:
            return None
        names, deciding = tuple(lines.names), tuple(lines.deciding)
        key = (parser.get_method(), parser.get_http_version(), lines.url, names, deciding)
        shape = self._kept.get(key)
        if shape is None:
            shape = _shape(parser, lines)
            if shape is None:
                return None
            if lines.size <= KEPT_SHAPE_BYTES:
                self._keep(key, shape)
        if not lines.lengths:
            return Request(shape, lines.values, None if shape.chunked else 0)
        told = lines.lengths[0]
        if len(lines.lengths) > 1 or shape.chunked:
            return None
        if not told.isdigit() or len(told) > _LONGEST_LENGTH:
            return None
        return Request(shape, lines.values, int(told))

    def _keep(self, key: _Key, shape: Shape) -> None:
        if len(self._kept) >= KEPT_SHAPES:
            del self._kept[next(iter(self._kept))]
        self._kept[key] = shape


def _shape(parser: Read, lines: Lines) -> Shape | None:
    """Take a head apart; None when it says two things."""
    if len(lines.names) > MAX_HEADERS or not lines.url.isascii():
        return None
    names = tuple([name.decode("latin-1") for name in lines.names])
    lows = [name.lower() for name in names]
    if any(lows.count(one) > 1 for one in _ONCE):
        return None
    told = dict(zip(lows, lines.values, strict=True))
    coding = told.get("transfer-encoding")
    if coding is not None and coding.lower() != b"chunked":
        return None
    return Shape(
        method=parser.get_method().decode("ascii"),
        target=lines.url.decode("ascii"),
        names=names,
        chunked=coding is not None,
        keep_alive=parser.should_keep_alive(),
        http11=parser.get_http_version() == "1.1",
        expects=told.get("expect", b"").lower() == b"100-continue",
    )
