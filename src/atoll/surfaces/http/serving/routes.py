"""Routes that no declaration makes: WebSockets, and what answers outside the document."""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route, WebSocketRoute
from starlette.types import Scope
from starlette.websockets import WebSocket

from atoll.domain.people.capability import Capability
from atoll.surfaces.http.body.queries import QueryNames
from atoll.surfaces.http.server.permissions import needs

F = TypeVar("F", bound=Callable[..., Awaitable[None]])


class NamedRoute(Route):
    """A route of one method, which names itself for logs and metrics."""

    def __init__(
        self,
        line: str,
        endpoint: Callable[[Request], Awaitable[Response]],
        *,
        name: str | None = None,
        shown: bool = False,
    ) -> None:
        method, _, path = line.partition(" ")
        super().__init__(path, endpoint, methods=[method], name=name, include_in_schema=shown)
        # Starlette adds HEAD to each GET.
        self.methods = {method}

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return how the route matches, and name it."""
        match, found = super().matches(scope)
        return match, {**found, "route": self}

    def query_names(self) -> QueryNames:
        """Return the parameters that the query may have."""
        return QueryNames(frozenset(), frozenset())


class SocketRoute(WebSocketRoute):
    """The route of a WebSocket. `takes` are the parameters of its query."""

    def __init__(
        self, path: str, endpoint: Callable[[WebSocket], Awaitable[None]], takes: Collection[str]
    ) -> None:
        super().__init__(path, endpoint)
        self._takes = frozenset(takes)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return how the route matches, and name it."""
        match, found = super().matches(scope)
        return match, {**found, "route": self}

    def query_names(self) -> QueryNames:
        """Return the parameters that the query may have."""
        return QueryNames(self._takes, frozenset())


@dataclass
class Sockets:
    """The WebSockets that a module serves. `app.routers` finds it."""

    routes: list[SocketRoute] = field(default_factory=list)

    def serves(
        self, path: str, permission: Capability, *, takes: Collection[str] = ()
    ) -> Callable[[F], F]:
        """Return the decorator of a function that is called with the socket, the services, the
        caller, and what the path names. `takes` are the parameters that it reads of its query."""

        def add(function: F) -> F:
            endpoint = needs(permission)(_endpoint(function))
            self.routes.append(SocketRoute(path, endpoint, takes))
            return function

        return add


def _endpoint(function: Callable[..., Awaitable[None]]) -> Callable[[WebSocket], Awaitable[None]]:
    async def endpoint(socket: WebSocket) -> None:
        services: Any = socket.app.state.services
        await function(socket, services, socket.state.caller, **socket.path_params)

    # A test of routes asks which module an endpoint is of, and a person the documentation.
    endpoint.__module__, endpoint.__qualname__ = function.__module__, function.__qualname__
    endpoint.__doc__ = function.__doc__
    return endpoint
