"""One request as it came in at the broker door, and heads that came before, read once.

Agents send the same head with every call but for its length, so what was made of one is kept
by its very bytes. Knows nothing of keys and rules.
"""

from dataclasses import dataclass, field
from typing import Protocol

from atoll.domain.passage import Headers

MAX_HEAD_BYTES = 32 * 1024
MAX_HEADERS = 128
KEPT_HEADS = 32
KEPT_HEAD_BYTES = 4 * 1024
_LONGEST_LENGTH = 20
_ONCE = ("host", "transfer-encoding")


class Read(Protocol):
    """What llhttp knows of a head that it has just read."""

    def get_method(self) -> bytes: ...
    def get_http_version(self) -> str: ...
    def should_keep_alive(self) -> bool: ...


@dataclass(frozen=True, slots=True, eq=False)
class Head:
    """A head without its `Content-Length`. `target` is as sent; `chunked` when the body comes in
    chunks. Equal to itself only, so that something can be remembered by it."""

    method: str
    target: str
    headers: Headers
    chunked: bool
    keep_alive: bool
    http11: bool
    expects: bool


@dataclass(slots=True)
class Request:
    """One request, and what of its body came before its turn. `length` is None for a body in
    chunks."""

    head: Head
    length: int | None
    early: list[bytes] = field(default_factory=list)
    whole: bool = False


class Heads:
    """The last heads that came in at one door, by their bytes."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: dict[tuple[bytes | str, ...], Head] = {}

    def request(
        self, parser: Read, url: bytes, said: list[bytes], lengths: list[bytes]
    ) -> Request | None:
        """A request of its head; None when it is one that nobody should read. `said` are names
        and values in turns, without `lengths`, the values of `Content-Length`."""
        key: tuple[bytes | str, ...] = (parser.get_method(), parser.get_http_version(), url, *said)
        head = self._kept.get(key)
        if head is None:
            head = _read(parser, url, said)
            if head is None:
                return None
            self._keep(key, head)
        if not lengths:
            return Request(head, None if head.chunked else 0)
        told = lengths[0]
        if len(lengths) > 1 or head.chunked or not told.isdigit() or len(told) > _LONGEST_LENGTH:
            return None
        return Request(head, int(told))

    def _keep(self, key: tuple[bytes | str, ...], head: Head) -> None:
        if sum(map(len, key)) > KEPT_HEAD_BYTES:
            return
        if len(self._kept) >= KEPT_HEADS:
            del self._kept[next(iter(self._kept))]
        self._kept[key] = head


def _read(parser: Read, url: bytes, said: list[bytes]) -> Head | None:
    """Take a head apart; None when it is too long or says two things."""
    if len(url) + sum(map(len, said)) > MAX_HEAD_BYTES or not url.isascii():
        return None
    words = [each.decode("latin-1") for each in said]
    headers = tuple(zip(words[0::2], words[1::2], strict=True))
    lows = [name.lower() for name, _ in headers]
    if len(headers) > MAX_HEADERS or any(lows.count(one) > 1 for one in _ONCE):
        return None
    told = dict(zip(lows, words[1::2], strict=True))
    coding = told.get("transfer-encoding")
    if coding is not None and coding.lower() != "chunked":
        return None
    return Head(
        method=parser.get_method().decode("ascii"),
        target=url.decode("ascii"),
        headers=headers,
        chunked=coding is not None,
        keep_alive=parser.should_keep_alive(),
        http11=parser.get_http_version() == "1.1",
        expects=told.get("expect", "").lower() == "100-continue",
    )
