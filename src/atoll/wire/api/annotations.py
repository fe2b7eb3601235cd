"""Annotations of declared fields and parameters: their plain type, their bounds, their place.

A field is `Annotated[str, Meta(max_length=100)]`, by msgspec's `Meta`. `Header`, `QueryKey` and
`Unshown` are ours: a parameter of an operation that is a header, or has another name in the query,
and a field whose default the document leaves out.
"""

import types
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec


@dataclass(frozen=True, slots=True)
class Header:
    """A mark: the parameter is this header, by its name in lower case."""

    name: str


@dataclass(frozen=True, slots=True)
class QueryKey:
    """A mark: the parameter has this name in the query."""

    name: str


@dataclass(frozen=True, slots=True)
class Unshown:
    """A mark: the document does not show the default of the field."""


@dataclass(frozen=True, slots=True)
class Kind:
    """An annotation taken apart: the type without marks, and the marks."""

    plain: Any
    marks: tuple[Any, ...] = ()

    @property
    def bounds(self) -> dict[str, Any]:
        """Return the bounds and words of all `Meta` marks by their names, the outermost first."""
        found: dict[str, Any] = {}
        for mark in self.marks:
            if isinstance(mark, msgspec.Meta):
                found |= {name: value for name, value in _members(mark) if value is not None}
        return found

    @property
    def header(self) -> str | None:
        """Return the name of the header that a parameter is, or None."""
        return next((mark.name for mark in self.marks if isinstance(mark, Header)), None)

    @property
    def query_key(self) -> str | None:
        """Return the name that a parameter has in the query by a mark, or None."""
        return next((mark.name for mark in self.marks if isinstance(mark, QueryKey)), None)

    @property
    def shows_default(self) -> bool:
        """Report whether the document shows the default of a field."""
        return not any(isinstance(mark, Unshown) for mark in self.marks)

    @property
    def is_optional(self) -> bool:
        """Report whether null is a value of the type."""
        return type(None) in self.members

    @property
    def members(self) -> tuple[Any, ...]:
        """Return the members of a union, or the type itself."""
        if get_origin(self.plain) in (types.UnionType, Union):
            return get_args(self.plain)
        return (self.plain,)

    @property
    def words(self) -> tuple[Any, ...] | None:
        """Return the values of a `Literal` in their order, or None."""
        return get_args(self.plain) if get_origin(self.plain) is Literal else None

    @property
    def item(self) -> Any:
        """Return the annotation of a list's items, or None where the type is no list. A tuple of
        any length is one."""
        if self.plain is list:
            return Any
        return get_args(self.plain)[0] if get_origin(self.plain) in (list, tuple) else None

    @property
    def is_tuple(self) -> bool:
        """Report whether the type is a tuple of any length."""
        return get_origin(self.plain) is tuple

    @property
    def entry(self) -> tuple[Any, Any] | None:
        """Return the annotations of a mapping's keys and values, or None where it is none."""
        if self.plain is dict:
            return str, Any
        return get_args(self.plain)[:2] if get_origin(self.plain) is dict else None


@cache
def kind_of(annotation: Any) -> Kind:
    """Return an annotation taken apart."""
    if get_origin(annotation) is Annotated:
        inner, *marks = get_args(annotation)
        kind = kind_of(inner)
        return Kind(kind.plain, (*kind.marks, *marks))
    return Kind(annotation)


def only_member(kind: Kind) -> Any:
    """Return the annotation of a type that may be null as it is when it is not. A union of several
    is itself."""
    rest = [one for one in kind.members if one is not type(None)]
    return rest[0] if len(rest) == 1 else kind.plain


_META = (
    *("gt", "ge", "lt", "le", "multiple_of", "pattern", "min_length", "max_length"),
    *("title", "description", "examples", "extra_json_schema"),
)


def _members(mark: msgspec.Meta) -> list[tuple[str, Any]]:
    return [(name, getattr(mark, name)) for name in _META]
