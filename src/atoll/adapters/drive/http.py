"""Requests to Google: to its own hosts alone, by checked addresses, bounded, no redirects.

The hosts are constants: no answer and no person names one. A token goes to them and into no
message; what Google says of a refusal is shown as one plain line.
"""

import asyncio
import io
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

import aiohttp
import msgspec
from yarl import URL

from atoll.adapters.addresses import CheckedResolver, Reach, look_up_allowed
from atoll.domain.errors import (
    AtollError,
    Conflict,
    Forbidden,
    LimitReached,
    NotFound,
    Unavailable,
)
from atoll.domain.repository.forge import plain_line

SECONDS = 20.0
MAX_BYTES = 4 * 1024 * 1024
CONNECTIONS = 16
CHUNK_BYTES = 256 * 1024
_PORTS = {"https": 443, "http": 80}
_BUSY: Final = frozenset(
    {"userRateLimitExceeded", "rateLimitExceeded", "sharingRateLimitExceeded", "backendError"}
)
_TOO_LARGE: Final = frozenset({"exportSizeLimitExceeded", "uploadTooLarge"})
_FULL: Final = frozenset({"storageQuotaExceeded", "teamDriveFileLimitExceeded"})
SILENT: Final = "Google Drive does not answer as it should: try again."


@dataclass(frozen=True, slots=True)
class GoogleSites:
    """The addresses of Google's services."""

    consent: str = "https://accounts.google.com/o/oauth2/v2/auth"
    tokens: str = "https://oauth2.googleapis.com/token"
    revocation: str = "https://oauth2.googleapis.com/revoke"
    api: str = "https://www.googleapis.com"


GOOGLE: Final = GoogleSites()


@dataclass(frozen=True, slots=True)
class DriveRequest:
    """A request to one of the sites."""

    method: str
    url: str
    query: Mapping[str, str] = field(default_factory=dict)
    token: str = field(repr=False, default="")
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = field(repr=False, default=None)


@dataclass(frozen=True, slots=True)
class DriveAnswer:
    """A whole answer."""

    status: int
    headers: Mapping[str, str]
    data: bytes


class _Told(msgspec.Struct):
    """The part of Google's errors that is read."""

    error: Any = None
    error_description: str = ""


class DriveHttp:
    """Connections to Google. `reach` and `trust` replace the checked addresses and the usual
    authorities in tests."""

    def __init__(
        self,
        *,
        seconds: float = SECONDS,
        reach: Reach | None = None,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self._reach = reach or Reach()
        self._seconds = seconds
        self._trust = trust
        self._session: aiohttp.ClientSession | None = None

    async def send(self, request: DriveRequest) -> DriveAnswer:
        """Return the whole answer, whatever its status. Raises `Unavailable`."""
        async with self.stream(request) as answer:
            data = b""
            while len(data) < MAX_BYTES and not answer.content.at_eof():
                data += await answer.content.read(MAX_BYTES - len(data))
            if len(data) >= MAX_BYTES:
                raise Unavailable(SILENT)
            return DriveAnswer(answer.status, answer.headers, data)

    @asynccontextmanager
    async def stream(self, request: DriveRequest) -> AsyncIterator[aiohttp.ClientResponse]:
        """Yield an answer whose body is still to be read."""
        try:
            async with await self._start_request(request) as answer:
                yield answer
        except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
            raise Unavailable(SILENT) from error

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()

    async def _start_request(self, request: DriveRequest) -> aiohttp.ClientResponse:
        """Send a request; return the response, whose body is not read yet."""
        parts = urlsplit(request.url)
        # An address in the URL is dialled without asking the resolver.
        await look_up_allowed(parts.hostname or "", parts.port or _PORTS[parts.scheme], self._reach)
        url = request.url
        if request.query:
            url = f"{url}{'&' if parts.query else '?'}{urlencode(request.query)}"
        headers = {"Accept": "application/json", "User-Agent": "atoll", **request.headers}
        if request.token:
            headers["Authorization"] = f"Bearer {request.token}"
        return await self._open_session().request(
            request.method,
            URL(url, encoded=True),
            headers=headers,
            data=_body(request),
            allow_redirects=False,
        )

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    resolver=CheckedResolver(self._reach),
                    use_dns_cache=False,
                    limit=CONNECTIONS,
                    ssl=self._trust or ssl.create_default_context(),
                ),
                # A transfer may take long, and no part of it may.
                timeout=aiohttp.ClientTimeout(
                    total=None, sock_connect=self._seconds, sock_read=self._seconds
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trust_env=False,
                skip_auto_headers=("Accept-Encoding",),
            )
        return self._session


def _body(request: DriveRequest) -> bytes | io.BytesIO | None:
    """Return a body; a large one as a stream, so that the loop goes on while it is written."""
    body = request.body
    return io.BytesIO(body) if body is not None and len(body) > CHUNK_BYTES else body


async def parts_of(answer: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """Yield a body as it arrives. Raises `Unavailable` when it ends too early."""
    try:
        async for part in answer.content.iter_chunked(CHUNK_BYTES):
            yield part
    except (TimeoutError, aiohttp.ClientError, OSError) as error:
        raise Unavailable("The file broke off on its way from Google Drive: try again.") from error


async def wait_for_answer(seconds: float, sent: Any) -> DriveAnswer:
    """Return the answer that `sent` gives. Raises `Unavailable` after `seconds`."""
    try:
        async with asyncio.timeout(seconds):
            answer: DriveAnswer = await sent
            return answer
    except TimeoutError as error:
        raise Unavailable(SILENT) from error


def refusal(status: int, data: bytes) -> AtollError:
    """Return the error that an answer of Drive stands for."""
    reasons, said = _reasons(data)
    if status == 429 or status >= 500 or reasons & _BUSY:
        return Unavailable("Google Drive is busy, or had too many requests: try again later.")
    if reasons & _TOO_LARGE:
        return LimitReached(f"Google Drive does not give it whole: {said}", code="too_large")
    if reasons & _FULL:
        return Conflict(f"Google Drive has no room: {said}", code="drive_not_taken")
    if status in (401, 403):
        return Forbidden(f"Google Drive refused: {said}", code="drive_refused")
    if status in (301, 302, 303, 307, 308, 404, 410):
        return NotFound(
            "Google Drive shows no such file: it is gone, or your account may not see it."
        )
    return Conflict(f"Google Drive did not take it: {said}", code="drive_not_taken")


def oauth_error(data: bytes) -> str:
    """Return the word of an error of the token endpoint (RFC 6749 §5.2), empty where there is
    none."""
    try:
        told = msgspec.json.decode(data, type=_Told)
    except (msgspec.DecodeError, RecursionError):
        return ""
    return told.error if isinstance(told.error, str) else ""


def _reasons(data: bytes) -> tuple[frozenset[str], str]:
    """Return the reasons of a refusal, and its sentence as one bounded plain line."""
    nothing = frozenset[str](), "it gave no reason."
    try:
        error = msgspec.json.decode(data, type=_Told).error
    except (msgspec.DecodeError, RecursionError):
        return nothing
    if not isinstance(error, dict):
        return nothing
    listed = error.get("errors")
    found = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    reasons = frozenset(str(one.get("reason", "")) for one in found[:8])
    said = plain_line(str(error.get("message", "")))
    return reasons, said or nothing[1]
