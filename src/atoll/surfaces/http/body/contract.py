"""The runtime contract's structs at the edge: clients' bodies into them, and their schemas."""

import functools
import operator
import re
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec
from pydantic import create_model

from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.fields import Body, Partial, ResponseModel

S = TypeVar("S", bound=msgspec.Struct)


def request_body(body: Body | None, kind: type[S]) -> S:
    """Return a client's body as the contract's type; a null field counts as absent."""
    said = {} if body is None else body.model_dump(mode="json", by_alias=True, exclude_none=True)
    return msgspec.convert(said, kind)


@dataclass(frozen=True)
class Words:
    """The words of one surface: `noun` stands for Terminal in names of schemas, `fields` are its
    names for attributes of the contract's structs."""

    noun: str = "Terminal"
    fields: tuple[tuple[str, str], ...] = ()

    def answer(self, value: msgspec.Struct, status: int = 200) -> Json:
        """Return an answer in these words."""
        view = _view(self, type(value))
        return Json(msgspec.convert(value, view, from_attributes=True), status)

    def shown(self, struct: type[msgspec.Struct]) -> type[ResponseModel]:
        """Return the schema of an answer in these words."""
        return shown(_view(self, struct))


WORDS = Words()
"""The words of `/v1`: attributes' own names."""


@functools.cache
def _view(words: Words, struct: type[msgspec.Struct]) -> type[msgspec.Struct]:
    """Return the struct with other names for its fields, and theirs."""
    fields = [
        (field.name, _in_place(field.type, functools.partial(_view, words)), *_default(field))
        for field in msgspec.structs.fields(struct)
    ]
    name = struct.__name__.replace("Terminal", words.noun)
    return msgspec.defstruct(
        name,
        fields,
        namespace={"__doc__": struct.__doc__},
        rename=dict(words.fields),
        omit_defaults=struct.__struct_config__.omit_defaults,
    )


@functools.cache
def shown(struct: type[msgspec.Struct]) -> type[ResponseModel]:
    """Return the schema of an answer with this struct's fields, names and docstring."""
    # A parametrized generic struct hides its configuration.
    plain: type[msgspec.Struct] = get_origin(struct) or struct
    config = plain.__struct_config__
    fields: dict[str, Any] = {
        field.encode_name: (
            _in_place(field.type, shown),
            field.default if config.omit_defaults and not field.required else ...,
        )
        for field in msgspec.structs.fields(struct)
    }
    if config.tag is not None:
        fields = {str(config.tag_field): (Literal[config.tag], ...), **fields}
    name = re.sub("Record$", "View", plain.__name__)
    return create_model(
        name,
        __base__=Partial if config.omit_defaults else ResponseModel,
        __doc__=plain.__doc__,
        **fields,
    )


def _default(field: msgspec.structs.FieldInfo) -> tuple[Any, ...]:
    return () if field.required else (field.default,)


def _in_place(kind: Any, exchange: Callable[[type[msgspec.Struct]], type]) -> Any:
    """Return a field's type with something else in the place of structs."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return exchange(kind)
    if get_origin(kind) in (types.UnionType, Union):
        return functools.reduce(operator.or_, (_in_place(one, exchange) for one in get_args(kind)))
    if get_origin(kind) in (list, tuple):
        return list[_in_place(get_args(kind)[0], exchange)]  # type: ignore[misc]
    return kind
