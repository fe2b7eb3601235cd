"""The OpenAPI document: what the routes declare, with credentials and problems added.

What many operations repeat (a problem, a parameter) is written once under `components`.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import WebSocketRoute

import atoll
from atoll.surfaces.http.server.credentials import COOKIE, PAGE_KEY
from atoll.surfaces.http.server.examples import add_examples
from atoll.surfaces.http.server.permissions import EXTENSION, PUBLIC_PATHS, permission_of
from atoll.surfaces.http.server.problems import problems
from atoll.surfaces.http.serving.documents import describe_operations
from atoll.surfaces.http.serving.routes import NamedRoute
from atoll.surfaces.http.serving.schemas import Schemas
from atoll.surfaces.http.serving.serve import OperationRoute
from atoll.wire.api.server import Problem

KEPT: Final = Path(__file__).parents[1] / "openapi.json"
PIECE_BYTES: Final = 16 * 1024

_ABOUT = (
    "Atoll gives every coding agent its own sandbox and every person access to its terminal. "
    "Errors are RFC 9457 problem documents with a stable `code`."
)


async def openapi(request: Request) -> Response:
    """Return this document, in pieces: it is large, and anybody may ask for it and read nothing."""
    del request
    text = _kept_document()
    headers = {"Cache-Control": "no-cache", "Content-Length": str(len(text))}
    return StreamingResponse(_split_text(text), headers=headers, media_type="application/json")


ROUTES: Final = (NamedRoute("GET /openapi.json", openapi),)


@cache
def _kept_document() -> bytes:
    """Return the document that `scripts/openapi` wrote: to make it takes more than a second."""
    return KEPT.read_bytes()


async def _split_text(text: bytes) -> AsyncIterator[bytes]:
    for at in range(0, len(text), PIECE_BYTES):
        yield text[at : at + PIECE_BYTES]


def document(app: Starlette) -> dict[str, Any]:
    """Return the document of an app's routes."""
    served = [one for one in app.routes if isinstance(one, OperationRoute)]
    schemas = Schemas()
    declared = [one.operation for one in served if one.include_in_schema]
    paths = describe_operations(declared, schemas)
    schemas.of(Problem)
    parts: dict[str, Any] = {"schemas": schemas.named}
    made: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "Atoll", "version": atoll.__version__, "description": _ABOUT},
        "paths": paths,
        "components": parts,
    }
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
    add_examples(made)
    parts["responses"] = _share_problems(made)
    parts["parameters"] = _share_parameters(made)
    return made


def _sockets(app: Starlette) -> dict[str, Any]:
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
