"""Requests to push services: over TLS, to public addresses only.

A person's browser names the endpoint, so a page that holds a login could name anything. The name is
resolved once, its addresses are checked, and only they are dialled. Redirects are not followed, and
nothing of an answer but its status is used.
"""

import asyncio
import ssl
from pathlib import Path

import aiohttp

from atoll.adapters.addresses import CheckedResolver, Reach, look_up_allowed
from atoll.adapters.push.encryption import encrypt_message
from atoll.adapters.push.settings import PushSettings
from atoll.adapters.push.vapid import VapidKey
from atoll.domain.errors import Failed, NotFound, Unavailable
from atoll.domain.people.push import PushTarget, check_endpoint, host_of
from atoll.ports import Clock

SEND_SECONDS = 15.0
KEPT_SECONDS = 4 * 3600
"""The time for which a push service keeps a message for a browser that is off."""

_GONE = (404, 410)
_LATER = (408, 425, 429)


class HttpPushSender:
    """The `ports.senders.push.PushSender` over HTTPS. `trust` replaces the usual authorities in
    tests."""

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
        self._reach = Reach(loopback=settings.allow_loopback_push)
        self._trust = trust
        self._session: aiohttp.ClientSession | None = None

    async def public_key(self) -> str:
        """See the port."""
        return await asyncio.to_thread(self._key.public)

    async def check(self, endpoint: str) -> None:
        """See the port."""
        host = host_of(check_endpoint(endpoint))
        await look_up_allowed(host, 443, self._reach)

    async def send(self, target: PushTarget, message: bytes) -> None:
        """See the port."""
        endpoint = check_endpoint(target.endpoint)
        body = encrypt_message(target, message)
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
            async with self._open_session().post(
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

    def _open_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(
                resolver=CheckedResolver(self._reach),
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
