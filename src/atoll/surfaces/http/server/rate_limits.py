"""The bounds of authenticated callers: how many requests they have open, and how many they send.

The rate limit is told in the headers of each answer, those of the IETF's draft "RateLimit header
fields for HTTP" (draft-ietf-httpapi-ratelimit-headers). Each control plane counts for itself. Wrong
credentials are counted apart, by the guard, before anybody is known.
"""

import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from atoll.domain.errors import LimitReached
from atoll.domain.people.principal import Principal, is_local
from atoll.domain.people.rate_limit import Bucket, Permit, RateLimit, request
from atoll.surfaces.http.server.problems import problem, refuse

MAX_CALLERS: Final = 10_000
"""The number of callers that are counted; who asked least recently is forgotten first."""

MAX_OPEN: Final = 1024
MAX_OPEN_OF_GUEST: Final = 128
"""The requests and WebSockets that a caller has open; a guest, and a token that is bound to a
sandbox, a worker or named streams, has fewer."""


class OpenCalls:
    """The ASGI middleware behind the guard that bounds what each caller has open: streams and
    WebSockets last for long, and each costs memory and time. The person who runs the installation
    has no bound."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._open: Counter[tuple[str, str, str]] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count one request while it is open and let it through, or answer 429."""
        caller: Principal | None = scope.get("state", {}).get("caller")
        if caller is None or (is_local(caller) and caller.token is None):
            await self._app(scope, receive, send)
            return
        bound = _is_bound(caller)
        apart = caller.token.origin if bound and caller.token is not None else ""
        key, most = (caller.org_id, caller.id, apart), MAX_OPEN_OF_GUEST if bound else MAX_OPEN
        if self._open[key] >= most:
            error = LimitReached(f"{most} requests of yours are open: end one of them first")
            await refuse(error, scope, receive, send)
            return
        self._open[key] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._open[key] -= 1
            if not self._open[key]:
                del self._open[key]


def _is_bound(caller: Principal) -> bool:
    """Report whether a caller is a guest, or has a token that opens a few things."""
    token = caller.token
    if token is None:
        return caller.guest_access is not None
    return token.sandbox_id is not None or token.worker is not None or token.subscribed


class RateLimits:
    """The ASGI middleware behind the guard that counts the requests of each caller.

    All logins and tokens of a person count together. An opened WebSocket is one request.
    """

    def __init__(
        self, app: ASGIApp, *, limit: RateLimit, seconds: Callable[[], float] = time.monotonic
    ) -> None:
        self._app = app
        self._limit = limit
        self._seconds = seconds
        self._buckets: OrderedDict[tuple[str, str], Bucket] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count one request and let it through, or answer 429."""
        caller: Principal | None = scope.get("state", {}).get("caller")
        if caller is None:
            await self._app(scope, receive, send)
            return
        permit = self._count(caller)

        async def send_with_limits(message: Message) -> None:
            if message["type"] in {"http.response.start", "websocket.http.response.start"}:
                self._tell(MutableHeaders(raw=message.setdefault("headers", [])), permit)
            await send(message)

        if not permit.refused:
            await self._app(scope, receive, send_with_limits)
            return
        limit = self._limit
        answer = problem(
            LimitReached(
                f"{limit.requests} requests in {limit.seconds} s is the limit here: "
                f"wait {permit.retry_in} s",
                code="rate_limited",
            )
        )
        answer.headers["Retry-After"] = str(permit.retry_in)
        await answer(scope, receive, send_with_limits)

    def _count(self, caller: Principal) -> Permit:
        key = (caller.org_id, caller.id)
        self._buckets[key], permit = request(self._buckets.get(key), self._limit, self._seconds())
        self._buckets.move_to_end(key)
        while len(self._buckets) > MAX_CALLERS:
            self._buckets.popitem(last=False)
        return permit

    def _tell(self, headers: MutableHeaders, permit: Permit) -> None:
        limit = self._limit
        headers["RateLimit-Policy"] = f'"default";q={limit.requests};w={limit.seconds}'
        headers["RateLimit"] = f'"default";r={permit.remaining};t={permit.full_in}'
