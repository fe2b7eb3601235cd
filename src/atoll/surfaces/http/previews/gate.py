"""The gate of previews: what names a preview's host is served here and never reaches the API.

It stands before the guard. No credential of Atoll counts here: the only one is the visit's cookie,
which the browser keeps for this one origin. And nothing that counts there goes into a sandbox.
"""

import asyncio
from collections.abc import Awaitable
from types import SimpleNamespace
from typing import Final

import structlog
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from atoll.domain.errors import (
    AtollError,
    Forbidden,
    Invalid,
    NotFound,
    Unauthenticated,
)
from atoll.domain.previews.head import (
    check_page,
    frame_policy,
    framing,
    inner_headers,
    upgrade_of,
)
from atoll.domain.previews.own_credentials import (
    Holds,
    holder,
    target_without_own,
    without_own,
    words_in,
)
from atoll.domain.previews.reporter import SCRIPT_PATH, wants_reporter, whole_document
from atoll.services.previews.own_credentials import OwnCredentials
from atoll.services.previews.visits import AdmittedVisit, Visits
from atoll.surfaces.http.body.answers import Json, no_content
from atoll.surfaces.http.previews.origins import PreviewOrigins
from atoll.surfaces.http.previews.pages import (
    ENTER,
    LISTENING,
    PANE,
    PREFIX,
    cannot_show,
    entrance,
    reporter,
)
from atoll.surfaces.http.previews.passage import InnerRequest, Passage, not_listening
from atoll.surfaces.http.previews.tunnel import pass_upgrade
from atoll.surfaces.http.server.connections.pending_connections import KNOWN
from atoll.surfaces.http.server.connections.upgrades import UPGRADE
from atoll.surfaces.http.server.guard import source_of
from atoll.surfaces.http.server.problems import internal_problem
from atoll.wire.http.cookies import find_cookies

RECHECK_SECONDS: Final = 2.0
"""The interval at which the right of an open connection is judged again."""

MAX_SECRET_BYTES: Final = 200
SECRET_SECONDS: Final = 10.0
_MARK: Final = "1"
_PRIVATE: Final = (
    "this preview is private: open it from Atoll's page, or by a new link of `atoll preview link`"
)
_ROUTE: Final = SimpleNamespace(path="preview")
_log = structlog.get_logger(__name__)


