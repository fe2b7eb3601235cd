"""Requests to a forge: to checked addresses, bounded in time and size, no redirects.

A person names the forge, so its name is resolved, checked and dialled as checked. The token goes to
the address that its secret names, and into no message.
"""

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

import aiohttp
import msgspec
from yarl import URL

from atoll.adapters.addresses import CheckedResolver, Reach, look_up_allowed
from atoll.adapters.forges.settings import ForgeSettings
from atoll.domain.errors import Conflict, Forbidden, NotFound, Unavailable
from atoll.domain.repository.forge import ForgeRepository, plain_line

SECONDS = 20.0
MAX_BYTES = 4 * 1024 * 1024
CONNECTIONS = 16
PER_PAGE = 100

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ForgeRequest:
    """A request below the address of a forge's API. `accept` and `scheme` are the forge's words for
    its media type and for a token."""

    method: str
    path: str
    query: Mapping[str, str]
    body: Mapping[str, Any] | None = None
    accept: str = "application/json"
    scheme: str = "Bearer"


class _Refusal(msgspec.Struct):
    """The part of a refusal that is shown."""

    message: str = ""
    errors: list[Any] = []


class ForgeHttp:
    """Connections to forges. `reach` and `trust` replace the checked addresses and the usual
    authorities in tests."""

    def __init__(
        self,
        settings: ForgeSettings,
        *,
        seconds: float = SECONDS,
        reach: Reach | None = None,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self._reach = reach or Reach(ranges=settings.forge_ranges)
        self._seconds = seconds
        self._trust = trust
        self._room = asyncio.Semaphore(CONNECTIONS)
        self._session: aiohttp.ClientSession | None = None

    async def send(self, at: ForgeRepository, request: ForgeRequest, shape: type[T]) -> T:
        """Return the answer in its shape. Raises what the port does."""
        try:
            async with asyncio.timeout(self._seconds), self._room:
                status, limited, data = await self._send_request(at, request)
        except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
            raise Unavailable(_no_answer_message(at)) from error
        if not 200 <= status < 300:
            raise _error_of(at, status, data, limited=limited)
        try:
            return msgspec.json.decode(data, type=shape)
        except (msgspec.DecodeError, RecursionError) as error:
            raise Unavailable(_no_answer_message(at)) from error

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()

    async def _send_request(
        self, at: ForgeRepository, request: ForgeRequest
    ) -> tuple[int, bool, bytes]:
        """Return the answer's status, whether the rate limit is used up, and the body."""
        url = f"{at.api}{request.path}"
        if request.query:
            url = f"{url}?{urlencode(request.query)}"
        parts = urlsplit(url)
        # An address in the URL is dialled without asking the resolver.
        await look_up_allowed(parts.hostname or "", parts.port or 443, self._reach)
        headers = {"Accept": request.accept, "User-Agent": "atoll"}
        if at.token:
            headers["Authorization"] = f"{request.scheme} {at.token}"
        if request.body is not None:
            headers["Content-Type"] = "application/json"
        async with self._open_session().request(
            request.method,
            URL(url, encoded=True),
            headers=headers,
            data=None if request.body is None else msgspec.json.encode(request.body),
            allow_redirects=False,
        ) as answer:
            data = b""
            while len(data) < MAX_BYTES and not answer.content.at_eof():
                data += await answer.content.read(MAX_BYTES - len(data))
            if len(data) >= MAX_BYTES:
                raise ValueError("the answer is too large")
            limited = answer.headers.get("X-RateLimit-Remaining") == "0"
            return answer.status, limited, data

    def _open_session(self) -> aiohttp.ClientSession:
        """Return the HTTP session; open it at first use."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    resolver=CheckedResolver(self._reach),
                    use_dns_cache=False,
                    limit=CONNECTIONS,
                    ssl=self._trust or ssl.create_default_context(),
                ),
                timeout=aiohttp.ClientTimeout(total=self._seconds),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trust_env=False,
                skip_auto_headers=("Accept-Encoding",),
            )
        return self._session


def _error_of(
    at: ForgeRepository, status: int, data: bytes, *, limited: bool
) -> Conflict | Forbidden | NotFound | Unavailable:
    host = urlsplit(at.site).netloc
    if status == 429 or (status == 403 and limited):
        return Unavailable(f"{host} has had too many requests of this token: try again later.")
    if status in (401, 403):
        return Forbidden(
            f"{host} refused the token: it ended, or it may not do this in {at.owner}/{at.name}. "
            "Rotate its secret.",
            code="forge_refused",
        )
    if status in (301, 302, 307, 308, 404, 410):
        return NotFound(
            f"{host} shows no such thing in {at.owner}/{at.name}: it is gone or has moved, or the "
            "token may not see it."
        )
    if status in (400, 405, 409, 422):
        return Conflict(f"{host} did not take it: {_reason(data)}", code="pull_refused")
    return Unavailable(_no_answer_message(at))


def _reason(data: bytes) -> str:
    """Return a forge's own words, as one bounded plain line."""
    try:
        refusal = msgspec.json.decode(data, type=_Refusal)
    except (msgspec.DecodeError, RecursionError):
        return "it gave no reason."
    errors = [error for error in refusal.errors if isinstance(error, dict)]
    messages = [error["message"] for error in errors if "message" in error][:3]
    reason = "; ".join(str(message) for message in (*messages, refusal.message) if message)
    return plain_line(reason) or "it gave no reason."


def _no_answer_message(at: ForgeRepository) -> str:
    host = urlsplit(at.site).netloc
    return f"{host} does not answer as a {at.kind} should: check its address, then try again."
