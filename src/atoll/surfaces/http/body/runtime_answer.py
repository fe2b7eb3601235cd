"""A runtime's whole response, forwarded with this server's headers only."""

from starlette.responses import Response

from atoll.services.terminals.runtime_reply import RuntimeReply
from atoll.surfaces.http.body.answers import NO_CONTENT, Json, no_content


def passed(reply: RuntimeReply) -> Response:
    """Return the reply's status and JSON, without its headers."""
    if reply.status == NO_CONTENT or not reply.body:
        return no_content()
    return Json(reply.body, reply.status)