class PreviewGate:
    """The ASGI middleware that serves previews, and passes all else on."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        visits: Visits,
        origins: PreviewOrigins,
        own: tuple[OwnCredentials, tuple[bytes, ...]],
    ) -> None:
        """Take, beside the visits, what recognises credentials, and secrets of the settings, none
        of which goes into a sandbox."""
        self._app = app
        self._credentials, self._secrets = own
        self._visits = visits
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        label = self._origins.label_of(scope) if scope["type"] in {"http", "websocket"} else None
        if label is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            # Our own server hands upgrades over before they are read as WebSockets.
            await send({"type": "websocket.close", "code": 1008, "reason": ""})
        else:
            scope["route"] = _ROUTE
            await self._serve(label, scope, receive, send)

    async def _serve(self, label: str, scope: Scope, receive: Receive, send: Send) -> None:
        answer = _Answer(send)
        frames = frame_policy(self._origins.outside(scope, 1))
        try:
            await self._answer(label, scope, receive, answer.send)
        except AtollError as error:
            if not answer.started:
                shown = cannot_show(error, frames, page=_is_navigation(scope))
                await shown(scope, receive, answer.send)
        except Exception as error:  # the root of a request: nothing may leak out
            _log.exception("preview_failed", label=label, reason=str(error))
            if answer.started:
                raise
            await internal_problem()(scope, receive, answer.send)

    async def _answer(self, label: str, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        if path == ENTER:
            response = await self._enter(label, scope, receive)
            await response(scope, receive, send)
            return
        admission = await self._admission(label, scope)
        known = scope.get("extensions", {}).get(KNOWN)
        if known is not None:
            known()
        if path.startswith(PREFIX):
            response = await self._answer_own_path(path, scope, admission)
            await response(scope, receive, send)
            return
        request, upgrade = self._read(scope, admission, await self._holder(scope))
        async with self._visits.dial(admission) as channel:
            if upgrade is None:
                work = Passage(channel, request, receive, send).run()
            else:
                work = pass_upgrade(channel, request, scope["extensions"][UPGRADE], send)
            await self._while_valid(admission, work)

    async def _enter(self, label: str, scope: Scope, receive: Receive) -> Response:
        """Show the entrance, or trade the secret that its script sends for a visit's cookie."""
        outside = self._origins.outside(scope, 1)
        if scope["method"] in {"GET", "HEAD"}:
            return entrance(frame_policy(outside))
        headers = dict(scope["headers"])
        if scope["method"] != "POST" or headers.get(b"origin") != outside.origin:
            raise Forbidden("only the preview's own page enters here", code="foreign_page")
        secret = await _short_body(Request(scope, receive))
        visit, session = await self._visits.enter(secret, label, source=source_of(scope))
        response = Json({"path": visit.address.path})
        response.headers.append("Set-Cookie", self._cookie(self._origins.cookie, session))
        if scope["query_string"] == PANE:
            response.headers.append("Set-Cookie", self._cookie(self._origins.pane_cookie, _MARK))
        return response

    def _cookie(self, name: str, value: str) -> str:
        """Return a cookie of ours. It travels in frames of Atoll's page too, but only there:
        `Partitioned` keeps a copy for each site whose page holds the frame."""
        named = f"{name}={value}; Path=/; HttpOnly"
        if self._origins.scheme == "https" or self._origins.local_only:
            return f"{named}; Secure; SameSite=None; Partitioned"
        return f"{named}; SameSite=Lax"

    async def _admission(self, label: str, scope: Scope) -> AdmittedVisit:
        for session in _cookies(scope, self._origins.cookie):
            admission = await self._visits.admitted(session, label)
            if admission is not None:
                return admission
        raise Unauthenticated(_PRIVATE, code="preview_private")

    async def _answer_own_path(self, path: str, scope: Scope, admission: AdmittedVisit) -> Response:
        """Answer a path that belongs to Atoll and not to the preview."""
        if path == SCRIPT_PATH:
            return reporter(self._origins.outside(scope, 1).framed_by)
        if path != LISTENING:
            raise NotFound(f"there is no {path[:100]!r}: names below {PREFIX} are Atoll's")
        if not await self._visits.is_listening(admission):
            raise not_listening()
        return no_content()

    async def _holder(self, scope: Scope) -> Holds:
        """Return the report on what in this head is a credential of this installation. Raises
        `Forbidden` for a head of too many words."""
        texts = [value for _, value in scope["headers"]]
        words = words_in((*texts, scope["raw_path"], scope["query_string"]))
        return holder((*await self._credentials.among(words), *self._secrets))

    def _read(
        self, scope: Scope, admission: AdmittedVisit, holds: Holds
    ) -> tuple[InnerRequest, bytes | None]:
        """Return the request for the server inside, and the protocol that it would continue as.
        Raises `Invalid`, `Forbidden`."""
        method, headers = scope["method"], tuple(scope["headers"])
        outside = self._origins.outside(scope, admission.visit.address.port)
        upgrade = upgrade_of(method, headers) if UPGRADE in scope.get("extensions", {}) else None
        check_page(method, headers, outside, upgrades=upgrade is not None)
        framed = framing(method, headers)
        reports = wants_reporter(method, headers) and self._is_pane(scope)
        clean = without_own(whole_document(headers) if reports else headers, holds)
        inner = (*inner_headers(clean, outside, upgrade=upgrade), *framed)
        target = target_without_own(scope["raw_path"], scope["query_string"], holds)
        if not target.startswith(b"/"):
            raise Invalid("the target must be a path", code="bad_request_head")
        return InnerRequest(method, target, inner, outside, reports=reports), upgrade

    def _is_pane(self, scope: Scope) -> bool:
        """Report whether the preview pane opened the frame of a request."""
        return _MARK in _cookies(scope, self._origins.pane_cookie)

    async def _while_valid(self, admission: AdmittedVisit, work: Awaitable[None]) -> None:
        """Serve a request; cut it off once its visit does not hold any more."""
        failure: list[Exception] = []

        async def serve() -> None:
            try:
                await work
            except Exception as error:  # noqa: BLE001
                # Not handled here: raised again below, bare, for those who know what to say.
                failure.append(error)
            watcher.cancel()

        async def watch() -> None:
            while True:
                await asyncio.sleep(RECHECK_SECONDS)
                if not await self._visits.holds(admission.visit):
                    break
            worker.cancel()

        async with asyncio.TaskGroup() as group:
            worker = group.create_task(serve())
            watcher = group.create_task(watch())
        for error in failure:
            raise error


class _Answer:
    """A response that knows whether it has begun."""

    __slots__ = ("_send", "started")

    def __init__(self, send: Send) -> None:
        self._send = send
        self.started = False

    async def send(self, message: Message) -> None:
        """Send one message."""
        self.started = True
        await self._send(message)


def _cookies(scope: Scope, wanted: str) -> tuple[str, ...]:
    """Return the values of every cookie of this name."""
    heads = [one.decode("latin-1") for name, one in scope["headers"] if name == b"cookie"]
    return find_cookies(heads, wanted)


async def _short_body(request: Request) -> str:
    body = b""
    try:
        async with asyncio.timeout(SECRET_SECONDS):
            async for piece in request.stream():
                body += piece
                if len(body) > MAX_SECRET_BYTES:
                    break
    except TimeoutError as error:
        raise Invalid("the secret came too slowly", code="request_too_slow") from error
    if not body or len(body) > MAX_SECRET_BYTES:
        raise Invalid("send the secret of a link as the body")
    return body.decode("ascii", "replace")


def _is_navigation(scope: Scope) -> bool:
    """Report whether a person sees the answer as a page."""
    headers = dict(scope["headers"])
    wants = headers.get(b"sec-fetch-mode", b"navigate") == b"navigate"
    return wants and scope["method"] == "GET" and b"text/html" in headers.get(b"accept", b"")
