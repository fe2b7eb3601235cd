"""The gate before every route: it checks the host name, the caller, and the page of origin.

It denies by default: every path needs a credential, except `PUBLIC_PATHS` and the page's files, and
so does every WebSocket. What the caller may do then is not decided here.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Final
from urllib.parse import parse_qsl

import structlog
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from atoll.domain.errors import AtollError, Invalid, NotFound, Unauthenticated, Unavailable
from atoll.domain.people.principal import CallOrigin, Principal, is_local
from atoll.services.journals.shared_reads import Begin, SharedReads
from atoll.services.people.bearers import Bearers
from atoll.services.people.logins import Logins
from atoll.services.people.memberships import Memberships
from atoll.services.people.shares import Shares
from atoll.services.people.tokens import parent_of
from atoll.surfaces.http.server.connections.pending_connections import KNOWN
from atoll.surfaces.http.server.credentials import (
    BEARER_PROTOCOL,
    PAGE_PROTOCOL,
    Credential,
    read_credential,
    take_cookies,
)
from atoll.surfaces.http.server.front_end import FrontEnd
from atoll.surfaces.http.server.guest_paths import guest_may
from atoll.surfaces.http.server.host_names import SAFE_METHODS, Names
from atoll.surfaces.http.server.internal_access import (
    SERVICE,
    InternalAccess,
    check_outside,
    check_service,
    is_internal,
)
from atoll.surfaces.http.server.permissions import PROVIDER_PATH, PUBLIC_PATHS
from atoll.surfaces.http.server.problems import internal_problem, refuse
from atoll.surfaces.http.server.token_paths import MCP, token_may
from atoll.wire.words.events import ActorKind

PAGE_FILES: Final = "/assets/"
RECHECK_SECONDS: Final = 2.0
"""The interval at which the credential of an open connection is checked again."""

SAME_LOOK_SECONDS: Final = 1.0
"""The time for which connections of one credential share what a check found."""

MAX_LOOKS: Final = 4096

REVOKED: Final = 4401
"""The close code of a WebSocket whose credential has ended."""

CREDENTIAL_NAMES: Final = frozenset({"token", "access_token", "authorization", "ticket"})

MAX_PARAMETERS: Final = 1000
"""The parameters of a query: more than any route takes."""

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


class Guard:
    """The ASGI middleware that authenticates.

    It puts `caller` (a Principal), `caller_now` (a function that returns it as it is by now, None
    when it has no access any more), `session` and `guest` (secrets of cookies) into the request's
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
        internal: InternalAccess | None = None,
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
        self._internal = internal
        self._looks = SharedReads(self._look)
        self._seen: dict[Credential, tuple[float, bool]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check one connection, then let it through or answer with a problem document."""
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        take_cookies(scope)
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
        self, credential: Credential, scope: Scope, receive: Receive, *, answer: "_Answer"
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
                if not await self._may_continue(credential, scope["state"]["caller"]):
                    break
            worker.cancel()

        async with asyncio.TaskGroup() as group:
            worker = group.create_task(work())
            watcher = group.create_task(watch())
        if worker.cancelled():
            await answer.cut_off(scope)
        for error in failure:
            raise error

    async def _may_continue(self, credential: Credential, caller: Principal) -> bool:
        """Report whether a connection may go on: its login lasts, and its caller may still do all
        that it might when it began."""
        try:
            current = await self._memberships.current(caller)
            if current is None or not current.capabilities >= caller.capabilities:
                return False
            if credential.token is not None and caller.token is None:
                return True  # it came by the token file
            if credential.named is not None:
                return True  # its membership was looked at
            return await self._still_holds(credential)
        except Unavailable:
            # Nobody can say: who may stay comes back by itself, a revoked one must not stay.
            return False

    async def _still_holds(self, credential: Credential) -> bool:
        """Report whether a credential lasts: looked at once for all connections that it has."""
        now = asyncio.get_running_loop().time()
        seen = self._seen.get(credential)
        if seen is None or now - seen[0] > SAME_LOOK_SECONDS:
            seen = now, await self._looks.of(credential)
            if len(self._seen) >= MAX_LOOKS:
                self._seen.clear()
            self._seen[credential] = seen
        return seen[1]

    async def _look(self, credential: Credential, begin: Begin) -> bool:
        begin()
        if credential.token is not None:
            return await self._bearers.holds(credential.token)
        if credential.session is not None:
            return await self._logins.holds(credential.session)
        return credential.guest is not None and bool(await self._shares.holder(credential.guest))

    async def _current_caller(self, credential: Credential, caller: Principal) -> Principal | None:
        """Return a caller with what its role and its token allow by now. One that came without a
        token has at most what it came with."""
        found: Principal | None = caller
        if credential.token is not None:
            found = await self._bearers.current(credential.token)
        return None if found is None else await self._memberships.current(found)

    async def _admit(self, scope: Scope) -> Credential | None:
        headers = _headers(scope)
        host = self._names.check_host(scope)
        _check_target(scope)
        state = scope.setdefault("state", {})
        state["session"] = state["guest"] = None
        origin = headers.get("origin")
        if not _is_private(scope, self._public):
            # Logging in from a foreign page would put the person into somebody else's session.
            if scope.get("method") not in SAFE_METHODS and origin is not None:
                self._names.check_origin(origin, host)
            return None
        if is_internal(scope):
            return await self._admit_service(scope, headers, host)
        credential = self._credential(scope, headers)
        caller = await self._require_member(await self._caller(credential, source_of(scope)))
        _put_caller(scope, caller)
        state["caller_now"] = partial(self._current_caller, credential, caller)
        state["session"], state["guest"] = credential.session, credential.guest
        self._names.check_page(scope, headers, by_cookie=credential.is_cookie)
        # People of a front end come by browsers, and MCP wants each request checked.
        if origin is not None and (credential.named is not None or scope["path"] == MCP):
            self._names.check_origin(origin, host)
        if credential.is_cookie and not credential.from_page:
            raise Unauthenticated(
                "the cookie alone is not a login: "
                "open the link that `atoll login` prints in this browser",
                code="page_key_missing",
            )
        if caller.guest_access is not None and not guest_may(scope, caller.guest_access):
            raise NotFound(f"a guest has no access to {scope['path'][:200]}")
        if caller.token is not None and not token_may(scope, caller.token):
            raise NotFound(f"this token has no access to {scope['path'][:200]}")
        return credential

    async def _admit_service(self, scope: Scope, headers: dict[str, str], host: str) -> Credential:
        """Admit a host or a trusted service. Raises `Forbidden` for everybody else."""
        check_service(self._internal, scope)
        credential, caller = self._credential(scope, headers), SERVICE
        if credential != Credential():
            caller = await self._require_member(await self._caller(credential, source_of(scope)))
        check_outside(caller, credential)
        if headers.get("origin") is not None:
            self._names.check_origin(headers["origin"], host)
        if caller.token is not None and not token_may(scope, caller.token):
            raise NotFound(f"this token has no access to {scope['path'][:200]}")
        _put_caller(scope, caller)
        return credential

    def _credential(self, scope: Scope, headers: dict[str, str]) -> Credential:
        connection = HTTPConnection(scope)
        return read_credential(connection, headers, self._logins, front_end=self._front_end)

    async def _caller(self, credential: Credential, source: str) -> Principal:
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

    async def _require_member(self, caller: Principal) -> Principal:
        """Return the caller with what its role allows now. Raises `Unauthenticated`."""
        current = await self._memberships.current(caller)
        if current is None:
            raise Unauthenticated("you are not a member any more: ask an administrator of yours")
        return current


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


def _lasts(credential: Credential, scope: Scope) -> bool:
    """Report whether nothing can end this credential while a connection of it lasts: the token
    file's, and that of trusted services."""
    caller: Principal = scope["state"]["caller"]
    if credential == Credential():
        return caller.kind is ActorKind.AUTOMATION
    return credential.token is not None and caller.token is None and is_local(caller)


def _put_caller(scope: Scope, caller: Principal) -> None:
    """Put the caller into the state of a request, and into its log lines."""
    state = scope["state"]
    called = CallOrigin(source_of(scope), state.get("request_id", ""), _token_id(caller))
    state["caller"] = replace(caller, origin=called)
    structlog.contextvars.bind_contextvars(org=caller.org_id, principal=caller.kind.value)
    _tell_known(scope)


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
    # Each is looked at several times: 32,000 would take the loop for a tenth of a second.
    if query.count("&") >= MAX_PARAMETERS:
        raise Invalid(f"the query has more than {MAX_PARAMETERS} parameters", field="query")
    # An address ends up in logs, histories and Referer lines.
    if query and any(name.lower() in CREDENTIAL_NAMES for name, _ in parse_qsl(query, True)):
        raise Invalid(
            "a credential may not be in an address; send it as `Authorization: Bearer`",
            field="query",
        )


def source_of(scope: Scope) -> str:
    """Return the address that a connection comes from, for people and for bounds."""
    client = scope.get("client")
    return str(client[0]) if client else "a local socket"
