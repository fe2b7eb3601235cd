"""What all thin forwards to a runtime share: ids in paths, and problems as errors.

Bodies pass untouched; only the words of a JSON answer are exchanged (`session` is the
runtime's word, `terminal` ours).
"""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from atoll.domain.errors import Failed, NotFound
from atoll.domain.event import Json
from atoll.wire.contract.call import Query, RuntimeCall
from atoll.wire.http.unreadable import UNREADABLE

T = TypeVar("T")

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


@dataclass(frozen=True, slots=True)
class RuntimeReply:
    """A whole accepted answer."""

    status: int
    body: bytes


def raw_call(
    method: str, path: str, query: Query = (), *, body: bytes | AsyncIterator[bytes] | None = None
) -> RuntimeCall[RuntimeReply]:
    """Return a request whose answer is handed on as it is."""
    return RuntimeCall(method, path, RuntimeReply, query, body=body)


def checked_id(text: str, *, noun: str) -> str:
    """`text` when it can be an id (it goes into a path). Raises `NotFound`."""
    if not _ID.match(text):
        raise NotFound(f"There is no such {noun} here; list them to see which there are.")
    return text


def read_reply(reply: RuntimeReply, kind: type[T]) -> T:
    """What an accepted answer says, as `kind`. Raises `Failed` when it says something else."""
    try:
        return msgspec.json.decode(reply.body, type=kind)
    except UNREADABLE as err:
        raise Failed(f"The sandbox's runtime answered what it should not: {err}.") from err


def renamed(reply: RuntimeReply, words: dict[str, str]) -> RuntimeReply:
    """`reply` with the keys of its JSON object, and of objects listed in it, exchanged."""
    if not reply.body:
        return reply
    document: dict[str, Json] = read_reply(reply, dict)
    body = msgspec.json.encode(_exchange(document, words))
    return RuntimeReply(reply.status, body)


def _exchange(document: Json, words: dict[str, str]) -> Json:
    match document:
        case dict():
            return {words.get(key, key): _listed(value, words) for key, value in document.items()}
        case _:
            return document


def _listed(value: Json, words: dict[str, str]) -> Json:
    match value:
        case list():
            return [_exchange(item, words) for item in value]
        case _:
            return value


def only(reply: RuntimeReply, list_name: str, wanted: tuple[str, str]) -> RuntimeReply:
    """`reply` with one list of its JSON object cut down to the objects whose field has this
    value."""
    document: dict[str, Json] = read_reply(reply, dict)
    field, value = wanted
    listed = document.get(list_name)
    rows = listed if isinstance(listed, list) else []
    kept = [row for row in rows if isinstance(row, dict) and row.get(field) == value]
    return RuntimeReply(reply.status, msgspec.json.encode({list_name: kept}))
