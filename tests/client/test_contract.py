"""The client's shapes and bodies are those of the contract: types, words, and what is required."""

import json
import types
from collections.abc import Iterator
from dataclasses import fields
from datetime import UTC, datetime
from importlib import import_module
from pkgutil import walk_packages
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

import msgspec
import pytest

from atoll import client
from atoll.client import shapes, terminal_shapes
from atoll.client.fields import Field, Shape
from atoll.client.workers.shapes import WorkerDelta, WorkerEvent
from atoll.domain.worker.live import WorkerDelta as WorkerRecordDelta
from atoll.domain.worker.record import WorkerEvent as WorkerRecordEvent
from atoll.surfaces.http.workers.views import event_view
from atoll.wire.contract.execs import Chunk, Last
from tests.places import ROOT

SCHEMAS = json.loads((ROOT / "docs" / "openapi.json").read_text())["components"]["schemas"]
NAMED_OTHERWISE = {
    "AgentStatus": "StatusView",
    "BegunLogin": "CliLoginView",
    "Entry": "FileEntry",
    "Exec": "ExecWithOutput",
    "ExecRow": "ExecView",
    "FetchedToken": "CliPollView",
    "HeldPush": "PushView",
    "HeldPushes": "PushList",
    "InboxList": "InboxView",
    "PullOrder": "PullView",
    "Process": "LeftView",
    "Processes": "LeftList",
    "Profile": "ProfileView",
    "Repository": "RepositoryWithRefs",
    "SandboxList": "SandboxPage",
    "Total": "FileTotal",
    "Usage": "OwnUsage",
}
# Their members are not in the document: the contract leaves them open, or has them in a stream.
ELSEWHERE = {
    *(Shape, terminal_shapes.Payload, terminal_shapes.OutputLine, shapes.ProfileMetadata),
    *(terminal_shapes.FoundFile, WorkerDelta, WorkerEvent),
}
MODULES = [import_module(one.name) for one in walk_packages(client.__path__, f"{client.__name__}.")]
FOUND = [
    found
    for found in {id(one): one for module in MODULES for one in vars(module).values()}.values()
    # What is made of the declarations cannot differ from them.
    if ".made." not in (getattr(found, "__module__", "") or "")
]
# A problem document may also come from a proxy, so its reader expects no field.
PROXIES = {"_Problem"}
SHAPES = [
    found
    for found in FOUND
    if isinstance(found, type)
    and issubclass(found, Shape)
    and found not in ELSEWHERE
    and found.__name__ not in PROXIES
]
# What several bodies have in common is no schema of its own.
PARTS = {"WorkBody"}
BODIES = [found for found in FOUND if is_typeddict(found) and found.__name__ not in PARTS]
SCALARS = {str: "string", int: "integer", float: "number", bool: "boolean"}


def schema_of(name: str) -> dict[str, Any]:
    known = (NAMED_OTHERWISE.get(name), f"{name}View", name)
    found: dict[str, Any] = SCHEMAS[next(one for one in known if one in SCHEMAS)]
    return found


def choices(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the types a schema allows, references followed, without null."""
    if "$ref" in schema:
        yield from choices(SCHEMAS[schema["$ref"].rpartition("/")[2]])
    elif "anyOf" in schema:
        for one in schema["anyOf"]:
            yield from choices(one)
    elif schema.get("type") != "null":
        yield schema


def same(kind: Any, schema: dict[str, Any]) -> bool:
    """Return whether a type of Python is that of a schema; null is judged apart."""
    if kind is object:
        return bool(schema)
    if get_origin(kind) in {Union, types.UnionType}:
        kinds = [one for one in get_args(kind) if one is not type(None)]
        found = list(choices(schema))
        return len(kinds) == len(found) and all(
            any(same(kind, one) for one in found) for kind in kinds
        )
    (only,) = choices(schema)
    if get_origin(kind) is Literal:
        return set(get_args(kind)) == set(only["enum"])
    if get_origin(kind) is list:
        return only["type"] == "array" and same(get_args(kind)[0], only["items"])
    if get_origin(kind) is dict:
        return only["type"] == "object" and same(get_args(kind)[1], only["additionalProperties"])
    if kind in SCALARS:
        return only.get("type") == SCALARS[kind] and "enum" not in only
    return kind in ELSEWHERE or bool(only == schema_of(kind.__name__))


def nullable(schema: dict[str, Any]) -> bool:
    return {"type": "null"} in schema.get("anyOf", ())


def read_fields(shape: type[Shape]) -> dict[str, Any]:
    """Return the kind of each field; a word's is what its annotation lists."""
    hints = get_type_hints(shape)
    found = {name: getattr(shape, name) for name in dir(shape)}
    return {
        name: field.kind or get_args(hints[name])[0]
        for name, field in found.items()
        if isinstance(field, Field)
    }


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_fields_of_a_shape_are_always_sent_and_of_the_schemas_type(shape: type[Shape]) -> None:
    schema, read = schema_of(shape.__name__), read_fields(shape)
    assert read
    for name, kind in read.items():
        if schema.get("additionalProperties") is True and name not in schema["properties"]:
            continue
        assert name in schema["required"], name
        assert same(kind, schema["properties"][name]), name


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
def test_fields_of_a_body_are_those_of_its_schema(body: Any) -> None:
    schema, hints = schema_of(body.__name__), get_type_hints(body)
    assert body.__required_keys__ == set(schema.get("required", ()))
    for name, kind in hints.items():
        wanted = schema["properties"][name]
        assert same(kind, wanted), name
        assert (type(None) in get_args(kind)) == nullable(wanted), name


def test_events_of_workers_are_those_of_the_stream() -> None:
    frame = event_view("w", WorkerRecordEvent(3, "worker.lost", 1, datetime.now(UTC), {}))
    assert read_fields(WorkerEvent).keys() == frame.keys() - {"payload"}


def test_deltas_of_workers_are_those_of_the_stream() -> None:
    members = {one.name for one in fields(WorkerRecordDelta)}
    assert read_fields(WorkerDelta).keys() == members - {"params"}


def test_lines_of_output_are_those_of_the_runtimes_contract() -> None:
    kinds = {one.name: one.type for kind in (Chunk, Last) for one in msgspec.structs.fields(kind)}
    read = read_fields(terminal_shapes.OutputLine)
    assert read.pop("exit") is terminal_shapes.Exec
    assert kinds.pop("exit").__name__ == "ExecRecord"
    assert read == kinds
