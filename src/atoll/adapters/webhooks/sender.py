"""Posts to the endpoints of webhooks: to checked addresses, in a bounded time.

A person names the endpoint, so the name is resolved, checked and dialled as checked. Redirects are
not followed, cookies and proxies of this process are not used. Of an answer its status and
`Retry-After` are kept, and to a challenge the beginning of its body.
"""

import asyncio
import ssl
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from atoll.adapters.addresses import CheckedResolver, Reach, look_up_allowed
from atoll.adapters.webhooks.settings import WebhookSettings
from atoll.domain.errors import AtollError, Unavailable
from atoll.domain.webhooks.delivery import Receipt
from atoll.domain.webhooks.webhook import checked_url

SEND_SECONDS = 15.0
CONNECTIONS = 64
READ_BYTES = 16 * 1024
READ_SECONDS = 0.5
"""The part of an answer that is read, and the time for it, so that its connection can be used
again."""

MAX_ANSWER_HEADERS = 64
_PORTS = {"https": 443, "http": 80}


class HttpWebhookSender:
    """The `ports.senders.webhooks.WebhookSender` over HTTPS. Plain HTTP reaches only this machine
    and the private networks that the settings allow. `trust` replaces the usual authorities in
    tests."""

    def __init__(
        self,
        settings: WebhookSettings,
        *,
        seconds: float = SEND_SECONDS,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        loopback, ranges = settings.allow_loopback_webhooks, settings.webhook_ranges
        self._plain_allowed = loopback or bool(ranges)
        self._reaches = {
            "https": Reach(loopback=loopback, ranges=ranges),
            "http": Reach(loopback=loopback, ranges=ranges, public=False),
        }
        self._seconds = seconds
        self._trust = trust
        self._sessions: dict[str, aiohttp.ClientSession] = {}

    async def check(self, url: str) -> None:
        """See the port."""
        parts = urlsplit(checked_url(url, plain=self._plain_allowed))
        port = parts.port or _PORTS[parts.scheme]
        await look_up_allowed(parts.hostname or "", port, self._reaches[parts.scheme])

    async def send(self, url: str, headers: Mapping[str, str], body: bytes) -> Receipt:
        """See the port."""
        host = urlsplit(url).hostname or ""
        try:
            async with asyncio.timeout(self._seconds):
                # An address in the URL is dialled without asking the resolver.
                await self.check(url)
                return await self._post(url, headers, body)
        except AtollError:
            raise
        except TimeoutError as error:
            raise Unavailable(f"{host} did not answer within {self._seconds:g} s.") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise Unavailable(f"{host} cannot be reached ({_cause(error)}).") from error

    async def close(self) -> None:
        """Close all connections."""
        for session in self._sessions.values():
            await session.close()

    async def _post(self, url: str, headers: Mapping[str, str], body: bytes) -> Receipt:
        session = self._session(urlsplit(url).scheme)
        async with session.post(
            URL(url, encoded=True), data=body, headers=headers, allow_redirects=False
        ) as answer:
            receipt = Receipt(answer.status, _seconds(answer.headers.get("Retry-After", "")))
            left = READ_BYTES
            # The status counts, also when the rest never ends or breaks off.
            with suppress(aiohttp.ClientError, TimeoutError, OSError):
                async with asyncio.timeout(READ_SECONDS):
                    while left and (part := await answer.content.read(left)):
                        left -= len(part)
        return receipt

    def _session(self, scheme: str) -> aiohttp.ClientSession:
        if scheme not in self._sessions:
            connector = aiohttp.TCPConnector(
                resolver=CheckedResolver(self._reaches[scheme]),
                use_dns_cache=False,
                limit=CONNECTIONS,
                ssl=self._trust or ssl.create_default_context(),
            )
            self._sessions[scheme] = aiohttp.ClientSession(
                connector=connector,
                timeout=aiohttp.ClientTimeout(total=self._seconds),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trust_env=False,
                max_headers=MAX_ANSWER_HEADERS,
                skip_auto_headers=("Accept", "Accept-Encoding"),
            )
        return self._sessions[scheme]


def _seconds(text: str) -> timedelta | None:
    """Return the time of a `Retry-After` that is a number; None for a date or anything else."""
    if not (text.isascii() and text.isdigit() and len(text) < 8):
        return None
    return timedelta(seconds=int(text))


def _cause(error: BaseException) -> str:
    """Return the kind of an error, never its text, which may quote the answer."""
    return type(error).__name__
