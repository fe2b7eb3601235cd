"""The credentials that a connection brings: a token, cookies with the page's key, or a name that
a trusted front end gives.

They are read here and checked by the guard.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from starlette.requests import HTTPConnection
from starlette.types import Scope

from atoll.domain.errors import Unauthenticated
from atoll.domain.people.front_end import NamedPrincipal
from atoll.services.people.logins import Logins
from atoll.surfaces.http.server.front_end import FrontEnd
from atoll.wire.http.cookies import read_cookies

COOKIE: Final = "atoll_session"
HOST_COOKIE: Final = "__Host-atoll_session"
"""The cookie of people over TLS: no other host, nor a page by plain http, can set it."""

SESSION_COOKIES: Final = (HOST_COOKIE, COOKIE)
GUEST_COOKIE: Final = "atoll_guest"
PAGE_KEY: Final = "Atoll-Page-Key"
"""The header with a secret that only this page's script has. A browser sends cookies to every port
of a host, also to one that forwards to an agent's server, so a cookie alone is not enough."""

PAGE_PROTOCOL: Final = "atoll.page"
KEY_PROTOCOL: Final = "atoll.key."
"""The subprotocol with this secret for WebSockets, to which a script can add no header: the page
offers both, and the first one is taken."""

BEARER_PROTOCOL: Final = "atoll.bearer"
SPELLED_BEARER: Final = "atoll.bearer."
"""The subprotocol with a signed token, for scripts without a cookie: they offer both, and the first
one is taken. A personal access token is not accepted here: proxies may log what is offered."""

MAX_PAGE_KEYS: Final = 2
"""The number of page keys: the person's cookie and a guest's, since one browser may hold both."""


@dataclass(frozen=True, slots=True)
class Credential:
    """The credential of a request: a bearer token, else a session cookie, else a guest's cookie,
    else nothing. `from_page` is True when the cookie's key came with it, `offered` when the token
    came as a subprotocol. `named` is the principal that a trusted front end names instead."""

    token: str | None = None
    session: str | None = None
    guest: str | None = None
    from_page: bool = False
    offered: bool = False
    named: NamedPrincipal | None = None

    @property
    def is_cookie(self) -> bool:
        """Return whether a browser adds the credential by itself."""
        return self.token is None and self.named is None


def read_credential(
    connection: HTTPConnection,
    headers: Mapping[str, str],
    logins: Logins,
    *,
    front_end: FrontEnd | None,
) -> Credential:
    """Return the credential that a connection brings, not checked yet. Raises `Unauthenticated` for
    one that cannot be read, and as `FrontEnd.principal` does."""
    named = None if front_end is None else front_end.principal(connection.scope)
    if named is not None:
        return Credential(named=named)
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme:
        if scheme.lower() != "bearer" or not token.strip():
            raise Unauthenticated("the Authorization header must be `Bearer <token>`")
        return Credential(token=token.strip())
    offered = _offered_token(connection.scope)
    if offered is not None:
        return Credential(token=offered, offered=True)
    keys = page_keys(connection)
    found = [
        Credential(
            session=secret if name in SESSION_COOKIES else None,
            guest=secret if name == GUEST_COOKIE else None,
            from_page=logins.from_page(secret, keys),
        )
        for name in (*SESSION_COOKIES, GUEST_COOKIE)
        if (secret := cookie_of(connection, name)) is not None
    ]
    proven = [one for one in found if one.from_page]
    return (proven or found or [Credential()])[0]


def take_cookies(scope: Scope) -> None:
    """Read the cookies of a request into its state, and take their header out of its head.

    Starlette would unquote each value by the standard library, in quadratic time on an old Python.
    """
    heads = [value.decode("latin-1") for name, value in scope["headers"] if name == b"cookie"]
    scope["headers"] = [header for header in scope["headers"] if header[0] != b"cookie"]
    scope.setdefault("state", {})["cookies"] = dict(read_cookies(heads))


def cookie_of(connection: HTTPConnection, name: str) -> str | None:
    """Return the value of a request's cookie, the last one where a name is given twice."""
    cookies: dict[str, str] = connection.scope["state"]["cookies"]
    return cookies.get(name)


def page_keys(connection: HTTPConnection) -> tuple[str, ...]:
    """Return the keys that a request of the page brought, not checked yet."""
    named = connection.headers.get(PAGE_KEY, "").split(",")
    offered = connection.scope.get("subprotocols", ())
    spelled = (one.removeprefix(KEY_PROTOCOL) for one in offered if one.startswith(KEY_PROTOCOL))
    return tuple(key for one in (*named, *spelled) if (key := one.strip()))[:MAX_PAGE_KEYS]


def _offered_token(scope: Scope) -> str | None:
    """Return the token that a WebSocket offers as a subprotocol."""
    if scope["type"] != "websocket" or BEARER_PROTOCOL not in scope.get("subprotocols", ()):
        return None
    spelled = (one for one in scope["subprotocols"] if one.startswith(SPELLED_BEARER))
    return next((one.removeprefix(SPELLED_BEARER) for one in spelled), None)
