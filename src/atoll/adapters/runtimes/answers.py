"""A runtime's responses, decoded: values of the call's type, and problem documents as errors."""

from typing import TypeVar

import msgspec

from atoll.domain.error_status import kind_of
from atoll.domain.errors import AtollError, Failed
from atoll.wire.contract.call import RuntimeCall
from atoll.wire.http.unreadable import UNREADABLE

T = TypeVar("T")

MAX_PROBLEM_BYTES = 65536


class _Problem(msgspec.Struct):
    """The members of an RFC 9457 document that are passed on."""

    code: str | None = None
    detail: str | None = None
    title: str | None = None
    field: str | None = None


def read_answer(call: RuntimeCall[T], status: int, body: bytes) -> T:
    """Return the value of a response. Raises the error that a problem document stands for, and
    `Failed` for a response outside the contract."""
    if status >= 400:
        raise problem(status, body)
    try:
        return call.read(status, body)
    except UNREADABLE as err:
        raise Failed(f"The sandbox's runtime answered what it should not: {err}.") from err


def problem(status: int, body: bytes) -> AtollError:
    """Return the error that a response stands for."""
    try:
        found = msgspec.json.decode(body, type=_Problem)
    except UNREADABLE:
        found = _Problem()
    words = found.detail or found.title or f"The sandbox's runtime answered with status {status}."
    return kind_of(status)(words, code=found.code, field=found.field)
