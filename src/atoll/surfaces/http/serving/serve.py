"""Routes of declared operations: each is served by one function of domain types.

`@operations.serves(Webhooks.create)` stands before the function. mypy refuses one that differs
from its declaration.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.services.application import Application
from atoll.surfaces.http.body.answers import Json, no_content
from atoll.surfaces.http.body.pages import PageRequest, list_id
from atoll.surfaces.http.body.queries import QueryNames
from atoll.surfaces.http.server.deprecation import deprecated
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.serving.reading import RequestReader, named_fields
from atoll.surfaces.http.serving.routes import NamedRoute
from atoll.wire.api.fields import Paging
from atoll.wire.api.operation import Operation, Place, Stream

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class RequestContext:
    """The services, the caller, and the request itself. A public operation has no caller. `body` is
    the JSON that was sent."""

    atoll: Application
    caller: Principal
    request: Request
    operation: Operation[..., Any]
    body: Any = None

    def named(self, *place: str) -> frozenset[str]:
        """Return the fields that the body names, or those of the object at a place within it. A
        field that is left out has its default and is not named."""
        return named_fields(self.body, place)

    def page(self, paging: Paging) -> PageRequest:
        """Return the requested page of this list."""
        named = sorted(self.request.path_params.items())
        return PageRequest(paging.cursor, paging.limit, list_id(self.operation.name, named))


@dataclass(frozen=True, slots=True)
class Reply(Generic[R]):
    """An answer with another status than its operation's, or with headers."""

    answer: R
    status: int
    headers: Mapping[str, str] = field(default_factory=dict)


Check = Callable[[Principal], object]
"""A function that judges a caller. Raises what the request is refused with."""


class OperationRoute(NamedRoute):
    """The route of a declared operation. `first` judges the caller before the body is read."""

    def __init__(
        self,
        operation: Operation[..., Any],
        function: Callable[..., Any],
        *,
        first: Check | None = None,
        shown: bool = True,
    ) -> None:
        self.operation = operation
        self._function, self._first = function, first
        super().__init__(
            f"{operation.method} {operation.path}",
            _endpoint(operation, function, first),
            name=operation.name,
            shown=shown,
        )

    def below(self, prefix: str, other: str) -> "OperationRoute":
        """Return the same route below another prefix, which the document does not show."""
        path = f"{other}{self.operation.path.removeprefix(prefix)}"
        moved = self.operation.at(f"{self.operation.method} {path}")
        return OperationRoute(moved, self._function, first=self._first, shown=False)

    def query_names(self) -> QueryNames:
        """Return the parameters that the query may have."""
        parameters = self.operation.parameters()
        many = {one.key for one in parameters if one.is_list}
        every = {one.key for one in parameters if one.place is Place.QUERY}
        return QueryNames(frozenset(every - many), frozenset(many))


Served = Callable[Concatenate[RequestContext, P], Awaitable[R | Reply[R]]]
"""A function that serves an operation with these parameters and this answer."""

Streamed = Callable[Concatenate[RequestContext, P], Awaitable[Response]]
"""A function whose response is a stream."""


@dataclass
class Operations:
    """The operations that a module serves. `app.routers` finds it."""

    routes: list[OperationRoute] = field(default_factory=list)

    def serves(
        self, operation: Operation[P, R], *, first: Check | None = None
    ) -> Callable[[Served[P, R]], Served[P, R]]:
        """Return the decorator of the function that serves an operation. `first` judges the caller
        before the body is read."""
        return partial(self._add, operation, first=first)

    def forwards(self, operation: Operation[P, Any]) -> Callable[[Streamed[P]], Streamed[P]]:
        """Return the decorator of the function that makes the response: as a runtime gave it, with
        members that no declaration names, or with cookies."""
        return partial(self._add, operation)

    def streams(self, operation: Operation[P, Stream]) -> Callable[[Streamed[P]], Streamed[P]]:
        """Return the decorator of the function whose response is the stream of an operation."""
        return partial(self._add, operation)

    def below(self, prefix: str, other: str) -> "Operations":
        """Return the same operations below another prefix, which the document does not show."""
        return Operations([one.below(prefix, other) for one in self.routes])

    def _add(self, operation: Operation[..., Any], function: F, *, first: Check | None = None) -> F:
        self.routes.append(OperationRoute(operation, function, first=first))
        return function


def respond(answer: Any, status: int = 200) -> Response:
    """Return the response with the answer of a function that serves an operation."""
    match answer:
        case Response():
            return answer
        case Reply():
            return Json(answer.answer, answer.status, headers=answer.headers)
        case None:
            return no_content()
        case _:
            return Json(answer, status)


def _endpoint(
    operation: Operation[..., Any], function: Callable[..., Any], first: Check | None
) -> Callable[[Request], Awaitable[Response]]:
    reader = RequestReader(
        operation.parameters(), max_bytes=operation.max_bytes, max_values=operation.max_values
    )

    async def endpoint(request: Request) -> Response:
        services = request.app.state.services
        caller: Any = getattr(request.state, "caller", None)
        if first is not None:
            first(caller)
        arguments, body = await reader.read(request)
        context = RequestContext(services, caller, request, operation, body)
        answer = await function(context, **arguments)
        return respond(answer, operation.status)

    # A test of routes asks which module an endpoint is of, and a person the documentation.
    endpoint.__module__, endpoint.__qualname__ = function.__module__, function.__qualname__
    endpoint.__doc__ = operation.text
    removal = operation.removal
    if removal is not None:
        deprecated(removal.since, sunset=removal.sunset, link=removal.link)(endpoint)
    return needs(Capability(operation.needs))(endpoint) if operation.needs else endpoint
