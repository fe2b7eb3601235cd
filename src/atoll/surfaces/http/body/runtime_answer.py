"""A runtime's whole answer, handed on with our own headers only."""

from starlette.responses import Response

from atoll.ports.runtime import RuntimeReply
from atoll.surfaces.http.body.answers import NO_CONTENT, Json, no_content


def passed(reply: RuntimeReply) -> Response:
    """The reply's status and JSON; its headers stay behind."""
    if reply.status == NO_CONTENT or not reply.body:
        return no_content()
    return Json(reply.body, reply.status)
