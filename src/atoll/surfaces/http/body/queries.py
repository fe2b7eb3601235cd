"""The query of every route and WebSocket: what it does not take is refused, as in a body.

A route takes what its function declares. A WebSocket that reads its query by hand says
`@takes(names)` beside its decorator. Paths whose callers add parameters of their own stand in
`ANY_QUERY`, with the reason.
"""

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from typing import Any, Final, TypeVar, get_origin

from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, APIWebSocketRoute
from starlette.datastructures import QueryParams
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from atoll.domain.errors import Invalid
from atoll.domain.query import check_query
from atoll.surfaces.http.server.problems import refuse
from atoll.surfaces.http.terminals.relay import close, code_of

ANY_QUERY: Final[Mapping[str, str]] = {
    "/": "links to the page carry parameters of whoever shares them",
    "/{name:path}": "files of the page, and its addresses",
    "/healthz": "probes of monitoring systems add parameters against caches",
    "/readyz": "probes of monitoring systems add parameters against caches",
    "/.well-known/oauth-protected-resource": "RFC 9728 §3.1 puts the resource's own query here",
    "/.well-known/oauth-protected-resource/mcp": "RFC 9728 §3.1 puts the resource's own query here",
    "/v1/ingest/{source}/{hook}": "the senders of webhooks add parameters of their own",
    "/auth/oidc/{realm}/callback": "providers add parameters, which RFC 6749 §4.1.2 has ignored",
    "/auth/drive/callback": "providers add parameters, which RFC 6749 §4.1.2 has ignored",
}
"""The paths that take any query, and why."""

_DECLARED: Final = "takes_query"
_Endpoint = TypeVar("_Endpoint", bound=Callable[..., object])


def takes(*names: str) -> Callable[[_Endpoint], _Endpoint]:
    """Declare the parameters that a WebSocket reads from its query by hand."""

    def declare(endpoint: _Endpoint) -> _Endpoint:
        setattr(endpoint, _DECLARED, frozenset(names))
        return endpoint

    return declare


def strict(route: BaseRoute) -> BaseRoute:
    """Return the route as an app serves it: it refuses parameters that it does not take, and those
    given twice that have one value."""
    if not isinstance(route, APIRoute | APIWebSocketRoute) or route.path in ANY_QUERY:
        return route
    single, many = set(getattr(route.endpoint, _DECLARED, ())), set[str]()
    for name, is_list in _parameters(route.dependant):
        (many if is_list else single).add(name)
    own = copy(route)
    own.app = _StrictQuery(own.app, frozenset(single), frozenset(many))
    return own


class _StrictQuery:
    """An ASGI app that answers `invalid` for a query with anything else than its parameters."""

    __slots__ = ("_app", "_many", "_single")

    def __init__(self, app: ASGIApp, single: frozenset[str], many: frozenset[str]) -> None:
        self._app = app
        self._single = single
        self._many = many

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            if scope["query_string"]:
                pairs = QueryParams(scope["query_string"]).multi_items()
                check_query(pairs, single=self._single, many=self._many)
        except Invalid as error:
            if scope["type"] == "websocket":
                # A browser learns nothing from a refused handshake.
                await close(WebSocket(scope, receive, send), code_of(error), error.message)
            else:
                await refuse(error, scope, receive, send)
            return
        await self._app(scope, receive, send)


def _parameters(dependant: Dependant) -> Iterator[tuple[str, bool]]:
    """Yield the query parameters of a route and of what it depends on, and whether each is a
    list."""
    for field in dependant.query_params:
        yield field.alias, _is_list(field.field_info.annotation)
    for part in dependant.dependencies:
        yield from _parameters(part)


def _is_list(annotation: Any) -> bool:
    parts = (annotation, *getattr(annotation, "__args__", ()))
    return any((get_origin(part) or part) in {list, tuple, set, frozenset} for part in parts)
