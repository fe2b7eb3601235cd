"""Requests to an issuer: to checked addresses, bounded in time and size, no redirects.

A request whose connection was not made is told apart from one whose answer was lost: only the first
can be sent again.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from urllib.parse import urlencode, urlsplit

import aiohttp
import msgspec
from yarl import URL

from atoll.adapters.addresses import CheckedResolver, Reach, look_up_allowed
from atoll.domain.errors import AtollError, Unavailable
from atoll.domain.event import Json
from atoll.domain.logins.issuer_answers import read_seconds
from atoll.ports.outside.issuer import IssuerBusy

SECONDS: Final = 15.0
MAX_BYTES: Final = 256 * 1024
CONNECTIONS: Final = 16
_PORTS: Final = {"https": 443, "http": 80}


@dataclass(frozen=True, slots=True)
class IssuerAnswer:
    """The status of an answer and the object in its body; empty when it is none. `after` is the
    time that it asks to wait (RFC 9110 §10.2.3)."""

    status: int
    body: Mapping[str, Json]
    after: timedelta | None = None

    def text(self, name: str) -> str:
        """Return a text of the body, empty where there is none."""
        found = self.body.get(name)
        return found if isinstance(found, str) else ""


class IssuerHttp:
    """Connections to issuers. `reach` names the addresses that may be dialled."""

    def __init__(self, reach: Reach, *, seconds: float = SECONDS) -> None:
        self._reach = reach
        self._seconds = seconds
        self._session: aiohttp.ClientSession | None = None

    async def form(self, url: str, fields: Mapping[str, str]) -> IssuerAnswer:
        """Post a form. Raises `Unavailable`: code `not_sent` or `answer_lost`."""
        kind = "application/x-www-form-urlencoded"
        return await self._post(url, urlencode(fields).encode(), kind)

    async def json(self, url: str, fields: Mapping[str, str]) -> IssuerAnswer:
        """Post a JSON object. Raises as `form` does."""
        return await self._post(url, msgspec.json.encode(fields), "application/json")

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()

    async def _post(self, url: str, body: bytes, kind: str) -> IssuerAnswer:
        parts = urlsplit(url)
        headers = {"Accept": "application/json", "Content-Type": kind, "User-Agent": "atoll"}
        # The look-up of the name counts: another process repeats what should be over by then.
        ends = asyncio.get_running_loop().time() + self._seconds
        try:
            # An address in the URL is dialled without asking the resolver.
            await look_up_allowed(
                parts.hostname or "", parts.port or _PORTS[parts.scheme], self._reach
            )
        except AtollError as error:
            raise not_sent(parts.hostname) from error
        try:
            async with (
                asyncio.timeout_at(ends),
                self._open_session().post(
                    URL(url, encoded=True), headers=headers, data=body, allow_redirects=False
                ) as answer,
            ):
                after = read_seconds(answer.headers.get("Retry-After"))
                return IssuerAnswer(answer.status, await _read(answer), after)
        except aiohttp.ClientConnectorError as error:
            raise not_sent(parts.hostname) from error
        except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
            raise lost_answer_error(parts.hostname) from error

    def _open_session(self) -> aiohttp.ClientSession:
        """Return the HTTP session; open it at first use."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                # A kept connection may be closed by the issuer as a request leaves, and aiohttp
                # would send that request again: each request has a connection of its own.
                connector=aiohttp.TCPConnector(
                    resolver=CheckedResolver(self._reach),
                    use_dns_cache=False,
                    limit=CONNECTIONS,
                    force_close=True,
                ),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trust_env=False,
                skip_auto_headers=("Accept-Encoding",),
            )
        return self._session


def not_sent(issuer: str | None) -> Unavailable:
    """Return the error of a request that the issuer did not take."""
    return Unavailable(f"The issuer {issuer} cannot be reached: try again.", code="not_sent")


def busy_error(issuer: str | None, answer: IssuerAnswer) -> IssuerBusy:
    """Return the error for an issuer that cannot answer now."""
    return IssuerBusy(
        f"The issuer {issuer} cannot answer now (status {answer.status}): try again.",
        after=answer.after,
    )


def lost_answer_error(issuer: str | None) -> Unavailable:
    """Return the error for an answer that did not arrive or cannot be read."""
    return Unavailable(
        f"The issuer {issuer} did not answer as it should: log in again.", code="answer_lost"
    )


async def _read(answer: aiohttp.ClientResponse) -> Mapping[str, Json]:
    data = b""
    while len(data) < MAX_BYTES and not answer.content.at_eof():
        data += await answer.content.read(MAX_BYTES - len(data))
    if len(data) >= MAX_BYTES:
        raise ValueError("the answer is too large")
    try:
        found = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
