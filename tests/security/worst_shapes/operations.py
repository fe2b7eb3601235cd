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
from tests.security.worst_shapes import shapes
from tests.surfaces.http.world import document_text

TEXT_SIZE: Final = 30_000
"""The characters of a text in a field that names no most: normalized by the square, they take
half a second."""

BESIDE_CALL_BYTES: Final = 1000
"""The bytes that a call has beside its arguments."""

METHODS: Final = frozenset({"get", "put", "post", "patch", "delete"})
REQUIRED: Final[Mapping[str, Mapping[str, str]]] = {
    "/auth/guests": {"ticket": "a" * 43},
    "/v1/dashboards": {"name": "a"},
}
"""What an operation asks for before it looks at a field."""

Value = Callable[[str], Any]
"""Returns the largest value of an input, made of one kind of text."""


@dataclass(frozen=True)
class Operation:
    """A method and a path. `media` are the kinds of its body, `queries` the names of its
    parameters."""

    method: str
    path: str
    media: tuple[str, ...]
    queries: tuple[str, ...]
    schema: Mapping[str, Any]

    def fields(self) -> Iterator[tuple[str, Value, bool]]:
        """Yield the fields of its body, and whether each may be large."""
        for field, inner in resolved(self.schema).get("properties", {}).items():
            known = resolved(inner)
            yield field, partial(filled, known), is_large(known)

    def body(self, field: str, value: Any) -> bytes:
        """Return a body with one field."""
        return shapes.text_of_json({**REQUIRED.get(self.path, {}), field: value})


@cache
def operations() -> tuple[Operation, ...]:
    """Return all operations."""
    found = []
    for path, methods in _document()["paths"].items():
        for method in METHODS & methods.keys():
            operation = methods[method]
            content = operation.get("requestBody", {}).get("content", {})
            named = [_referred(one) for one in operation.get("parameters", ())]
            found.append(
                Operation(
                    method.upper(),
                    path,
                    tuple(content),
                    tuple(one["name"] for one in named if one["in"] == "query"),
                    content.get("application/json", {}).get("schema", {}),
                )
            )
    return tuple(sorted(found, key=lambda one: (one.path, one.method)))


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


def is_large(schema: Mapping[str, Any]) -> bool:
    """Report whether a value may have more than some thousand characters."""
    kind = schema.get("type")
    long = kind == "string" and "enum" not in schema and schema.get("maxLength", 10**9) > 2000
    return long or kind in {"array", "object"}


def resolved(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema behind its references, the first of several that is not null."""
    while True:
        if "$ref" in schema:
            schema = _referred(schema)
            continue
        several = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
        if not several:
            return schema
        schema = next((one for one in several if one.get("type") != "null"), {})


def filled(schema: Mapping[str, Any], kind: str) -> Any:
    """Return the largest value of a schema, of one kind of text."""
    text = shapes.texts(TEXT_SIZE)[kind][: schema.get("maxLength", TEXT_SIZE)]
    match schema.get("type"):
        case "array":
            item = resolved(schema.get("items", {}))
            count = min(schema.get("maxItems", 9000), 9000)
            inner = filled(item, kind) if item.get("type") == "string" else text
            return [inner[: max(1, 600_000 // count)] + str(n) for n in range(count)]
        case "object":
            return {f"{text[:50]}{n}": text[:50] for n in range(4000)}
        case "integer" | "number":
            return int("9" * 4000)
        case _:
            return text


def tool_fields() -> Iterator[tuple[str, str, Value]]:
    """Yield the arguments of all tools of agents."""
    for definition in toolbox().all():
        for field, schema in definition.schema()["properties"].items():
            yield definition.tool.name, field, partial(filled, schema)


def tool_sizes() -> Iterator[tuple[str, int]]:
    """Yield the bytes that the arguments of each tool's call may have."""
    for definition in toolbox().all():
        most = min(definition.most_bytes(), MAX_BODY_BYTES)
        yield definition.tool.name, most - BESIDE_CALL_BYTES
