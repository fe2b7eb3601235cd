"""The runtime contract's structs at the edge: clients' bodies into them, and their schemas."""

import functools
import operator
import types
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec
from pydantic import create_model

from atoll.surfaces.http.body.fields import Body, Shown

S = TypeVar("S", bound=msgspec.Struct)


def request_body(body: Body | None, kind: type[S]) -> S:
    """Return what a client's body says as the contract's; null says nothing."""
    said = {} if body is None else body.model_dump(mode="json", by_alias=True, exclude_none=True)
    return msgspec.convert(said, kind)


@functools.cache
def shown(struct: type[msgspec.Struct]) -> type[Shown]:
    """Return the schema of an answer with this struct's fields, names and docstring."""
    fields: dict[str, Any] = {
        field.encode_name: (_schema(field.type), ... if field.required else field.default)
        for field in msgspec.structs.fields(struct)
    }
    tag = struct.__struct_config__.tag
    if tag is not None:
        fields = {str(struct.__struct_config__.tag_field): (Literal[tag], ...), **fields}
    name = struct.__name__.replace("Record", "View")
    return create_model(name, __base__=Shown, __doc__=struct.__doc__, **fields)


def _schema(kind: Any) -> Any:
    """Return a field's type with models in the place of structs."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return shown(kind)
    if get_origin(kind) in (types.UnionType, Union):
        return functools.reduce(operator.or_, map(_schema, get_args(kind)))
    if get_origin(kind) in (list, tuple):
        return list[_schema(get_args(kind)[0])]  # type: ignore[misc]
    return kind
