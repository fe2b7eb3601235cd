"""The OpenAPI document: what the routes declare, with credentials and problems added."""

from typing import Any

import msgspec
from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.requests import Request
from starlette.responses import Response

import atoll
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.server.guard import COOKIE, PAGE_KEY, PUBLIC_PATHS
from atoll.surfaces.http.server.problems import Problem

router = APIRouter(include_in_schema=False)

_ABOUT = (
    "Atoll gives every coding agent its own sandbox and every person a seat at its terminal. "
    "Errors are RFC 9457 problem documents with a stable `code`."
)


@router.get("/openapi.json")
async def openapi(request: Request) -> Response:
    """Return this document."""
    return Json(document_bytes(request.app), headers={"Cache-Control": "no-cache"})


def document_bytes(app: FastAPI) -> bytes:
    """Return the document as JSON, made once per app."""
    kept: bytes | None = getattr(app.state, "openapi_document", None)
    if kept is None:
        kept = msgspec.json.encode(document(app))
        app.state.openapi_document = kept
    return kept


def document(app: FastAPI) -> dict[str, Any]:
    """Return the document of an app's routes."""
    made = get_openapi(
        title="Atoll", version=atoll.__version__, description=_ABOUT, routes=app.routes
    )
    parts = made.setdefault("components", {})
    schemas = parts.setdefault("schemas", {})
    schemas["Problem"] = Problem.model_json_schema()
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
    return made
