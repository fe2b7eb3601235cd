"""Requests to push services: over TLS, to public addresses only.

A person's browser names the endpoint, so a page that holds a login could name anything. The name is
resolved once, its addresses are checked, and only they are dialled. Redirects are not followed, and
nothing of an answer but its status is used.
"""

import asyncio
import socket
import ssl
from ipaddress import ip_address
from pathlib import Path

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from atoll.adapters.push.encryption import encrypted
from atoll.adapters.push.settings import PushSettings
from atoll.adapters.push.vapid import VapidKey
from atoll.domain.errors import Failed, Forbidden, NotFound, Unavailable
from atoll.domain.network.address import first_forbidden
from atoll.domain.network.egress import NEVER
from atoll.domain.people.push import PushTarget, checked_endpoint, host_of
from atoll.ports import Clock

RESOLVE_SECONDS = 10.0
SEND_SECONDS = 15.0
KEPT_SECONDS = 4 * 3600
"""The time for which a push service keeps a message for a browser that is off."""

_GONE = (404, 410)
_LATER = (408, 425, 429)


class HttpPushSender:
    """The `ports.push.PushSender` over HTTPS. `trust` replaces the usual authorities in tests."""

    def __init__(
        self,
        key_file: Path,
        clock: Clock,
        settings: PushSettings,
        *,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self._key = VapidKey(key_file)
        self._clock = clock
        self._settings = settings
        self._trust = trust
        self._session: aiohttp.ClientSession | None = None

    async def public_key(self) -> str:
        """See the port."""
        return await asyncio.to_thread(self._key.public)

    async def check(self, endpoint: str) -> None:
        """See the port."""
        host = host_of(checked_endpoint(endpoint))
        await resolved(host, 443, loopback=self._settings.allow_loopback_push)

    async def send(self, target: PushTarget, message: bytes) -> None:
        """See the port."""
        endpoint = checked_endpoint(target.endpoint)
        body = encrypted(target, message)
        authorization = await asyncio.to_thread(
            self._key.authorization,
            endpoint,
            contact=self._settings.push_contact,
            now=self._clock.now(),
        )
        headers = {
            "Authorization": authorization,
            "Content-Encoding": "aes128gcm",
            "Content-Type": "application/octet-stream",
            "TTL": str(KEPT_SECONDS),
            "Urgency": "high",
        }
        try:
            async with self._opened().post(
                endpoint, data=body, headers=headers, allow_redirects=False
            ) as answer:
                status = answer.status
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _unreachable(endpoint, error) from error
        _judge(host_of(endpoint), status)

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(
                resolver=_PublicResolver(loopback=self._settings.allow_loopback_push),
                use_dns_cache=False,
                limit=8,
                ssl=self._trust or ssl.create_default_context(),
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                timeout=aiohttp.ClientTimeout(total=SEND_SECONDS),
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
            )
        return self._session


class _PublicResolver(AbstractResolver):
    """Resolver that returns checked addresses only; the connection dials exactly those."""

    def __init__(self, *, loopback: bool) -> None:
        self._loopback = loopback

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the host's addresses. Raises `Forbidden`, `Unavailable`."""
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in await resolved(host, port, loopback=self._loopback)
        ]

    async def close(self) -> None:
        """Do nothing: it holds nothing."""


async def resolved(host: str, port: int, *, loopback: bool) -> tuple[str, ...]:
    """Return the addresses of a host. Raises `Forbidden` when one is not public, `Unavailable` when
    the host does not resolve."""
    try:
        async with asyncio.timeout(RESOLVE_SECONDS):
            found = await asyncio.get_running_loop().getaddrinfo(
                host, port, type=socket.SOCK_STREAM
            )
    except (OSError, UnicodeError, TimeoutError) as error:
        raise Unavailable(
            f"The push service {host} cannot be resolved: check the network, then try again."
        ) from error
    addresses = tuple(dict.fromkeys(str(entry[4][0]).split("%")[0] for entry in found))
    # Some clouds' metadata services have public addresses.
    metadata = (one for one in addresses if any(ip_address(one) in net for net in NEVER))
    bad = first_forbidden(addresses, loopback=loopback) or next(metadata, None)
    if bad is not None:
        raise Forbidden(
            f"The push service {host} leads to {bad}, which is not a public address: no push is "
            "sent there. Subscribe with another browser."
        )
    return addresses


def _judge(host: str, status: int) -> None:
    """Raise what a status other than success means to the caller."""
    if 200 <= status < 300:
        return
    if status in _GONE:
        raise NotFound(f"The push service {host} no longer knows this browser: subscribe again.")
    if status in _LATER or status >= 500:
        raise Unavailable(f"The push service {host} answered {status}: try again later.")
    raise Failed(f"The push service {host} refused the message with status {status}.")


def _unreachable(endpoint: str, error: BaseException) -> Unavailable:
    why = type(error).__name__
    return Unavailable(f"The push service {host_of(endpoint)} cannot be reached ({why}).")
