"""A request as the broker door received it, and the shapes of request heads, each parsed once.

An agent's heads differ in a length, an id or a time. Every decision depends on the target, the
header names and a few values only. It is therefore cached by these, as a `RequestShape`. This
module knows no keys and no rules.
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
"""Headers whose values decide, here or when a request is checked."""


class ParsedHead(Protocol):
    """The parser's view of the head that it has just parsed."""

    def get_method(self) -> bytes: ...
    def get_http_version(self) -> str: ...
    def should_keep_alive(self) -> bool: ...


@dataclass(frozen=True, slots=True, eq=False)
class RequestShape:
    """The common part of heads that are decided alike. `names` are header names and `target` is as
    sent. A shape equals only itself, so that it can be a cache key."""

    method: str
    target: str
    names: tuple[str, ...]
    chunked: bool
    keep_alive: bool
    http11: bool
    expects: bool


class BrokerRequest(msgspec.Struct):
    """Request with the body pieces that came before its turn (`early`). `values` are header values
    in the order of the shape's names. `length` is None for a chunked body. `complete` is true once
    the whole body came."""

    shape: RequestShape
    values: list[bytes]
    length: int | None
    early: list[bytes] = msgspec.field(default_factory=list)
    complete: bool = False

    @property
    def headers(self) -> Headers:
        """The headers as sent."""
        values = [value.decode("latin-1") for value in self.values]
        return tuple(zip(self.shape.names, values, strict=True))


@dataclass(frozen=True, slots=True)
class _ShapeGroup:
    """The shapes of one target and one list of names. `deciding` are the indices of the values that
    decide, `shapes` are keyed by these values, `length` is the index of Content-Length."""

    deciding: tuple[int, ...]
    length: int | None
    shapes: dict[tuple[bytes, ...], RequestShape] = field(default_factory=dict)


class RequestShapes:
    """A bounded cache of the shapes seen at one door."""

    __slots__ = ("_count", "_kept")

    def __init__(self) -> None:
        self._kept: dict[tuple[object, ...], _ShapeGroup] = {}
        self._count = 0

    def request(self, parser: ParsedHead, url: bytes, fields: list[bytes]) -> BrokerRequest | None:
        """Return the request of a head, or None for an ambiguous or oversized one. `fields` are
        header names and values in alternation."""
        names, values = fields[0::2], fields[1::2]
        key = (parser.get_method(), parser.get_http_version(), url, *names)
        group = self._kept.get(key) or _make_group(names)
        size = len(url) + sum(map(len, fields))
        if group is None or size > MAX_HEAD_BYTES:
            return None
        deciding = tuple([values[at] for at in group.deciding])
        shape = group.shapes.get(deciding)
        if shape is None:
            shape = _make_shape(parser, url, names, values)
            if shape is None:
                return None
            if size <= KEPT_SHAPE_BYTES:
                self._keep(key, group, deciding, shape)
        if group.length is None:
            return BrokerRequest(shape, values, None if shape.chunked else 0)
        text = values[group.length]
        if shape.chunked or not text.isdigit() or len(text) > _LONGEST_LENGTH:
            return None
        return BrokerRequest(shape, values, int(text))

    def _keep(
        self,
        key: tuple[object, ...],
        group: _ShapeGroup,
        deciding: tuple[bytes, ...],
        shape: RequestShape,
    ) -> None:
        if self._count >= KEPT_SHAPES:
            self._kept.clear()
            group.shapes.clear()
            self._count = 0
        self._count += 1
        group.shapes[deciding] = shape
        self._kept[key] = group


def _make_group(names: list[bytes]) -> _ShapeGroup | None:
    """Return an empty group for these header names, or None when they are ambiguous."""
    lowered = [name.lower() for name in names]
    if len(lowered) > MAX_HEADERS or any(lowered.count(name) > 1 for name in _ONCE):
        return None
    deciding = tuple(at for at, low in enumerate(lowered) if low in _DECIDING)
    return _ShapeGroup(deciding, lowered.index(_LENGTH) if _LENGTH in lowered else None)


def _make_shape(
    parser: ParsedHead, url: bytes, names: list[bytes], values: list[bytes]
) -> RequestShape | None:
    """Return the shape of a head, or None when its target or its framing is not supported."""
    lowered = [name.lower() for name in names]
    headers = dict(zip(lowered, values, strict=True))
    coding = headers.get(b"transfer-encoding")
    if not url.isascii() or (coding is not None and coding.lower() != b"chunked"):
        return None
    return RequestShape(
        method=parser.get_method().decode("ascii"),
        target=url.decode("ascii"),
        names=tuple([name.decode("latin-1") for name in names]),
        chunked=coding is not None,
        keep_alive=parser.should_keep_alive(),
        http11=parser.get_http_version() == "1.1",
        expects=headers.get(b"expect", b"").lower() == b"100-continue",
    )
