"""Typed fields of the JSON objects the API sends.

A `Shape` names the fields that are read, each with its type. It is not a validator: fields that
are not named pass through in `value`, and a field of the wrong type fails when it is read. So a
client and a server of different versions work together as far as they can.
"""

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar, overload

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
    """Field of a shape, under its own name. Reading it raises `Failed` for a wrong type."""

    def __init__(self, read: Callable[[Answer, str], T]) -> None:
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
    return Field(lambda answer, name: answer.text(name))


def number(default: int = 0) -> Field[int]:
    """Return a field of whole numbers; `default` when it is absent or null."""
    return Field(lambda answer, name: answer.number(name, default))


def flag() -> Field[bool]:
    """Return a field that is true only for a literal true."""
    return Field(lambda answer, name: answer.flag(name))


def texts() -> Field[list[str]]:
    """Return a field of strings; empty when it is absent or null."""
    return Field(lambda answer, name: answer.texts(name))


def one(shape: type[S]) -> Field[S]:
    """Return an object field; an empty object when it is absent or null."""
    return Field(lambda answer, name: shape(answer.child(name).value))


def many(shape: type[S]) -> Field[list[S]]:
    """Return a field of objects; empty when it is absent or null."""
    return Field(lambda answer, name: [shape(item.value) for item in answer.children(name)])
