"""Schemas of structs, for routes that are not declared."""

import functools
import operator
import re
import types
from collections.abc import Callable
from typing import Any, Literal, Union, get_args, get_origin

import msgspec
from pydantic import create_model

from atoll.surfaces.http.body.fields import Partial, ResponseModel


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


def _in_place(kind: Any, exchange: Callable[[type[msgspec.Struct]], type]) -> Any:
    """Return a field's type with something else in the place of structs."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return exchange(kind)
    if get_origin(kind) in (types.UnionType, Union):
        return functools.reduce(operator.or_, (_in_place(one, exchange) for one in get_args(kind)))
    if get_origin(kind) in (list, tuple):
        return list[_in_place(get_args(kind)[0], exchange)]  # type: ignore[misc]
    return kind
