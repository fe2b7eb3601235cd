"""Headers that name the present request to a runtime: its id, and its place in a trace."""

import structlog

from atoll.wire.contract.correlation import REQUEST_ID, TRACE_HEADER, TRACE_PARENT
from atoll.wire.http.request_id import HEADER

_SENT = ((REQUEST_ID, HEADER), (TRACE_PARENT, TRACE_HEADER))


def correlation_headers() -> tuple[tuple[str, str], ...]:
    """Return the headers of the request that the present task belongs to; none for work of Atoll's
    own."""
    known = structlog.contextvars.get_contextvars()
    return tuple((header, known[name]) for name, header in _SENT if name in known)
