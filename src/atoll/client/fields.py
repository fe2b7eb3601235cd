"""Typed fields of the JSON objects the API sends.

A `Shape` names the fields that are read, each with its type. It is not a validator: fields that
are not named pass through in `value`, and a field of the wrong type fails when it is read. So a
client and a server of different versions work together as far as they can.
"""

import types
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar, cast, overload

from atoll.client.answer import Answer, Json

T = TypeVar("T")


class Shape:
    """A JSON object of the API. `value` is what the server sent, unchanged."""

    __slots__ = ("value",)

    def __init__(self, value: Mapping[str, Json]) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.value == self.value

    def __hash__(self) -> int:
        return hash(repr(self.value))


S = TypeVar("S", bound=Shape)


class Field(Generic[T]):
    """Field of a shape, under its own name. Reading it raises `Failed` for a wrong type. `kind` is
    its type: a scalar, a shape, a list of one, or None for a word of the annotation's choice."""

    def __init__(self, kind: object, read: Callable[[Answer, str], T]) -> None:
        self.kind = kind
        self._read = read
        self.name = ""

    def __set_name__(self, owner: type[Shape], name: str) -> None:
        self.name = name

    @overload
    def __get__(self, shape: None, owner: type[Shape]) -> "Field[T]": ...
    @overload
    def __get__(self, shape: Shape, owner: type[Shape]) -> T: ...
    def __get__(self, shape: Shape | None, owner: type[Shape]) -> "Field[T] | T":
        return self if shape is None else self._read(Answer(shape.value), self.name)


def text() -> Field[str]:
    """Return a string field; empty when it is absent or null."""
    return Field(str, Answer.text)


def word() -> Field[T]:
    """Return a string field whose annotation lists the words of the contract. A newer server may
    send others; they pass, and so does the empty string when it is absent or null."""
    return Field(None, lambda answer, name: cast("T", answer.text(name)))


def number(default: int = 0) -> Field[int]:
    """Return a field of whole numbers; `default` when it is absent or null."""
    return Field(int, lambda answer, name: answer.number(name, default))


def flag() -> Field[bool]:
    """Return a field that is true only for a literal true."""
    return Field(bool, Answer.flag)


def texts() -> Field[list[str]]:
    """Return a field of strings; empty when it is absent or null."""
    return Field(list[str], Answer.texts)


def numbers() -> Field[list[int]]:
    """Return a field of whole numbers; empty when it is absent or null."""
    return Field(list[int], Answer.numbers)


def one(shape: type[S]) -> Field[S]:
    """Return an object field; an empty object when it is absent or null."""
    return Field(shape, lambda answer, name: shape(answer.child(name).value))


def many(shape: type[S]) -> Field[list[S]]:
    """Return a field of objects; empty when it is absent or null."""
    kind = types.GenericAlias(list, (shape,))
    return Field(kind, lambda answer, name: [shape(item.value) for item in answer.children(name)])
