"""Requests to a login provider: to checked addresses, bounded in time and size, no redirects.

The administrator names the issuer, and its discovery document names the other endpoints. Those get
no request unless they are https (or loopback, where the issuer is), and no answer is quoted.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlsplit

import aiohttp
import msgspec
from yarl import URL

from atoll.adapters.addresses import CheckedResolver, Reach, look_up_allowed
from atoll.domain.errors import AtollError, Unavailable
from atoll.domain.event import Json
from atoll.domain.logins.issuer_answers import read_seconds
from atoll.domain.network.egress import PRIVATE
from atoll.domain.people.realm import Realm, is_safe_url

SECONDS = 10.0
MAX_BYTES = 512 * 1024
CONNECTIONS = 16
_PORTS = {"https": 443, "http": 80}
_OWN = Reach(loopback=True, ranges=tuple(map(str, PRIVATE)))
"""The issuer's host, which the administrator named, may be in a private network."""

_FOREIGN = Reach()


@dataclass(frozen=True, slots=True)
class Answer:
    """The status of an answer and the object in its body; empty when it is none. `after` is the
    time that it asks to wait (RFC 9110 §10.2.3)."""

    status: int
    body: Mapping[str, Json]
    after: timedelta | None = None


class ProviderHttp:
    """Connections to providers."""

    def __init__(self, *, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._room = asyncio.Semaphore(CONNECTIONS)
        self._sessions: dict[Reach, aiohttp.ClientSession] = {}

    async def get(self, realm: Realm, url: str, bearer: str = "") -> Answer:
        """Return the answer to a GET. Raises `Unavailable`."""
        headers = {"Authorization": f"Bearer {bearer}"} if bearer else {}
        return await self._request("GET", realm, url, headers, b"")

    async def post(self, realm: Realm, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Return the answer to a form. Raises `Unavailable`."""
        form = {"Content-Type": "application/x-www-form-urlencoded", **headers}
        return await self._request("POST", realm, url, form, body)

    async def close(self) -> None:
        """Close all connections."""
        for session in self._sessions.values():
            await session.close()

    async def _request(
        self, method: str, realm: Realm, url: str, headers: Mapping[str, str], body: bytes
    ) -> Answer:
        if not is_safe_url(url, plain=realm.local):
            raise Unavailable(f"The login provider {realm.realm} names an address that is no https")
        try:
            async with asyncio.timeout(self._seconds), self._room:
                return await self._send_request(method, realm, url, headers, body)
        except AtollError as error:
            raise Unavailable(_no_answer_message(realm)) from error
        except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
            raise Unavailable(_no_answer_message(realm)) from error

    async def _send_request(
        self, method: str, realm: Realm, url: str, headers: Mapping[str, str], body: bytes
    ) -> Answer:
        parts, own = urlsplit(url), urlsplit(realm.issuer).hostname
        reach = _OWN if parts.hostname == own or realm.local else _FOREIGN
        # An address in the URL is dialled without asking the resolver.
        await look_up_allowed(parts.hostname or "", parts.port or _PORTS[parts.scheme], reach)
        async with self._session(reach).request(
            method,
            URL(url, encoded=True),
            headers={"Accept": "application/json", **headers},
            data=body or None,
            allow_redirects=False,
        ) as answer:
            data = await answer.content.read(MAX_BYTES)
            while len(data) < MAX_BYTES and not answer.content.at_eof():
                data += await answer.content.read(MAX_BYTES - len(data))
        if len(data) >= MAX_BYTES:
            raise ValueError("the answer is too large")
        return Answer(
            answer.status, _decode_object(data), read_seconds(answer.headers.get("Retry-After"))
        )

    def _session(self, reach: Reach) -> aiohttp.ClientSession:
        if reach not in self._sessions:
            self._sessions[reach] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    resolver=CheckedResolver(reach), use_dns_cache=False, limit=CONNECTIONS
                ),
                timeout=aiohttp.ClientTimeout(total=self._seconds),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trust_env=False,
                skip_auto_headers=("Accept-Encoding",),
            )
        return self._sessions[reach]


def _decode_object(data: bytes) -> Mapping[str, Json]:
    """Return the JSON object in the data; an empty one when there is none."""
    try:
        found = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _no_answer_message(realm: Realm) -> str:
    return (
        f"The login provider {realm.realm} does not answer as it should: try again, and ask who "
        "runs this installation if it lasts."
    )
