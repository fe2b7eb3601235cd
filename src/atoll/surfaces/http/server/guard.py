"""The gate before every route: it checks the host name, the caller, and the page of origin.

It denies by default: every path needs a credential, except `PUBLIC_PATHS` and the page's files, and
so does every WebSocket. What the caller may do then is not decided here.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from http.cookies import CookieError, SimpleCookie
from typing import Final
from urllib.parse import parse_qsl, urlsplit

import structlog
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from atoll.domain.errors import (
    AtollError,
    Forbidden,
    Invalid,
    NotFound,
    Unauthenticated,
    Unavailable,
)
from atoll.domain.people.front_end import NamedPrincipal
from atoll.domain.people.principal import CallOrigin, Principal
from atoll.services.people.bearers import Bearers
from atoll.services.people.logins import Logins
from atoll.services.people.memberships import Memberships, is_local
from atoll.services.people.shares import Shares
from atoll.services.people.tokens import parent_of
from atoll.surfaces.http.server.front_end import FrontEnd
from atoll.surfaces.http.server.guest_paths import guest_may
from atoll.surfaces.http.server.pending_connections import KNOWN
from atoll.surfaces.http.server.permissions import PROVIDER_PATH, PUBLIC_PATHS
from atoll.surfaces.http.server.problems import internal_problem, refuse
from atoll.surfaces.http.server.token_paths import token_may

COOKIE: Final = "atoll_session"
LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
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

PAGE_FILES: Final = "/assets/"
RECHECK_SECONDS: Final = 2.0
"""The interval at which the credential of an open connection is checked again."""

REVOKED: Final = 4401
"""The close code of a WebSocket whose credential has ended."""

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
CREDENTIAL_NAMES: Final = frozenset({"token", "access_token", "authorization", "ticket"})

# What an answer may do in a browser when its route said nothing: nothing at all.
_LOCKED_DOWN: Final = b"default-src 'none'; frame-ancestors 'none'; sandbox"
_HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"content-security-policy", _LOCKED_DOWN),
    (b"cache-control", b"no-store"),
)
_GUEST_CUT: Final = "your link was revoked or has expired; ask whoever invited you for a new one"
_ENDED: Final = "your token was revoked or has expired"
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Names:
    """The names this server answers to. `hosts` are names without a port (`localhost`, `[::1]`,
    `atoll.example.org`); `origins` whole origins of a proxy in front
    (`https://atoll.example.org`)."""

    hosts: frozenset[str] = LOOPBACK
    origins: frozenset[str] = frozenset()


LOOPBACK_NAMES: Final = Names()


@dataclass(frozen=True, slots=True)
class _Credential:
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


class Guard:
    """The ASGI middleware that authenticates.

    It puts `caller` (a Principal), `session` and `guest` (secrets of cookies) into the request's
    state, and ends connections whose credential has ended.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        bearers: Bearers,
        logins: Logins,
        shares: Shares,
        memberships: Memberships,
        names: Names,
        front_end: FrontEnd | None = None,
        public: frozenset[str] = frozenset(PUBLIC_PATHS),
    ) -> None:
        self._app = app
        self._public = public
        self._bearers = bearers
        self._logins = logins
        self._shares = shares
        self._memberships = memberships
        self._names = names
        self._front_end = front_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check one connection, then let it through or answer with a problem document."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        answer = _Answer(send, offered=scope.get("subprotocols", ()))
        try:
            credential = await self._admit(scope)
            if credential is None or _lasts(credential, scope):
                await self._app(scope, receive, answer.send)
            else:
                await self._while_valid(credential, scope, receive, answer=answer)
        except AtollError as error:
            if answer.started:
                raise
            await refuse(error, scope, receive, answer.send)
        except Exception as error:  # the root of a request: nothing may leak out
            _log.exception("request_failed", path=scope["path"], reason=str(error))
            if answer.started:
                raise
            await internal_problem()(scope, receive, answer.send)

    async def _while_valid(
        self, credential: _Credential, scope: Scope, receive: Receive, *, answer: "_Answer"
    ) -> None:
        """Run the app; close a connection once its credential is logged out or revoked."""
        failure: list[Exception] = []

        async def work() -> None:
            try:
                await self._app(scope, receive, answer.send)
            except Exception as error:  # noqa: BLE001
                # Not handled here: raised again below, bare, for those who know what to say.
                failure.append(error)
            watcher.cancel()

        async def watch() -> None:
            while True:
                await asyncio.sleep(RECHECK_SECONDS)
                if not await self._holds(credential, scope["state"]["caller"]):
                    break
            worker.cancel()

        async with asyncio.TaskGroup() as group:
            worker = group.create_task(work())
            watcher = group.create_task(watch())
        if worker.cancelled():
            await answer.cut_off(scope)
        for error in failure:
            raise error

    async def _holds(self, credential: _Credential, caller: Principal) -> bool:
        """Report whether a connection may go on: its login lasts, and its caller may still do all
        that it might when it began."""
        try:
            current = await self._memberships.current(caller)
            if current is None or not current.capabilities >= caller.capabilities:
                return False
            if credential.token is not None:
                # Who has no token of ours came by the token file.
                return caller.token is None or await self._bearers.holds(credential.token)
            if credential.named is not None:
                return True  # its membership was looked at
            if credential.session is not None:
                return await self._logins.holds(credential.session)
            return credential.guest is not None and bool(
                await self._shares.holder(credential.guest)
            )
        except Unavailable:
            # Nobody can say: who may stay comes back by itself, a revoked one must not stay.
            return False

    async def _admit(self, scope: Scope) -> _Credential | None:
        headers = _headers(scope)
        host = self._check_host(scope)
        _check_target(scope)
        state = scope.setdefault("state", {})
        state["session"] = state["guest"] = None
        origin = headers.get("origin")
        if not _is_private(scope, self._public):
            # Logging in from a foreign page would put the person into somebody else's session.
            if scope.get("method") not in SAFE_METHODS and origin is not None:
                self._check_origin(origin, host)
            return None
        credential = self._credential(headers, HTTPConnection(scope))
        source = source_of(scope)
        caller = await self._standing(await self._caller(credential, source))
        called = CallOrigin(source, state.get("request_id", ""), _token_id(caller))
        state["caller"] = replace(caller, origin=called)
        structlog.contextvars.bind_contextvars(org=caller.org_id, principal=caller.kind.value)
        state["session"], state["guest"] = credential.session, credential.guest
        _tell_known(scope)
        self._check_page(scope, headers, by_cookie=credential.is_cookie)
        if credential.named is not None and origin is not None:
            self._check_origin(origin, host)  # its people come by browsers
        if credential.is_cookie and not credential.from_page:
            raise Unauthenticated(
                "the cookie alone is not a login: "
                "open the link that `atoll login` prints in this browser",
                code="page_key_missing",
            )
        if caller.guest_access is not None and not guest_may(scope):
            raise NotFound(f"a guest has no access to {scope['path'][:200]}")
        if caller.token is not None and not token_may(scope, caller.token):
            raise NotFound(f"this token has no access to {scope['path'][:200]}")
        return credential

    def _credential(self, headers: Mapping[str, str], connection: HTTPConnection) -> _Credential:
        named = None if self._front_end is None else self._front_end.principal(connection.scope)
        if named is not None:
            return _Credential(named=named)
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme:
            if scheme.lower() != "bearer" or not token.strip():
                raise Unauthenticated("the Authorization header must be `Bearer <token>`")
            return _Credential(token=token.strip())
        offered = _offered_token(connection.scope)
        if offered is not None:
            return _Credential(token=offered, offered=True)
        keys = page_keys(connection)
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError as error:
            raise Unauthenticated("the Cookie header cannot be read") from error
        found = [
            _Credential(
                session=cookie.value if name in SESSION_COOKIES else None,
                guest=cookie.value if name == GUEST_COOKIE else None,
                from_page=self._logins.from_page(cookie.value, keys),
            )
            for name in (*SESSION_COOKIES, GUEST_COOKIE)
            if (cookie := cookies.get(name)) is not None
        ]
        proven = [one for one in found if one.from_page]
        return (proven or found or [_Credential()])[0]

    async def _caller(self, credential: _Credential, source: str) -> Principal:
        if credential.named is not None:
            return await self._memberships.named(credential.named)
        if credential.token is not None:
            read = self._bearers.signed_only if credential.offered else self._bearers.by_text
            return await read(credential.token, source)
        if credential.session is not None:
            return await self._logins.by_session(credential.session, source)
        if credential.guest is not None:
            return await self._shares.by_session(credential.guest, source)
        raise Unauthenticated(
            "this needs a login: open the link `atoll login` prints, or send "
            "`Authorization: Bearer` with the token in $ATOLL_HOME/token"
        )

    async def _standing(self, caller: Principal) -> Principal:
        """Return the caller with what its role allows now."""
        current = await self._memberships.current(caller)
        if current is None:
            raise Unauthenticated("you are not a member any more: ask an administrator of yours")
        return current

    def _check_host(self, scope: Scope) -> str:
        given = [value for name, value in scope["headers"] if name == b"host"]
        host = given[0].decode("latin-1").lower() if len(given) == 1 else ""
        # A page whose name was re-pointed at this address still sends its own name.
        if without_port(host) not in self._names.hosts:
            raise Forbidden(
                f"this server does not answer to the name {host[:100]!r}; add it to `hosts` in "
                "config.toml if it should",
                code="misdirected",
            )
        return host

    def _check_origin(self, origin: str, host: str) -> None:
        parts = urlsplit(origin) if origin.startswith(("http://", "https://")) else None
        own = parts is not None and parts.netloc.lower() == host and not parts.path
        if not own and origin.lower() not in self._names.origins:
            raise Forbidden(f"a page of {origin[:100]!r} may not use this server")

    def _check_page(self, scope: Scope, headers: Mapping[str, str], *, by_cookie: bool) -> None:
        """Check which page sent a request.

        A cookie travels by itself, so a cookie's request must name an origin of this server. A
        token does not, but a WebSocket naming a foreign page is refused.
        """
        origin = headers.get("origin")
        is_socket = scope["type"] == "websocket"
        unsafe = is_socket or scope["method"] not in SAFE_METHODS
        if origin is not None and (is_socket or by_cookie):
            self._check_origin(origin, headers.get("host", "").lower())
        elif origin is None and by_cookie and unsafe:
            raise Forbidden("a browser's request must have an Origin header")
        # Another port of this machine counts as the same site, and its pages get the cookie.
        if by_cookie and headers.get("sec-fetch-site", "none") not in {"same-origin", "none"}:
            raise Forbidden(
                "a page of another origin may not use this server: open the server's own page"
            )


