"""The gate in front of every route and WebSocket that refuses a query with more than it takes.

A parameter that is unknown, or given twice where it has one value, is refused as a field of a body
is: by name, before the route runs. Each route says what it takes.
"""

from copy import copy

from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from atoll.domain.errors import Invalid
from atoll.surfaces.http.body.queries import ANY_QUERY, QueryNames
from atoll.surfaces.http.server.problems import refuse
from atoll.surfaces.http.serving.routes import NamedRoute, SocketRoute
from atoll.surfaces.http.terminals.relay import close, code_of


def strict(route: BaseRoute) -> BaseRoute:
    """Return the route as an app serves it: it refuses parameters that it does not take, and those
    given twice that have one value."""
    if not isinstance(route, NamedRoute | SocketRoute):
        return route
    if route.path in ANY_QUERY:
        return route
    own = copy(route)
    own.app = _StrictQuery(own.app, route.query_names())
    return own


class _StrictQuery:
    """An ASGI app that answers `invalid` for a query with anything else than its parameters."""

    __slots__ = ("_app", "_names")

    def __init__(self, app: ASGIApp, names: QueryNames) -> None:
        self._app = app
        self._names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self._names.check(scope["query_string"])
        except Invalid as error:
            if scope["type"] == "websocket":
                # A browser learns nothing from a refused handshake.
                await close(WebSocket(scope, receive, send), code_of(error), error.message)
            else:
                await refuse(error, scope, receive, send)
            return
        await self._app(scope, receive, send)
