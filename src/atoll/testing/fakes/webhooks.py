"""Endpoints of webhooks in memory."""

import asyncio
from collections.abc import Mapping

from atoll.domain.errors import AtollError
from atoll.domain.webhooks.delivery import Receipt
from atoll.domain.webhooks.webhook import checked_url


class FakeWebhookSender:
    """A `ports.senders.webhooks.WebhookSender` that keeps what it sent, by URL. `answers` are given
    for a URL, one after the other, before it answers 200 again; an error among them is raised."""

    def __init__(self) -> None:
        self.sent: dict[str, list[tuple[Mapping[str, str], bytes]]] = {}
        self.answers: dict[str, list[Receipt | AtollError]] = {}
        self._came = asyncio.Condition()

    async def check(self, url: str) -> None:
        """See the port."""
        checked_url(url)

    async def send(self, url: str, headers: Mapping[str, str], body: bytes) -> Receipt:
        """See the port."""
        await self.check(url)
        answers = self.answers.get(url)
        answer = answers.pop(0) if answers else Receipt(200)
        if isinstance(answer, AtollError):
            raise answer
        async with self._came:
            self.sent.setdefault(url, []).append((headers, body))
            self._came.notify_all()
        return answer

    async def until_sent(self, url: str, count: int) -> None:
        """Return once so many messages were sent to a URL."""
        async with self._came:
            await self._came.wait_for(lambda: len(self.sent.get(url, ())) >= count)
