"""The inputs of every operation of the API, as its document describes them, and their largest
values."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Final

from starlette.routing import WebSocketRoute

from atoll.surfaces.http.app import shared_routes
from atoll.surfaces.mcp.bodies import MAX_BODY_BYTES
from atoll.surfaces.mcp.toolbox import toolbox
from tests.security.people.test_foreign_ids import FILLED, _example
from tests.security.worst_shapes import shapes
from tests.surfaces.http.world import document_text

TEXT_SIZE: Final = 30_000
"""The characters of a text in a field that names no most: normalized by the square, they take
half a second."""

BESIDE_CALL_BYTES: Final = 1000
"""The bytes that a call has beside its arguments."""

LIST_BYTES: Final = 400_000
SHARE_SIZE: Final = 3500
"""The characters of a text in a body all of whose fields are large."""

METHODS: Final = frozenset({"get", "put", "post", "patch", "delete"})
EXAMPLES: Final[Mapping[str, Mapping[str, str]]] = {
    "POST /auth/guests": {"ticket": "a" * 43},
    "POST /v1/dashboards": {"name": "a"},
}
"""What an operation asks for before it looks at a field, and its schema does not say."""

SMALL_SIZE: Final = 40
DEPTH: Final = 3

Value = Callable[[str], Any]
"""Returns the largest value of an input, made of one kind of text."""

Put = Callable[[Any], dict[str, Any]]
"""Returns an object with a value in one of its fields, and what it needs beside it."""


@dataclass(frozen=True)
class Field:
    """A field of a body, however deep. `is_large` says whether it may be large."""

    name: str
    schema: Mapping[str, Any]
    put: Put

    @property
    def is_large(self) -> bool:
        """Report whether its value may have more than some thousand characters."""
        kind = self.schema.get("type")
        longest = self.schema.get("maxLength", 10**9)
        long = kind == "string" and "enum" not in self.schema and longest > 2000
        return long or kind in {"array", "object"}


@dataclass(frozen=True)
class Operation:
    """A method and a path. `media` are the kinds of its body, `queries` and `headers` the names of
    its parameters."""

    method: str
    path: str
    media: tuple[str, ...]
    queries: tuple[str, ...]
    headers: tuple[str, ...]
    schema: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Return it as the tables of tests name it."""
        return f"{self.method} {self.path}"

    @property
    def has_inputs(self) -> bool:
        """Report whether it takes more than a head."""
        return bool(self.media or self.queries or self.headers or "{" in self.path)

    def fields(self) -> Iterator[Field]:
        """Yield the fields of its body."""
        for one in alternatives(self.schema):
            yield from fields_of(one)

    def body(self, put: Put, value: Any) -> bytes:
        """Return a body with one field, and what the operation asks for beside it."""
        return self._whole(put(value))

    def full_body(self, kind: str) -> bytes:
        """Return a body with all fields, each as large as it may be and as all find room."""
        found: dict[str, Any] = {}
        for one in self.fields():
            if "." not in one.name:
                found |= one.put(filled(one.schema, kind, SHARE_SIZE))
        return self._whole(found)

    def _whole(self, fields: Mapping[str, Any]) -> bytes:
        known = EXAMPLES.get(self.name) or FILLED.get(self.name) or _example(self.schema)
        return shapes.text_of_json({**known, **fields})


@cache
def operations() -> tuple[Operation, ...]:
    """Return all operations."""
    found = []
    for path, methods in _document()["paths"].items():
        for method in METHODS & methods.keys():
            operation = methods[method]
            content = operation.get("requestBody", {}).get("content", {})
            named = list(map(_referred, operation.get("parameters", ())))
            found.append(
                Operation(
                    method.upper(),
                    path,
                    tuple(content),
                    tuple(one["name"] for one in named if one["in"] == "query"),
                    tuple(one["name"] for one in named if one["in"] == "header"),
                    content.get("application/json", {}).get("schema", {}),
                )
            )
    return tuple(sorted(found, key=lambda one: (one.path, one.method)))


