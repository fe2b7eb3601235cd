"""Answers made of the attributes of domain values, by the names of a declared Struct; and bodies
that a runtime is sent."""

from collections.abc import Callable
from datetime import datetime
from functools import cache
from typing import Any, TypeVar

import msgspec

from atoll.surfaces.http.body.answers import instant
from atoll.wire.api.annotations import kind_of, only_member
from atoll.wire.api.operation import Answer, Request

A = TypeVar("A", bound=Answer)
S = TypeVar("S", bound=msgspec.Struct)


def answer_of(struct: type[A], source: object, **given: object) -> A:
    """Return an answer: the given fields as they are, the others from the attributes of `source`
    with their names. Instants become text, and objects the answers that the field declares."""
    values = {
        name: given[name] if name in given else convert(getattr(source, name))
        for name, convert in _converters(struct)
    }
    return struct(**values)


def runtime_body(body: Request | None, kind: type[S]) -> S:
    """Return a client's body as the runtime's contract has it. A null field counts as absent."""
    fields: dict[str, Any] = {} if body is None else msgspec.to_builtins(body)
    given = {name: value for name, value in fields.items() if value is not None}
    return msgspec.convert(given, kind)


@cache
def _converters(struct: type[Answer]) -> tuple[tuple[str, Callable[[Any], Any]], ...]:
    """Return each field's name, and the function that makes its value of an attribute."""
    return tuple((field.name, _converter(field.type)) for field in msgspec.structs.fields(struct))


def _converter(annotation: Any) -> Callable[[Any], Any]:
    kind = kind_of(only_member(kind_of(annotation)))
    if isinstance(kind.plain, type) and issubclass(kind.plain, Answer):
        nested = kind.plain
        return lambda value: None if value is None else answer_of(nested, value)
    item = kind.item
    if item is not None:
        convert = _converter(item)
        return lambda values: None if values is None else [convert(one) for one in values]
    return _convert_datetime


def _convert_datetime(value: Any) -> Any:
    """Return a time as the API spells it, and any other value unchanged."""
    return instant(value) if isinstance(value, datetime) else value
