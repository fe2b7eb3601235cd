"""The one permission of each route and WebSocket, and the gate that asks for it.

A route says `@needs(Capability.X)` beside its decorator. What needs none stands in `PUBLIC_PATHS`
or `WITHOUT_PERMISSION`, with the reason. Whose thing a path names is no matter of this gate: the
services decide that.
"""

import re
from collections.abc import Callable, Mapping
from copy import copy
from typing import Final, TypeVar

from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from atoll.domain.errors import Forbidden
from atoll.domain.ids import NO_ORG
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.services.people.memberships import no_organization
from atoll.surfaces.http.server.problems import refuse

PUBLIC_PATHS: Final[Mapping[str, str]] = {
    "/": "the page, before anybody has logged in",
    "/index.html": "the page by its file's name",
    "/sw.js": "the page's service worker, which a browser fetches without the page's key",
    "/pdf.html": "the frame that draws a PDF, which has no origin and so no key",
    "/healthz": "monitoring has no login",
    "/readyz": "monitoring has no login",
    "/openapi.json": "what the routes are is public; what they answer is not",
    "/.well-known/jwks.json": "the public keys, by which anybody verifies our tokens",
    "/v1/ingest/{source}/{hook}": "its credential is the signature of the body",
    "/.well-known/oauth-protected-resource": "clients of tools learn here how to log in",
    "/.well-known/oauth-protected-resource/mcp": "the same, by the path of the resource",
    "/auth/login": "the login itself: it takes a one-time ticket",
    "/auth/cli": "a command line begins its login without one",
    "/auth/cli/poll": "it fetches its token by the secret of that login",
    "/auth/realms": "where people log in is shown before they do",
    "/auth/oidc/{realm}/login": "a login at a provider begins without one",
    "/auth/oidc/{realm}/callback": "a login at a provider ends here, by the browser's cookie",
    "/auth/drive/callback": "a browser comes back from Google without the session's cookie",
    "/auth/guests": "the login of a guest: it takes the secret of a share link",
    "/auth/invitations": "what a share link opens, shown before a guest comes in",
}
"""The paths that answer without a credential, beside the page's files, and why."""

WITHOUT_PERMISSION: Final[Mapping[str, str]] = {
    "/auth/token": "a credential is exchanged for a token that can do no more than it",
    "/auth/subscription": "the service asks for what the subscription names",
    "/{name:path}": "files of the built page, the same for everybody; else it answers 404",
}
"""The routes that need a credential and no permission, and why."""

PROVIDER_PATH: Final = re.compile(
    r"/auth/oidc/[^/]{1,100}/(login|callback)|/v1/ingest/[^/]{1,20}/[^/]{1,64}"
)
"""The public paths with a parameter, as requests name them."""

NEWCOMER_PATHS: Final = frozenset(
    {
        *("/auth/me", "/v1/me", "/auth/logout", "/auth/logout/everywhere"),
        *("/v1/me/sessions", "/v1/me/sessions/{session}", "/v1/me/organization"),
        *("/v1/invitations/accept", "/v1/invitations/look"),
        *("/v1/me/login/accept", "/v1/me/login/look"),
    }
)
"""The routes of a person who has logged in and is a member of nothing."""

EXTENSION: Final = "x-permission"
"""The field of an operation in the OpenAPI document."""

_DECLARED: Final = "needs_capability"
_Endpoint = TypeVar("_Endpoint", bound=Callable[..., object])


def needs(capability: Capability) -> Callable[[_Endpoint], _Endpoint]:
    """Declare the permission of a route. It stands between the router's decorator and the
    function."""

    def declare(endpoint: _Endpoint) -> _Endpoint:
        setattr(endpoint, _DECLARED, capability)
        return endpoint

    return declare


def permission_of(route: BaseRoute) -> Capability | None:
    """Return the declared permission of a route, None when there is none."""
    return getattr(getattr(route, "endpoint", None), _DECLARED, None)


def require_permission(route: BaseRoute) -> BaseRoute:
    """Return the route as an app serves it: it checks the caller's permission first.

    Raises `LookupError` for a route that declares none and is on no list: an app with it does not
    start.
    """
    capability = permission_of(route)
    if capability is None:
        path = getattr(route, "path", "")
        if path not in PUBLIC_PATHS and path not in WITHOUT_PERMISSION:
            raise LookupError(f"the route {path!r} declares no permission: add `@needs(…)`")
        return route
    # A copy, since the routers are shared by all apps of the process.
    own = copy(route)
    if isinstance(own, Route | WebSocketRoute):
        own.app = _Gate(own.app, capability, newcomers=own.path in NEWCOMER_PATHS)
    return own


class _Gate:
    """An ASGI app that answers 403 when the caller has not the capability."""

    __slots__ = ("_app", "_capability", "_newcomers")

    def __init__(self, app: ASGIApp, capability: Capability, *, newcomers: bool) -> None:
        self._app = app
        self._capability = capability
        self._newcomers = newcomers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller: Principal = scope["state"]["caller"]
        if caller.org_id == NO_ORG and not self._newcomers:
            await refuse(no_organization(), scope, receive, send)
            return
        if self._capability in caller.capabilities:
            await self._app(scope, receive, send)
            return
        error = Forbidden(
            f"this needs the permission {self._capability.value}, which your role or your token "
            "does not have"
        )
        await refuse(error, scope, receive, send)
