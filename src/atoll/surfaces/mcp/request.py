"""The HTTP request behind a request of the protocol: its caller, its session, its query."""

from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from starlette.requests import Request

from atoll.domain.people.principal import Principal
from atoll.services.tools.mcp_sessions import SessionClaims
from atoll.surfaces.mcp.offering import FLAT, CallerNow, is_home
from atoll.wire.contract.correlation import TRACE_HEADER, TraceParent, read_trace_parent

Context = ServerRequestContext[Any, Any]


def caller_of(context: Context) -> Principal:
    """Return the caller, whom the guard has authenticated."""
    caller: Principal = _request(context).state.caller
    return caller


def caller_now_of(context: Context) -> CallerNow:
    """Return the function that returns the caller as it is by now."""
    found: CallerNow = _request(context).state.caller_now
    return found


def session_of(context: Context) -> SessionClaims | None:
    """Return the session that the entry has checked, None where the request has none."""
    session: SessionClaims | None = _request(context).state.mcp_session
    return session


def trace_of(context: Context) -> TraceParent | None:
    """Return the span that the client names in `_meta`, None where that is not well-formed."""
    named = dict(context.meta or {}).get(TRACE_HEADER)
    return read_trace_parent(named) if isinstance(named, str) else None


def check_no_cursor(params: types.PaginatedRequestParams | None) -> None:
    """Check a request for a list of one page, which gave nobody a cursor. Raises `MCPError`."""
    if params is not None and params.cursor is not None:
        raise MCPError(types.INVALID_PARAMS, "this list is one page: leave the cursor out")


def is_flat(context: Context) -> bool:
    """Report whether the client admits no dots in names."""
    return _request(context).query_params.get("names") == FLAT


def stays_home(context: Context) -> bool:
    """Report whether the client is an anonymous agent, for which nothing reaches outside."""
    return is_home(_request(context).query_params)


def _request(context: Context) -> Request:
    request = context.request
    if not isinstance(request, Request):
        raise TypeError("a request of the protocol came without its HTTP request")
    return request
