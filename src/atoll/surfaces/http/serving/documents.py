"""Declared operations in the OpenAPI document."""

import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from atoll.surfaces.http.body.answers import NO_CONTENT
from atoll.surfaces.http.body.pages import MAX_ITEMS
from atoll.surfaces.http.body.streams import stream_of
from atoll.surfaces.http.server.permissions import EXTENSION
from atoll.surfaces.http.server.problems import PROBLEM_SCHEMA, problems
from atoll.surfaces.http.serving.schemas import Schema, Schemas
from atoll.wire.api.annotations import kind_of, only_member
from atoll.wire.api.operation import REQUIRED, Another, Failures, Operation, Parameter, Place
from atoll.wire.http.media_types import FORM, JSON, PROBLEM

_OTHER: Final = re.compile(r"\W")
_TYPES: Final = {JSON: "object"}
_BINARY: Final = {"type": "string", "format": "binary"}
_FILES: Final = {"type": "object", "additionalProperties": _BINARY}


def describe_operations(
    operations: Iterable[Operation[..., Any]], schemas: Schemas
) -> dict[str, dict[str, Any]]:
    """Return the paths of the document for these operations."""
    paths: dict[str, dict[str, Any]] = {}
    for one in operations:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one, schemas)
    return paths


def _operation(declared: Operation[..., Any], schemas: Schemas) -> dict[str, Any]:
    parameters = declared.parameters()
    in_head = [_parameter(one, schemas) for one in parameters if one.place is not Place.BODY]
    body = next((one for one in parameters if one.place is Place.BODY), None)
    path = _OTHER.sub("_", declared.name + declared.path)
    made: dict[str, Any] = {
        "tags": [declared.tag],
        "summary": declared.name.replace("_", " ").title(),
        "description": declared.text,
        "operationId": f"{path}_{declared.method.lower()}",
        "responses": _responses(declared, schemas),
    }
    if in_head:
        made["parameters"] = in_head
    if body is not None:
        made["requestBody"] = _body(body, schemas)
    if declared.takes is not None:
        kinds = (declared.takes,) if isinstance(declared.takes, str) else declared.takes
        raw = {one: {"schema": _FILES if one == FORM else _BINARY} for one in kinds}
        made["requestBody"] = {"content": raw}
    if declared.reads:
        whole = {one: {"schema": {"type": _TYPES.get(one, "string")}} for one in declared.reads}
        made["requestBody"] = {"content": whole, "required": True}
    if declared.max_items is not None:
        made[MAX_ITEMS] = declared.max_items
    if declared.removal is not None:
        made["deprecated"] = True
    if declared.needs:
        made[EXTENSION] = declared.needs
    return made


def _parameter(parameter: Parameter, schemas: Schemas) -> dict[str, Any]:
    schema = schemas.of(parameter.annotation)
    made: dict[str, Any] = {
        "name": parameter.key,
        "in": parameter.place.value,
        "required": parameter.default is REQUIRED,
        "schema": schema,
    }
    if parameter.default not in (REQUIRED, None):
        schema["default"] = msgspec.to_builtins(parameter.default)
    described = schema.pop("description", None) or _description_within(schema)
    return {**made, "description": described} if described else made


def _description_within(schema: Schema) -> str | None:
    """Return the description of what may be null, which is that of the parameter."""
    members = schema.get("anyOf", ())
    return next((one.pop("description") for one in members if "description" in one), None)


def _body(body: Parameter, schemas: Schemas) -> dict[str, Any]:
    content = {JSON: {"schema": schemas.of(body.annotation)}}
    required = body.default is REQUIRED
    return {"content": content, "required": True} if required else {"content": content}


def _responses(declared: Operation[..., Any], schemas: Schemas) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": declared.about}
    if declared.stream is not None:
        kinds = (declared.stream,) if isinstance(declared.stream, str) else declared.stream
        found = [stream_of(kind, declared.about)[200]["content"] for kind in kinds]
        answer["content"] = {name: one for content in found for name, one in content.items()}
    elif declared.answer is not None:
        shown = only_member(kind_of(declared.answer)) if declared.nothing else declared.answer
        answer["content"] = {JSON: {"schema": schemas.of(shown)}}
    errors = problems(*declared.problems) if declared.failures is None else _failures(declared)
    also = {str(status): _also(one, answer, schemas) for status, one in declared.also.items()}
    if declared.offers is not None:
        stream = {declared.offers: {"schema": _BINARY}}
        answer = {**answer, "content": {**answer.get("content", {}), **stream}}
    if declared.nothing is not None:
        also[str(NO_CONTENT)] = {"description": declared.nothing}
    return {str(declared.status): answer, **also, **{str(one): errors[one] for one in errors}}


def _failures(declared: Operation[..., Any]) -> dict[int, dict[str, Any]]:
    """Return the failures of an operation that has not the usual ones. A query can be refused."""
    failures = declared.failures or Failures()
    shown = {"schema": PROBLEM_SCHEMA} if failures.media_type == PROBLEM else {}
    content = {failures.media_type: shown}
    found = {
        status: {"description": text, "content": content} for status, text in failures.texts.items()
    }
    asked = any(one.place is Place.QUERY for one in declared.parameters())
    return {**found, **({422: problems()[422]} if asked else {})}


def _also(one: str | Another, answer: dict[str, Any], schemas: Schemas) -> dict[str, Any]:
    """Return another answer of success."""
    if isinstance(one, str):
        return {**answer, "description": one}
    return {"description": one.text, "content": {JSON: {"schema": schemas.of(one.answer)}}}
