"""Errors as RFC 9457 problem documents: the one table of codes, and every way to send them.

No internals (class, path, traceback) are ever sent.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

import structlog
from starlette.applications import Starlette
from starlette.datastructures import URL
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from atoll.domain.error_status import INTERNAL, SHOWN_CHARACTERS, SHOWN_NAME, status_of
from atoll.domain.errors import AtollError, NoRoute, StaleCursor
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.server.token_paths import MCP
from atoll.wire.contract.correlation import REQUEST_ID
from atoll.wire.http.media_types import PROBLEM

CODE_OF_STATUS: Final = {
    400: "invalid",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    415: "invalid",
}


WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"
"""The place of the metadata by which a client of tools learns how to log in."""

PROBLEM_SCHEMA: Final = {"$ref": "#/components/schemas/Problem"}


def problems(*codes: int) -> dict[int, dict[str, Any]]:
    """Return the failures of an operation in the document: these statuses, each a problem document.

    401, 403, 422, 429 and 503 are possible for every authenticated request and are always included.
    """
    return {
        code: {
            "description": _title(code),
            "content": {PROBLEM: {"schema": PROBLEM_SCHEMA}},
        }
        for code in sorted({401, 403, 422, 429, 503, *codes})
    }


def problem(error: AtollError) -> Json:
    """Return the response for this error."""
    status = status_of(error)
    headers = {}
    if status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = 'Bearer realm="atoll"'
    if status in {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}:
        headers["Retry-After"] = "1"
    more = _extra_members(error)
    return _document(
        status, error.code, error.message, field=error.field, headers=headers, more=more
    )


def _extra_members(error: AtollError) -> dict[str, Any]:
    """Return the members that some problems have besides."""
    if isinstance(error, StaleCursor):
        return {"resume_after": error.resume_after}
    if isinstance(error, NoRoute):
        return {"candidates": [one._asdict() for one in error.candidates]}
    return {}


def internal_problem() -> Json:
    """Return the response for an unexpected error: the request to look for in the log, nothing
    else."""
    named = structlog.contextvars.get_contextvars().get(REQUEST_ID)
    detail = f"an internal error occurred: its reason is in the server's log, request {named}"
    return _document(INTERNAL, "internal", detail)


def challenge(scope: Scope) -> str:
    """Return the value of `WWW-Authenticate` for a request that needs a login (RFC 9728 §5.1)."""
    if scope["path"] != MCP:
        return 'Bearer realm="atoll"'
    return f'Bearer realm="atoll", resource_metadata="{base_url(scope)}{WELL_KNOWN}{MCP}"'


def base_url(scope: Scope) -> str:
    """Return the server's URL as the client named it; the guard has checked that name. A proxy in
    front may speak TLS, which `public_url` says."""
    url = URL(scope=scope)
    app = scope.get("app")
    public = urlsplit("" if app is None else app.state.public_url or "")
    if public.netloc == url.netloc:
        return f"{public.scheme}://{public.netloc}"
    return f"{url.scheme}://{url.netloc}"


async def refuse(error: AtollError, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer an HTTP request, or a WebSocket handshake, with the error's problem document."""
    answer = problem(error)
    if answer.status_code == HTTPStatus.UNAUTHORIZED:
        answer.headers["WWW-Authenticate"] = challenge(scope)
    await answer(scope, receive, send)


def register(app: Starlette) -> None:
    """Make every error of the app's routes a problem document."""
    app.add_exception_handler(AtollError, _on_atoll_error)
    app.add_exception_handler(HTTPException, _on_http_exception)


async def _on_atoll_error(request: Request, error: Exception) -> Json:
    del request
    if not isinstance(error, AtollError):
        raise error
    return problem(error)


async def _on_http_exception(request: Request, error: Exception) -> Json:
    if not isinstance(error, HTTPException):
        raise error
    status = HTTPStatus.UNPROCESSABLE_ENTITY if error.status_code == 400 else error.status_code
    code = CODE_OF_STATUS.get(error.status_code, "error")
    return _document(status, code, _sentence(request, error), headers=error.headers)


def _sentence(request: Request, error: HTTPException) -> str:
    path = request.url.path[:200]
    match error.status_code:
        case HTTPStatus.NOT_FOUND:
            return f"there is nothing at {path}; GET /openapi.json lists every path"
        case HTTPStatus.METHOD_NOT_ALLOWED:
            allowed = (error.headers or {}).get("Allow", "another method")
            return f"{request.method[:20]} is not possible at {path}; use {allowed}"
        case _:
            return str(error.detail)


def _document(
    status: int,
    code: str,
    detail: str,
    *,
    field: str | None = None,
    headers: Mapping[str, str] | None = None,
    more: Mapping[str, Any] | None = None,
) -> Json:
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": _title(status),
        "status": int(status),
        "code": code,
        "detail": detail[:SHOWN_CHARACTERS],
        **(more or {}),
    }
    if field is not None:
        body["field"] = field[:SHOWN_NAME]
    named = structlog.contextvars.get_contextvars().get(REQUEST_ID)
    if named is not None:
        body["request_id"] = named
    return Json(body, status, headers=headers, media_type=PROBLEM)


def _title(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Error"
