"""The OpenAPI document: what the routes declare, with credentials and problems added.

What many operations repeat (a problem, a parameter) is written once under `components`.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.responses import Response, StreamingResponse
from starlette.routing import WebSocketRoute

import atoll
from atoll.surfaces.http.server.credentials import COOKIE, PAGE_KEY
from atoll.surfaces.http.server.examples import add_examples
from atoll.surfaces.http.server.permissions import EXTENSION, PUBLIC_PATHS, permission_of
from atoll.surfaces.http.server.problems import Problem, problems
from atoll.surfaces.http.serving.documents import describe_operations
from atoll.surfaces.http.serving.schemas import Schemas
from atoll.surfaces.http.serving.serve import OperationRoute
from atoll.wire.api.operation import Operation

KEPT: Final = Path(__file__).parents[1] / "openapi.json"
PIECE_BYTES: Final = 16 * 1024

router = APIRouter(include_in_schema=False)

_ABOUT = (
    "Atoll gives every coding agent its own sandbox and every person access to its terminal. "
    "Errors are RFC 9457 problem documents with a stable `code`."
)
_VALUES = frozenset({"default", "examples", "example", "enum", "const"})
"""Keywords of a schema whose value is data: a `title` in there is the data's own."""


@router.get("/openapi.json")
async def openapi() -> Response:
    """Return this document, in pieces: it is large, and anybody may ask for it and read nothing."""
    text = _kept_document()
    headers = {"Cache-Control": "no-cache", "Content-Length": str(len(text))}
    return StreamingResponse(_pieces(text), headers=headers, media_type="application/json")


@cache
def _kept_document() -> bytes:
    """Return the document that `scripts/openapi` wrote: to make it takes more than a second."""
    return KEPT.read_bytes()


async def _pieces(text: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(text), PIECE_BYTES):
        yield text[at : at + PIECE_BYTES]


def document(app: FastAPI) -> dict[str, Any]:
    """Return the document of an app's routes."""
    made = get_openapi(
        title="Atoll", version=atoll.__version__, description=_ABOUT, routes=app.routes
    )
    parts = made.setdefault("components", {})
    schemas = parts.setdefault("schemas", {})
    served = [one for one in app.routes if isinstance(one, OperationRoute)]
    _add_declared(made, [one.operation for one in served if one.include_in_schema])
    schemas["Problem"] = Problem.model_json_schema()
    for operation in _operations(made):
        # A route that declares no problem of its own is given the framework's shape.
        if "HTTPValidationError" in str(operation["responses"].get("422")):
            operation["responses"]["422"] = problems(422)[422]
    # Validation errors are problems here; the framework's own shapes are never sent.
    schemas.pop("HTTPValidationError", None)
    schemas.pop("ValidationError", None)
    parts["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer"},
        "session": {"type": "apiKey", "in": "cookie", "name": COOKIE},
        "page": {"type": "apiKey", "in": "header", "name": PAGE_KEY},
    }
    made["security"] = [{"token": []}, {"session": [], "page": []}]
    for path in PUBLIC_PATHS & made["paths"].keys():
        for operation in made["paths"][path].values():
            operation["security"] = []
    made["x-websockets"] = _sockets(app)
    _drop_titles(made["paths"])
    _drop_titles(schemas)
    for schema in schemas.values():
        for name in schema.get("required", ()):
            # What is always sent has no default; in Python it may have one.
            schema["properties"][name].pop("default", None)
    add_examples(made)
    parts["responses"] = _share_problems(made)
    parts["parameters"] = _share_parameters(made)
    return made


def _add_declared(made: dict[str, Any], operations: list[Operation[..., Any]]) -> None:
    """Add the declared operations, and the schemas that they name."""
    schemas = Schemas()
    for path, item in describe_operations(operations, schemas).items():
        made["paths"].setdefault(path, {}).update(item)
    made["components"]["schemas"] |= schemas.named


def _sockets(app: FastAPI) -> dict[str, Any]:
    """Return the WebSockets by path: what OpenAPI itself has no place for."""
    return {
        route.path_format: {
            "summary": (route.endpoint.__doc__ or "").partition("\n")[0],
            EXTENSION: permission_of(route),
        }
        for route in app.routes
        if isinstance(route, WebSocketRoute)
    }


def _operations(made: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for item in made["paths"].values():
        yield from item.values()


def _drop_titles(part: Any) -> None:
    """Remove the titles the framework derives from names: they repeat the names."""
    if isinstance(part, dict):
        if isinstance(part.get("title"), str):
            del part["title"]
        for name, value in part.items():
            if name not in _VALUES:
                _drop_titles(value)
    elif isinstance(part, list):
        for value in part:
            _drop_titles(value)


def _share_problems(made: dict[str, Any]) -> dict[str, Any]:
    """Put references in place of the problems of `problems()`. Return what they refer to."""
    shared: dict[str, Any] = {}
    for operation in _operations(made):
        responses = operation["responses"]
        for status, response in responses.items():
            if not status.isdecimal() or response != problems(int(status)).get(int(status)):
                continue
            name = HTTPStatus(int(status)).phrase.replace(" ", "")
            shared[name] = response
            responses[status] = {"$ref": f"#/components/responses/{name}"}
    return shared


def _share_parameters(made: dict[str, Any]) -> dict[str, Any]:
    """Put references in place of parameters that several operations spell alike.

    A name with two spellings stays where it is, as a reference could not say which it means.
    """
    spellings: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for operation in _operations(made):
        for parameter in operation.get("parameters", ()):
            schema = parameter["schema"]
            if schema.get("description") == parameter.get("description"):
                schema.pop("description", None)
            spellings[f"{parameter['in']}.{parameter['name']}"].append(parameter)
    shared = {
        name: found[0]
        for name, found in spellings.items()
        if len(found) > 1 and all(one == found[0] for one in found)
    }
    for operation in _operations(made):
        if "parameters" in operation:
            operation["parameters"] = [
                {"$ref": f"#/components/parameters/{name}"} if name in shared else parameter
                for parameter in operation["parameters"]
                for name in [f"{parameter['in']}.{parameter['name']}"]
            ]
    return shared
