"""JSON Schemas of declared types, as the OpenAPI document has them.

An object and an enum are schemas of their own, by the names of their classes.
"""

import inspect
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

import msgspec

from atoll.domain.duration import MAX_SECONDS
from atoll.surfaces.http.serving.findings import shown_pattern
from atoll.wire.api.annotations import Kind, kind_of
from atoll.wire.api.fields import Seconds, SecondsOrZero

Schema = dict[str, Any]

DURATION_PATTERN: Final = (
    "^(?:[1-9][0-9]{0,2}d(?:[0-9]{1,2}h)?(?:[0-9]{1,2}m)?(?:[0-9]{1,2}s)?"
    "|[1-9][0-9]{0,3}h(?:[0-9]{1,2}m)?(?:[0-9]{1,2}s)?"
    "|[1-9][0-9]{0,4}m(?:[0-9]{1,2}s)?|[1-9][0-9]{0,6}s)$"
)
"""The durations that clients may send as text; the maximum of a year is checked separately."""

_TYPES: Final[Mapping[Any, str]] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    type(None): "null",
}
_BOUNDS: Final[Mapping[str, str]] = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "pattern": "pattern",
    "description": "description",
    "examples": "examples",
}
_LENGTHS: Final[Mapping[str, Mapping[str, str]]] = {
    "string": {"min_length": "minLength", "max_length": "maxLength"},
    "array": {"min_length": "minItems", "max_length": "maxItems"},
    "object": {"min_length": "minProperties", "max_length": "maxProperties"},
}
_DURATION: Final[Schema] = {
    "anyOf": [
        {"type": "integer", "minimum": 1, "maximum": MAX_SECONDS},
        {"type": "string", "pattern": DURATION_PATTERN},
    ],
    "description": "Seconds, or text such as 90s, 15m, 4h, 2d, 1h30m.",
    "examples": ["4h"],
}


class Schemas:
    """The schemas of a document. `named` are those of objects and enums, filled as they occur."""

    def __init__(self) -> None:
        self.named: dict[str, Schema] = {}

    def of(self, annotation: Any) -> Schema:
        """Return the schema of a type."""
        kind = kind_of(annotation)
        members = kind.members
        if len(members) == 1:
            return self._of_one(kind)
        words: Schema = {name: kind.bounds[name] for name in _WORDS if name in kind.bounds}
        words |= kind.bounds.get("extra_json_schema", {})
        made = [self.of(one) for one in members]
        return {"anyOf": [*_flat(made)], **words}

    def _of_one(self, kind: Kind) -> Schema:
        return _add_bounds(self._schema_without_bounds(kind), kind.bounds)

    def _schema_without_bounds(self, kind: Kind) -> Schema:
        if kind.words is not None:
            return _choice(kind.words)
        if kind.item is not None:
            return {"type": "array", "items": self.of(kind.item)}
        plain = kind.plain
        if plain is Any:
            return {}
        if kind.entry is not None:
            return self._mapping(*kind.entry)
        return self._type_schema(plain)

    def _mapping(self, keys: Any, values: Any) -> Schema:
        named = {name: one for name, one in self.of(keys).items() if name != "type"}
        made: Schema = {"type": "object", "additionalProperties": self.of(values) or True}
        return {**made, "propertyNames": named} if named else made

    def _type_schema(self, plain: Any) -> Schema:
        """Return the schema of a type: its JSON type, or a reference to its component."""
        if plain in _TYPES:
            return {"type": _TYPES[plain]}
        if issubclass(plain, Seconds):
            return _duration(plain)
        # What control plane and runtime say to each other is a record, and here a view of it.
        name = plain.__name__.removesuffix("Record") + "View" * plain.__name__.endswith("Record")
        if name not in self.named:
            self.named[name] = {}
            made = _enum(plain) if issubclass(plain, Enum) else self._struct_schema(plain)
            self.named[name] = made
        return {"$ref": f"#/components/schemas/{name}"}

    def _struct_schema(self, struct: type[msgspec.Struct]) -> Schema:
        config = struct.__struct_config__
        sent_whole = not config.forbid_unknown_fields and not config.omit_defaults
        properties, required = _tag(config)
        for field in msgspec.structs.fields(struct):
            schema = self.of(field.type)
            if field.required or sent_whole:
                required.append(field.encode_name)
            elif field.default is not None and kind_of(field.type).shows_default:
                schema = {**schema, "default": _default(field)}
            properties[field.encode_name] = schema
        made: Schema = {
            "type": "object",
            "description": inspect.cleandoc(struct.__doc__ or ""),
            "properties": properties,
            "additionalProperties": False,
            **getattr(struct, "schema_members", {}),
        }
        return {**made, "required": required} if required else made


_WORDS: Final = ("description", "examples")


def _tag(config: msgspec.structs.StructConfig) -> tuple[dict[str, Schema], list[str]]:
    """Return the property that tells a tagged object from others, and that it is required."""
    if config.tag is None or config.tag_field is None:
        return {}, []
    return {config.tag_field: {"const": config.tag, "type": "string"}}, [config.tag_field]


def _flat(schemas: list[Schema]) -> list[Schema]:
    """Return the members of a union, those of a union within it in its place."""
    flat: list[Schema] = []
    for one in schemas:
        flat += one["anyOf"] if set(one) == {"anyOf"} else [one]
    return flat


def _choice(words: tuple[Any, ...]) -> Schema:
    kind = _TYPES[type(words[0])]
    return (
        {"const": words[0], "type": kind} if len(words) == 1 else {"enum": [*words], "type": kind}
    )


def _enum(plain: type[Enum]) -> Schema:
    values = [one.value for one in plain]
    return {
        **({"const": values[0]} if len(values) == 1 else {"enum": values}),
        "type": _TYPES[type(values[0])],
        "description": inspect.cleandoc(plain.__doc__ or ""),
    }


def _duration(plain: type) -> Schema:
    if plain is SecondsOrZero:
        return {"anyOf": [{"const": 0, "type": "integer"}, _DURATION]}
    return dict(_DURATION)


def _add_bounds(schema: Schema, bounds: Mapping[str, Any]) -> Schema:
    """Return the schema of a type with its bounds and words."""
    if schema == {"type": "null"}:
        return schema
    lengths = _LENGTHS.get(schema.get("type", ""), {})
    made = dict(schema)
    made |= bounds.get("extra_json_schema", {})
    for name, value in bounds.items():
        shown = shown_pattern(value) if name == "pattern" else value
        keyword = lengths.get(name) or _BOUNDS.get(name)
        if keyword is not None:
            made[keyword] = shown
    return made


def _default(field: msgspec.structs.FieldInfo) -> Any:
    if field.default_factory is not msgspec.NODEFAULT:
        made = msgspec.to_builtins(field.default_factory())
        # An object is shown without its members that are null.
        return _without_null(made) if isinstance(made, dict) else made
    if isinstance(field.default, Seconds):
        return int(field.default)
    return msgspec.to_builtins(field.default)


def _without_null(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
