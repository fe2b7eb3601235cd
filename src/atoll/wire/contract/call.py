"""A request of the runtime contract as a value: what is sent, and how its answer is read.

The modules beside this one make these values, one function a route. A client port sends them.
A struct's field that is added later has a default, and bodies leave defaults out: a runtime
outlives the control plane that started it, and meets the next version.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Generic, NewType, TypeVar

import msgspec

T = TypeVar("T")

Query = tuple[tuple[str, str], ...]
"""Query parameters as text."""

PathId = NewType("PathId", str)
"""An id that was checked to be one segment of a path, and no other segment than its own."""


class RequestBody(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A JSON body that a route reads."""


@dataclass(frozen=True, slots=True)
class RuntimeCall(Generic[T]):
    """Request to a runtime. `read` decodes the status and the body of an accepted answer; it raises
    one of `wire.http.unreadable.UNREADABLE`. `body` is whole or a stream."""

    method: str
    path: str
    read: Callable[[int, bytes], T]
    query: Query = ()
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | AsyncIterator[bytes] | None = None


def json_call(
    method: str,
    path: str,
    kind: type[T],
    *,
    query: Query = (),
    body: msgspec.Struct | None = None,
) -> RuntimeCall[T]:
    """Return a request that is answered with JSON of this kind."""
    return RuntimeCall(method, path, json_reader(kind), query, body=_encode_body(body))


def done_call(
    method: str, path: str, *, query: Query = (), body: msgspec.Struct | None = None
) -> RuntimeCall[None]:
    """Return a request that is answered without content."""
    return RuntimeCall(method, path, read_nothing, query, body=_encode_body(body))


def bytes_call(path: str, *, query: Query = ()) -> RuntimeCall[bytes]:
    """Return a GET that is answered with bytes, which may be many."""
    return RuntimeCall("GET", path, read_bytes, query)


def json_reader(kind: type[T]) -> Callable[[int, bytes], T]:
    """Return the reader of a JSON answer."""
    return lambda _, body: msgspec.json.decode(body, type=kind)


def read_nothing(_status: int, _body: bytes) -> None:
    """Read an answer without content."""


def read_bytes(_status: int, body: bytes) -> bytes:
    """Return the body as it is."""
    return body


def _encode_body(body: msgspec.Struct | None) -> bytes | None:
    return None if body is None else msgspec.json.encode(body)