class _Answer:
    """A response with the security headers, which knows whether it has begun. Of the `offered`
    WebSocket protocols it takes the first one of ours."""

    __slots__ = ("_protocol", "_send", "ended", "started")

    def __init__(self, send: Send, *, offered: Iterable[str]) -> None:
        self._send = send
        ours = (one for one in offered if one in {PAGE_PROTOCOL, BEARER_PROTOCOL})
        self._protocol = next(ours, None)
        self.started = False
        self.ended = False

    async def send(self, message: Message) -> None:
        if message["type"] in {"http.response.start", "websocket.http.response.start"}:
            self.started = True
            headers = list(message.get("headers", ()))
            named = {name.lower() for name, _ in headers}
            headers.extend(header for header in _HEADERS if header[0] not in named)
            message = {**message, "headers": headers}
        elif message["type"] in {"websocket.accept", "websocket.close"}:
            self.started = True
            self.ended = message["type"] == "websocket.close"
            # A browser drops a connection none of whose offered protocols was taken.
            if self._protocol is not None and not self.ended:
                message = {**message, "subprotocol": self._protocol}
        await self._send(message)

    async def cut_off(self, scope: Scope) -> None:
        """End a WebSocket with a code it can read. An HTTP answer just stays unfinished."""
        if scope["type"] == "websocket" and not self.ended:
            state = scope["state"]
            cut = _GUEST_CUT if state["guest"] is not None else _ENDED
            reason = "logged out" if state["session"] is not None else cut
            await self._send({"type": "websocket.close", "code": REVOKED, "reason": reason})


