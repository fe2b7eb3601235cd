"""Errors of the runtime as RFC 9457 problem documents, in one table.

Every answer of 400 and above leaves through here; what went wrong inside stays in the log.
"""

import logging

import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler

from atoll.domain.error_status import status_of
from atoll.domain.errors import AtollError
from atoll.runtime.api.tracing import request_id_of
from atoll.wire.contract.journal import CODE_HEADER

log = logging.getLogger("atoll.runtime")

_TITLES = {
    401: "Not authenticated",
    403: "Not allowed",
    404: "Not found",
    405: "Wrong method",
    409: "Not possible now",
    413: "Too large",
    422: "The request is not valid",
    429: "A limit was reached",
    500: "The runtime broke",
    502: "The sandbox broke",
    503: "Not available now",
}
_FAULT = 500
_HTTP_CODES = {404: "not_found", 405: "wrong_method", 413: "too_large"}


class Problem(msgspec.Struct, omit_defaults=True):
    """An RFC 9457 problem document; `code` is stable, `field` says where."""

    title: str
    status: int
    code: str
    detail: str
    type: str = msgspec.field(default="about:blank")
    field: str | None = None


def respond(status: int, code: str, detail: str, field: str | None = None) -> web.Response:
    """Return a problem as an answer."""
    problem = Problem(_TITLES.get(status, "Not possible"), status, code, detail, field=field)
    body = msgspec.to_builtins(problem)
    return web.Response(
        status=status,
        body=msgspec.json.encode({"type": problem.type, **body}),
        content_type="application/problem+json",
        headers={CODE_HEADER: code},
    )


def from_error(error: AtollError) -> web.Response:
    """Return the problem document of `error`."""
    return respond(status_of(error), error.code, error.message, error.field)


@web.middleware
async def problems(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turn every error into a problem document. An answer already begun is cut off instead."""
    try:
        return await handler(request)
    except AtollError as error:
        response = from_error(error)
        if response.status >= _FAULT and (named := request_id_of(request)):
            template = "request %s %s failed with %s request_id=%s"
            log.warning(template, request.method, request.path, error.code, named)
        return response
    except web.HTTPException as error:
        if error.status < 400:
            raise
        code = _HTTP_CODES.get(error.status, "invalid")
        return respond(error.status, code, error.text or error.reason)
    except ConnectionError:
        raise
    except Exception:
        # The root of a request: its defect must neither end the server nor show its insides.
        template = "request %s %s broke request_id=%s"
        log.exception(template, request.method, request.path, request_id_of(request))
        return respond(500, "internal", "the runtime could not do this; its log says why")
