"""Routes of declared operations: each is served by one function of domain types.

`@operations.serves(Webhooks.create)` stands before the function. mypy refuses one that differs
from its declaration.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Concatenate, ParamSpec, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.services.application import Application
from atoll.surfaces.http.body.answers import Json, no_content
from atoll.surfaces.http.body.queries import QueryNames
from atoll.surfaces.http.server.deprecation import deprecated
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.serving.reading import RequestReader
from atoll.wire.api.operation import Operation, Place, Stream

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class RequestContext:
    """The services, the caller, and the request itself."""

    atoll: Application
    caller: Principal
    request: Request


class OperationRoute(Route):
    """The route of a declared operation."""

    def __init__(self, operation: Operation[..., Any], function: Callable[..., Any]) -> None:
        self.operation = operation
        super().__init__(
            operation.path,
            _endpoint(operation, function),
            methods=[operation.method],
            name=operation.name,
            include_in_schema=False,
        )
        # Starlette adds HEAD to each GET.
        self.methods = {operation.method}

    def query_names(self) -> QueryNames:
        """Return the parameters that the query may have."""
        parameters = self.operation.parameters()
        return QueryNames(
            frozenset(one.key for one in parameters if one.place is Place.QUERY), frozenset()
        )


@dataclass
class Operations:
    """The operations that a module serves. `app.routers` finds it."""

    routes: list[OperationRoute] = field(default_factory=list)

    def serves(
        self, operation: Operation[P, R]
    ) -> Callable[
        [Callable[Concatenate[RequestContext, P], Awaitable[R]]],
        Callable[Concatenate[RequestContext, P], Awaitable[R]],
    ]:
        """Return the decorator of the function that serves an operation."""

        def serve(
            function: Callable[Concatenate[RequestContext, P], Awaitable[R]],
        ) -> Callable[Concatenate[RequestContext, P], Awaitable[R]]:
            self.routes.append(OperationRoute(operation, function))
            return function

        return serve

    def streams(
        self, operation: Operation[P, Stream]
    ) -> Callable[
        [Callable[Concatenate[RequestContext, P], Awaitable[Response]]],
        Callable[Concatenate[RequestContext, P], Awaitable[Response]],
    ]:
        """Return the decorator of the function whose response is the stream of an operation."""

        def serve(
            function: Callable[Concatenate[RequestContext, P], Awaitable[Response]],
        ) -> Callable[Concatenate[RequestContext, P], Awaitable[Response]]:
            self.routes.append(OperationRoute(operation, function))
            return function

        return serve


def _endpoint(
    operation: Operation[..., Any], function: Callable[..., Any]
) -> Callable[[Request], Awaitable[Response]]:
    reader = RequestReader(operation.parameters())

    async def endpoint(request: Request) -> Response:
        arguments = await reader.read(request)
        context = RequestContext(request.app.state.services, request.state.caller, request)
        answer = await function(context, **arguments)
        if isinstance(answer, Response):
            return answer
        return no_content() if answer is None else Json(answer, operation.status)

    # A test of routes asks which module an endpoint is of, and a person the documentation.
    endpoint.__module__, endpoint.__qualname__ = function.__module__, function.__qualname__
    endpoint.__doc__ = operation.text
    removal = operation.removal
    if removal is not None:
        deprecated(removal.since, sunset=removal.sunset, link=removal.link)(endpoint)
    return endpoint if operation.public else needs(Capability(operation.needs))(endpoint)