def _lasts(credential: _Credential, scope: Scope) -> bool:
    """Report whether nothing can end this credential while a connection of it lasts: the token
    file's."""
    caller: Principal = scope["state"]["caller"]
    return credential.token is not None and caller.token is None and is_local(caller)


def _token_id(caller: Principal) -> str:
    parent = None if caller.token is None else parent_of(caller.token.origin)
    return parent or ""


def _headers(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


def _tell_known(scope: Scope) -> None:
    """Report to the server, where it supports that, that the client of the connection has a
    credential."""
    known = scope.get("extensions", {}).get(KNOWN)
    if known is not None:
        known()


def _is_private(scope: Scope, paths: frozenset[str]) -> bool:
    path: str = scope["path"]
    public = path in paths or path.startswith(PAGE_FILES) or bool(PROVIDER_PATH.fullmatch(path))
    return scope["type"] == "websocket" or not public


def _check_target(scope: Scope) -> None:
    path = scope["path"]
    if not path.isprintable():
        raise Invalid("the path contains a character that cannot be printed", field="path")
    if any(part in {".", ".."} for part in path.split("/")):
        raise Invalid(
            "the path contains `.` or `..` as a segment: name the resource itself", field="path"
        )
    query = scope["query_string"].decode("latin-1")
    # An address ends up in logs, histories and Referer lines.
    if query and any(name.lower() in CREDENTIAL_NAMES for name, _ in parse_qsl(query, True)):
        raise Invalid(
            "a credential may not be in an address; send it as `Authorization: Bearer`",
            field="query",
        )


def _offered_token(scope: Scope) -> str | None:
    """Return the token that a WebSocket offers as a subprotocol."""
    if scope["type"] != "websocket" or BEARER_PROTOCOL not in scope.get("subprotocols", ()):
        return None
    spelled = (one for one in scope["subprotocols"] if one.startswith(SPELLED_BEARER))
    return next((one.removeprefix(SPELLED_BEARER) for one in spelled), None)


def page_keys(connection: HTTPConnection) -> tuple[str, ...]:
    """Return the keys that a request of the page brought, not checked yet."""
    named = connection.headers.get(PAGE_KEY, "").split(",")
    offered = connection.scope.get("subprotocols", ())
    spelled = (one.removeprefix(KEY_PROTOCOL) for one in offered if one.startswith(KEY_PROTOCOL))
    return tuple(key for one in (*named, *spelled) if (key := one.strip()))[:MAX_PAGE_KEYS]


def source_of(scope: Scope) -> str:
    """Return the address that a connection comes from, for people and for bounds."""
    client = scope.get("client")
    return str(client[0]) if client else "a local socket"


def without_port(host: str) -> str:
    """Return the name in a Host header."""
    name, colon, port = host.rpartition(":")
    if colon and port.isdigit() and not name.endswith(":"):
        return name
    return host


def names_for(bound: str, public_url: str | None, hosts: tuple[str, ...]) -> Names:
    """Return the names to answer to: loopback, the bound address when it is one, the public URL's,
    and those configured."""
    own = {host.lower() for host in hosts}
    if bound and bound not in {"0.0.0.0", "::"}:  # noqa: S104 - compared, not bound
        own.add(f"[{bound}]" if ":" in bound else bound.lower())
    names = Names(LOOPBACK | own)
    if public_url is None:
        return names
    parts = urlsplit(public_url)
    origin = f"{parts.scheme}://{parts.netloc}".lower()
    public = without_port(parts.netloc.lower())
    return replace(names, hosts=names.hosts | {public}, origins=frozenset({origin}))