def parameters() -> Iterator[Mapping[str, Any]]:
    """Yield what operations declare beside their bodies."""
    for methods in _document()["paths"].values():
        for method in METHODS & methods.keys():
            yield from map(_referred, methods[method].get("parameters", ()))


def sockets() -> tuple[str, ...]:
    """Return the paths of all WebSockets."""
    return tuple(one.path for one in shared_routes() if isinstance(one, WebSocketRoute))


@cache
def _document() -> Any:
    return json.loads(document_text())


def _referred(value: Any) -> Any:
    if "$ref" not in value:
        return value
    found = _document()
    for part in value["$ref"].removeprefix("#/").split("/"):
        found = found[part]
    return found


def alternatives(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return what a value may be, behind references, without null."""
    schema = _referred(schema)
    several = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
    if not several:
        return [] if schema.get("type") == "null" else [schema]
    return [found for one in several for found in alternatives(one)]


def fields_of(schema: Mapping[str, Any], depth: int = DEPTH) -> Iterator[Field]:
    """Yield the fields of an object, and those of objects in it."""
    for name, declared in schema.get("properties", {}).items():
        for one in alternatives(declared):
            yield Field(name, one, partial(_put, name))
            items = alternatives(one.get("items", {})) if one.get("type") == "array" else []
            for inner in (one, *items) if depth else ():
                known = _example(inner) if inner.get("properties") else {}
                for field in fields_of(inner, depth - 1):
                    place = partial(_put_within, name, known, field.put, inner is not one)
                    yield Field(f"{name}.{field.name}", field.schema, place)


def _put(name: str, value: Any) -> dict[str, Any]:
    return {name: value}


def _put_within(
    name: str, known: Mapping[str, Any], put: Put, in_list: bool, value: Any
) -> dict[str, Any]:
    inner = {**known, **put(value)}
    return {name: [inner] if in_list else inner}


def filled(schema: Mapping[str, Any], kind: str, size: int = TEXT_SIZE) -> Any:
    """Return the largest value of a schema, of one kind of text."""
    text = shapes.text(kind, size)[: schema.get("maxLength", size)]
    match schema.get("type"):
        case "array":
            return _filled_list(schema, kind, size)
        case "object" if "properties" in schema:
            inner = schema["properties"].items()
            return {name: _filled_first(one, kind, SMALL_SIZE) for name, one in inner}
        case "object":
            return {f"{text[:50]}{n}": text[:50] for n in range(min(4000, size // 7))}
        case "integer" | "number":
            return schema.get("maximum", int("9" * 4000))
        case "boolean":
            return True
        case _:
            return schema["enum"][-1] if "enum" in schema else text


def _filled_list(schema: Mapping[str, Any], kind: str, size: int) -> list[Any]:
    """Return a list of as many items as it may have."""
    items = alternatives(schema.get("items", {})) or [{}]
    inner = filled(items[0], kind, SMALL_SIZE)
    values = 1 + (len(inner) if isinstance(inner, dict) else 0)
    count = min(schema.get("maxItems", 9000), 9000, 9000 // values, size * 20 // SMALL_SIZE)
    if isinstance(inner, str):
        inner = filled(items[0], kind, max(1, size * 20 // count))
        return [f"{inner}{n}" for n in range(count)]
    return [inner] * min(count, LIST_BYTES // len(shapes.text_of_json(inner)))


def _filled_first(schema: Mapping[str, Any], kind: str, size: int) -> Any:
    found = alternatives(schema)
    return filled(found[0], kind, size) if found else None


def tool_fields() -> Iterator[tuple[str, str, Value]]:
    """Yield the arguments of all tools of agents."""
    for definition in toolbox().all():
        for field, schema in definition.schema()["properties"].items():
            found = alternatives(schema)
            yield definition.tool.name, field, partial(filled, found[0])


def tool_sizes() -> Iterator[tuple[str, int]]:
    """Yield the bytes that the arguments of each tool's call may have."""
    for definition in toolbox().all():
        most = min(definition.most_bytes(), MAX_BODY_BYTES)
        yield definition.tool.name, most - BESIDE_CALL_BYTES
