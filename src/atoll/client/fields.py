"""Typed fields of the JSON objects the API sends.

A `Shape` names the fields that are read, each with its type. It is not a validator: fields that
are not named pass through in `value`, and a field of the wrong type fails when it is read, which
is the server's fault and says so. So a client and a server of different versions work together as
far as they can.
"""

import types
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeAlias, TypeVar, cast, overload

from atoll.domain.errors import Failed

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"

T = TypeVar("T")
S = TypeVar("S", bound="Shape")


class Shape:
    """A JSON object of the API. `value` is what the server sent, unchanged."""

    __slots__ = ("value",)

    def __init__(self, value: Mapping[str, Json]) -> None:
        self.value = value

    @classmethod
    def read(cls: type[S], value: Json, name: str = "the answer") -> S:
        """Return `value` as an object. Raises `Failed` when it is something else."""
        if not isinstance(value, Mapping):
            raise _wrong_type(name, "an object", value)
        return cls(value)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.value == self.value

    def __hash__(self) -> int:
        return hash(repr(self.value))


class Field(Generic[T]):
    """Field of a shape, under its own name. Reading it raises `Failed` for a wrong type. `kind` is
    its type: a scalar, a shape, a list of one, or None for a word of the annotation's choice.
    `empty` makes what it is when it is absent or null."""

    def __init__(
        self, kind: object, read: Callable[[Json, str], T], empty: Callable[[], T]
    ) -> None:
        self.kind = kind
        self._read = read
        self._empty = empty
        self.name = ""

    def __set_name__(self, owner: type[Shape], name: str) -> None:
        self.name = name

    @overload
    def __get__(self, shape: None, owner: type[Shape]) -> "Field[T]": ...
    @overload
    def __get__(self, shape: Shape, owner: type[Shape]) -> T: ...
    def __get__(self, shape: Shape | None, owner: type[Shape]) -> "Field[T] | T":
        if shape is None:
            return self
        value = shape.value.get(self.name)
        return self._empty() if value is None else self._read(value, self.name)


def text() -> Field[str]:
    """Return a string field; empty when it is absent or null."""
    return Field(str, _read_text, str)


def word() -> Field[T]:
    """Return a string field whose annotation lists the words of the contract. A newer server may
    send others; they pass, and so does the empty string when it is absent or null."""
    return Field(
        None, lambda value, name: cast("T", _read_text(value, name)), lambda: cast("T", "")
    )


def number(default: int = 0) -> Field[int]:
    """Return a field of whole numbers; `default` when it is absent or null."""
    return Field(int, _read_number, lambda: default)


def decimal() -> Field[float | None]:
    """Return a field of a number with a fraction; None when it is absent or null."""
    return Field(float, _decimal, lambda: None)


def flag() -> Field[bool]:
    """Return a field that is true only for a literal true."""
    return Field(bool, lambda value, _: value is True, bool)


def texts() -> Field[list[str]]:
    """Return a field of strings; empty when it is absent or null."""
    return Field(list[str], lambda value, name: list(map(str, _list(value, name))), list)


def numbers() -> Field[list[int]]:
    """Return a field of whole numbers; empty when it is absent or null."""
    return Field(list[int], _numbers, list)


def named_texts() -> Field[dict[str, str]]:
    """Return a field of strings by their names; empty when it is absent or null."""
    return Field(dict[str, str], _named_texts, dict)


def one(shape: type[S]) -> Field[S]:
    """Return an object field; an empty object when it is absent or null."""
    return Field(shape, shape.read, lambda: shape({}))


def optional(shape: type[S]) -> Field[S | None]:
    """Return an object field; None when it is absent or null."""
    return Field(shape, shape.read, lambda: None)


def many(shape: type[S]) -> Field[list[S]]:
    """Return a field of objects; empty when it is absent or null."""
    kind = types.GenericAlias(list, (shape,))
    return Field(
        kind, lambda value, name: [shape.read(item, name) for item in _list(value, name)], list
    )


def _read_text(value: Json, name: str) -> str:
    if not isinstance(value, str):
        raise _wrong_type(name, "a string", value)
    return value


def _read_number(value: Json, name: str) -> int:
    return int(_decimal(value, name))


def _decimal(value: Json, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong_type(name, "a number", value)
    return float(value)


def _named_texts(document: Json, name: str) -> dict[str, str]:
    if not isinstance(document, Mapping):
        raise _wrong_type(name, "an object", document)
    return {key: str(value) for key, value in document.items()}


def _numbers(value: Json, name: str) -> list[int]:
    items = _list(value, name)
    numbers = [item for item in items if isinstance(item, int)]
    if len(numbers) < len(items):
        raise _wrong_type(name, "a list of numbers", value)
    return numbers


def _list(value: Json, name: str) -> Sequence[Json]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise _wrong_type(name, "a list", value)
    return value


def _wrong_type(name: str, wanted: str, value: Json) -> Failed:
    return Failed(
        f"the server answered `{name}` with {type(value).__name__} where {wanted} belongs; "
        "the command line and the server may be of different versions"
    )
