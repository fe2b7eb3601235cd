"""Operations of the public API: the signature of a method is its declaration.

An area is a class of methods without bodies. A name in the path is a parameter of the path, a
`Request` is the body, what is marked `Header` a header, and the rest is the query. The docstring is
the documentation. mypy compares a function that serves an operation with its declaration.
"""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from enum import Enum
from typing import (
    Any,
    ClassVar,
    Concatenate,
    Final,
    Generic,
    ParamSpec,
    TypedDict,
    TypeVar,
    Unpack,
)

import msgspec

from atoll.wire.api.annotations import Kind, kind_of, only_member
from atoll.wire.http.media_types import PROBLEM

P = ParamSpec("P")
R = TypeVar("R", covariant=True)

REQUIRED: Final = inspect.Parameter.empty
_IN_PATH: Final = re.compile(r"\{(\w+)\}")


class Request(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A body. Unknown fields are refused; what is left out has its default. `schema_members` are
    members of its schema that no field says."""

    schema_members: ClassVar[Mapping[str, Any]] = {}


class SealedRequest(Request):
    """A body with a secret, which its text does not show."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class Answer(msgspec.Struct, kw_only=True):
    """A JSON object of an answer: every field is always sent."""


class OpenAnswer(Answer):
    """A JSON object of an answer that may have further fields."""

    schema_members: ClassVar[Mapping[str, Any]] = {"additionalProperties": True}


class PartialAnswer(Answer, omit_defaults=True):
    """A JSON object of an answer that leaves fields out where they say nothing."""


class Parameters(msgspec.Struct, kw_only=True):
    """Parameters of the query, and headers, that several operations have. Each field is one; an
    operation takes them as one value."""


class Place(Enum):
    """The part of a request in which a parameter stands."""

    PATH = "path"
    QUERY = "query"
    HEADER = "header"
    BODY = "body"
    FIELD = "field of the body"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an operation. `name` is that of the signature, `key` that of the request.
    Without a `default` (`REQUIRED`) it must be given. One of a `group` is a field of the argument
    `argument`."""

    name: str
    key: str
    place: Place
    annotation: Any
    default: Any = REQUIRED
    group: type[Parameters] | None = None
    argument: str = ""

    @property
    def is_list(self) -> bool:
        """Report whether a query may give it several times."""
        return kind_of(only_member(kind_of(self.annotation))).item is not None


@dataclass(frozen=True, slots=True)
class Removal:
    """The end of an operation: it is deprecated since a day, is there until another, and `link`
    leads to what takes its place."""

    since: date
    sunset: date
    link: str


class Stream:
    """An answer that comes in pieces. `Facts.stream` is its media type, or those it may have."""


@dataclass(frozen=True, slots=True)
class Another:
    """Another answer than that of the operation, for a status of success: what the status means,
    and the annotation."""

    text: str
    answer: Any


@dataclass(frozen=True, slots=True)
class Failures:
    """The failures of an operation that has not the usual ones: what each status means, and the
    media type that says so."""

    texts: Mapping[int, str] = field(default_factory=dict)
    media_type: str = PROBLEM


class Facts(TypedDict, total=False):
    """Facts that a signature does not say of an operation. `status` is that of its answer.
    `problems` are the statuses of its errors besides those that every operation has, unless
    `failures` are all of them. `needs` is its
    permission, where it is not its area's; a `public` one needs no login, and one for `any_caller`
    a login alone. A list of at most `max_items` needs no pages. `about` describes the answer.
    `also` are other statuses of success, with the same answer or `Another`, and what they mean.
    `takes` are the media types of a body that is read in pieces, `reads` those of one that the
    function reads whole and by itself. `offers` is that of a stream which is the answer for those
    who accept it. A JSON body has at most `max_bytes` and `max_values`, where these are not the
    usual bounds.
    `nothing` says when there is no answer (204) instead of the declared one."""

    status: int
    problems: tuple[int, ...]
    failures: Failures
    needs: str
    public: bool
    any_caller: bool
    max_items: int
    removal: Removal
    stream: str | tuple[str, ...]
    about: str
    also: Mapping[int, str | Another]
    takes: str | tuple[str, ...]
    reads: tuple[str, ...]
    max_bytes: int
    max_values: int
    offers: str
    nothing: str


@dataclass(eq=False, slots=True)
class Operation(Generic[P, R]):
    """An operation of the API. `name` is that of its function in the document; `Facts` describes
    the rest."""

    declared: Callable[..., Any]
    method: str
    path: str
    name: str
    status: int = 200
    problems: tuple[int, ...] = ()
    failures: Failures | None = None
    needs: str = ""
    public: bool = False
    any_caller: bool = False
    max_items: int | None = None
    removal: Removal | None = None
    stream: str | tuple[str, ...] | None = None
    about: str = "Successful Response"
    also: Mapping[int, str | Another] = field(default_factory=dict)
    takes: str | tuple[str, ...] | None = None
    reads: tuple[str, ...] = ()
    max_bytes: int | None = None
    max_values: int | None = None
    offers: str | None = None
    nothing: str | None = None
    tag: str = ""

    @property
    def text(self) -> str:
        """Return the documentation."""
        return inspect.cleandoc(self.declared.__doc__ or "")

    @property
    def answer(self) -> Any:
        """Return the annotation of the answer; None for an answer without content."""
        return inspect.signature(self.declared, eval_str=True).return_annotation

    def at(self, line: str) -> "Operation[P, R]":
        """Return the same operation at another method and path."""
        method, _, path = line.partition(" ")
        return replace(self, method=method, path=path)

    def parameters(self) -> tuple[Parameter, ...]:
        """Return the parameters in the order of the signature."""
        return tuple(self._each_parameter())

    def _each_parameter(self) -> Iterator[Parameter]:
        in_path = set(_IN_PATH.findall(self.path))
        signature = inspect.signature(self.declared, eval_str=True)
        for name, found in list(signature.parameters.items())[1:]:
            kind = kind_of(found.annotation)
            if isinstance(kind.plain, type) and issubclass(kind.plain, Parameters):
                yield from _fields_of(kind.plain, name)
                continue
            place = Place.PATH if name in in_path else _place_of(kind)
            key = kind.header or kind.query_key or name
            yield Parameter(name, key, place, found.annotation, found.default)


class Area:
    """The operations of one noun. `tag` groups them in the document; `needs` is the permission of
    those that name none."""

    tag: ClassVar[str]
    needs: ClassVar[str]

    def __init_subclass__(cls) -> None:
        for one in operations_of(cls):
            one.tag = cls.tag
            one.needs = one.needs or ("" if one.public or one.any_caller else cls.needs)


def operations_of(area: type[Area]) -> tuple[Operation[..., Any], ...]:
    """Return the operations of an area in their order."""
    return tuple(one for one in vars(area).values() if isinstance(one, Operation))


def operation(
    line: str, *, name: str, **facts: Unpack[Facts]
) -> Callable[[Callable[Concatenate[Any, P], R]], Operation[P, R]]:
    """Return the decorator that makes a method an operation; `line` is `GET /v1/…`."""
    method, _, path = line.partition(" ")

    def declare(declared: Callable[Concatenate[Any, P], R]) -> Operation[P, R]:
        return Operation(declared, method, path, name, **facts)

    return declare


def _fields_of(group: type[Parameters], argument: str) -> Iterator[Parameter]:
    for one in msgspec.structs.fields(group):
        kind = kind_of(one.type)
        default = REQUIRED if one.required else one.default
        if one.default_factory is not msgspec.NODEFAULT:
            default = one.default_factory()
        key = kind.header or one.encode_name
        yield Parameter(one.name, key, _place_of(kind), one.type, default, group, argument)


def _place_of(kind: Kind) -> Place:
    plain = only_member(kind)
    if isinstance(plain, type) and issubclass(plain, Request):
        return Place.BODY
    return Place.QUERY if kind.header is None else Place.HEADER
